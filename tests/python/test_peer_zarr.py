"""Arrays of zarr over USM: written from any memory, and read into USM with our buffers."""

import pytest

import usm
import usm.tensor as ut

from support import default_device, process, requirements

zarr = requirements.needed("zarr", required=requirements.REQUIRE_PEERS)
da = requirements.needed("dask.array", required=requirements.REQUIRE_PEERS)
np = requirements.needed("numpy")

pytestmark = pytest.mark.filterwarnings("ignore")

BUFFERS = {"buffer": "usm.zarr.Buffer", "ndbuffer": "usm.zarr.NDBuffer"}


@pytest.fixture(autouse=True)
def on_host_device(monkeypatch):
    monkeypatch.setenv("USM_DEFAULT_DEVICE", default_device.HOST)
    default_device.need_host(__file__)


@pytest.fixture
def buffers():
    with zarr.config.set(BUFFERS):
        yield


def test_writes_need_no_setting(usm_type, tmp_path):
    n = np.arange(60.0).reshape(6, 10)
    a = ut.asarray(n, usm_type=usm_type)
    z = zarr.create_array(tmp_path / "plain", shape=n.shape, chunks=(4, 3), dtype=n.dtype)
    z[...] = a
    z[1:3, ::2] = a[3:5, ::2]
    n[1:3, ::2] = n[3:5, ::2]
    assert type(z[...]) is np.ndarray and np.array_equal(z[...], n)
    da.from_array(a, chunks=(3, 5)).to_zarr(tmp_path / "dask")
    assert np.array_equal(zarr.open_array(tmp_path / "dask")[...], ut.asnumpy(a))


@pytest.mark.usefixtures("buffers")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float32", "float64", "complex64"])
def test_reads_are_ours(tmp_path, dtype):
    n = (np.arange(60).reshape(6, 10) % 7).astype(dtype)
    z = zarr.create_array(tmp_path / "array", shape=n.shape, chunks=(4, 3), dtype=dtype, fill_value=1)
    z[:4] = ut.asarray(n)[:4]
    z[4, 3:] = ut.asarray(n)[4, 3:]
    expected = np.ones_like(n)
    expected[:4], expected[4, 3:] = n[:4], n[4, 3:]
    found = z[1:, ::3]
    assert type(found) is ut.usm_ndarray and found.usm_type == "device"
    assert found.sycl_device == usm.SyclDevice("host:cpu:0") and found.dtype == n.dtype
    assert np.array_equal(ut.asnumpy(found), expected[1:, ::3])
    assert z[4, 9] == n[4, 9]


@pytest.mark.usefixtures("buffers")
def test_dask_arrays(usm_type, tmp_path):
    n = np.arange(60.0).reshape(6, 10)
    da.from_array(ut.asarray(n, usm_type=usm_type), chunks=(3, 5)).to_zarr(tmp_path / "dask")
    x = da.from_zarr(tmp_path / "dask")
    assert type(x._meta) is ut.usm_ndarray
    found = (x + 1).T.compute(scheduler="synchronous")
    assert type(found) is ut.usm_ndarray and np.array_equal(ut.asnumpy(found), (n + 1).T)


@pytest.mark.usefixtures("buffers")
@pytest.mark.parametrize(
    ("dtype", "fill", "value", "is_left_out"),
    [
        ("float64", 0.0, 0.0, True),
        ("float64", 0.0, -0.0, False),
        ("float32", float("nan"), float("nan"), True),
        ("complex128", 0, complex(0, -0.0), False),
        ("complex64", 1j, 1j, True),
        ("int16", 5, 5, True),
        ("bool", True, True, True),
        ("bool", True, False, False),
    ],
)
def test_chunks_of_the_fill_value_are_left_out(tmp_path, dtype, fill, value, is_left_out):
    z = zarr.create_array(tmp_path / "array", shape=(4,), chunks=(4,), dtype=dtype, fill_value=fill)
    z[...] = ut.full(4, value, dtype=dtype)
    assert (z.nchunks_initialized == 0) == is_left_out
    assert np.array_equal(ut.asnumpy(z[...]).view("u1"), np.full(4, value, dtype).view("u1"))


def test_no_import_of_ours_imports_zarr():
    out = process.check("import sys, usm.zarr; print('zarr' in sys.modules, dir(usm.zarr))")
    assert out == "False ['Buffer', 'NDBuffer']\n"
