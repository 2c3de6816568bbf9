"""Arrays as chunks of dask.array: the type of chunks stays, and the numbers are NumPy's."""

import pickle
from collections.abc import Iterator

import pytest

import usm
import usm.tensor as ut

from support import default_device, process, requirements

da = requirements.needed("dask.array", required=requirements.REQUIRE_SYCL)
dask = requirements.needed("dask")
np = requirements.needed("numpy")

# Divisions by zero of arrays without elements, by which dask finds dtypes.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

#: What users do with a dask array of shape (4, 6, 5), in chunks of (2, 3, 5).
OPERATIONS = {
    "slice": lambda x: x[1:3, ::-2, None],
    "integer": lambda x: x[1, :, 2],
    "empty slice": lambda x: x[:, 3:3],
    "indices": lambda x: x[[2, 0], :, 1:],
    "mask": lambda x: x[x > 50],
    "vindex": lambda x: x.vindex[[0, 3], [1, 5]],
    "take": lambda x: da.take(x, [3, 1, 1], axis=1),
    "transpose": lambda x: x.transpose((2, 0, 1)),
    "reshape": lambda x: x.reshape((24, 5)),
    "rechunk": lambda x: x.rechunk((3, 2, 2)),
    "stack": lambda x: da.stack([x, x + 1], axis=1),
    "concatenate": lambda x: da.concatenate([x, 2 * x], axis=2),
    "where": lambda x: da.where(x > 7, x, -1.0),
    "ufunc": lambda x: np.sin(x) + np.hypot(x, 2) // 3,
    "unary": lambda x: abs(-x),
    "compare": lambda x: (x > 3) & (x != 7),
    "cast": lambda x: x.astype("float32"),
    "clip": lambda x: x.clip(3, 50),
    "round": lambda x: (x / 7).round(1),
    "sum": lambda x: x.sum(),
    "sum of axes": lambda x: x.sum(axis=(0, 2), keepdims=True),
    "prod": lambda x: (x + 1).prod(axis=2),
    "mean": lambda x: x.mean(axis=1),
    "var": lambda x: x.var(ddof=1),
    "std": lambda x: x.std(axis=0),
    "max": lambda x: x.max(axis=1),
    "argmin": lambda x: x.argmin(axis=0),
    "any": lambda x: (x > 3).any(axis=2),
    "nansum": lambda x: da.nansum(x),
    "nanmean": lambda x: da.nanmean(x, axis=0),
    "cumsum": lambda x: x.cumsum(axis=1),
    "topk": lambda x: da.topk(x, 2, axis=1),
    "map_blocks": lambda x: x.map_blocks(lambda block: block * 2),
    "map_overlap": lambda x: x.map_overlap(lambda block: block + block.shape[0], depth=1, boundary="reflect"),
    "tensordot": lambda x: da.tensordot(x, x, axes=((0, 2), (0, 2))),
    "matmul": lambda x: x @ x.transpose((0, 2, 1)),
    "einsum": lambda x: da.einsum("ijk,ilk->jl", x, x),
    "norm": lambda x: da.linalg.norm(x.reshape((24, 5))),
    "qr": lambda x: abs(da.linalg.qr(x.reshape((24, 5)).rechunk((6, 5)))[1]),
    "svd_compressed": lambda x: da.linalg.svd_compressed(x.reshape((24, 5)), 5, seed=1)[1],
    "unique": lambda x: da.unique(x % 4),
    "histogram": lambda x: da.histogram(x, bins=4, range=(0, 120))[0],
    "diff": lambda x: da.diff(x, axis=1),
    "pad": lambda x: da.pad(x, 1, mode="constant"),
    "ones_like": lambda x: da.ones_like(x),
    "full_like": lambda x: da.full_like(x, 3, shape=(4,), chunks=2),
    "of NumPy": lambda x: x + np.arange(5.0),
    "setitem": lambda x: _assigned(x),
}
#: Dask gives the type of its own numbers to what it knows no type of.
UNKNOWN_TYPE = {"histogram", "mask"}


def _assigned(x):
    x = x.copy()
    x[1:3, 0] = -1.0
    return x


@pytest.fixture(params=["synchronous", "threads"])
def scheduler(request: pytest.FixtureRequest) -> Iterator[None]:
    with dask.config.set(scheduler=request.param, num_workers=2):
        yield


@pytest.fixture
def on_host_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USM_DEFAULT_DEVICE", default_device.HOST)
    default_device.need_host(__file__, "percentiles or backend")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations(made, operation):
    a, n = made(np.arange(120.0).reshape(4, 6, 5))
    found = OPERATIONS[operation](da.from_array(a, chunks=(2, 3, 5)))
    expected = OPERATIONS[operation](da.from_array(n, chunks=(2, 3, 5)))
    with dask.config.set(scheduler="synchronous"):
        computed, expected = found.compute(), expected.compute()
    assert type(computed) is ut.usm_ndarray
    if operation not in UNKNOWN_TYPE:
        assert type(found._meta) is ut.usm_ndarray
        assert found.dtype == computed.dtype and found._meta.ndim == computed.ndim
    assert (computed.usm_type, computed.sycl_queue) == (a.usm_type, a.sycl_queue)
    assert computed.dtype == expected.dtype
    np.testing.assert_allclose(ut.asnumpy(computed), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_percentiles(on_host_device, usm_type, method):
    """Dask makes some arrays of them on the default device."""
    n = np.arange(60.0) ** 2
    x = da.from_array(ut.asarray(n, usm_type=usm_type), chunks=20)
    found = da.percentile(x, [10, 50], method=method).compute(scheduler="synchronous")
    assert type(found) is ut.usm_ndarray
    expected = da.percentile(da.from_array(n, chunks=20), [10, 50], method=method).compute(scheduler="synchronous")
    np.testing.assert_allclose(ut.asnumpy(found), expected)


def test_schedulers(made, scheduler):
    a, n = made(np.arange(120.0).reshape(4, 6, 5))
    x = da.from_array(a, chunks=(1, 2, 3))
    found = ((x - x.mean(axis=0)) @ x.transpose((0, 2, 1))).sum(axis=1).compute()
    assert type(found) is ut.usm_ndarray and found.usm_type == a.usm_type
    np.testing.assert_allclose(ut.asnumpy(found), ((n - n.mean(0)) @ n.transpose((0, 2, 1))).sum(1))


def test_dask_and_our_arrays_are_operands(made):
    a, n = made([[1.0, 2], [3, 4]])
    x = da.from_array(a, chunks=1)
    for found in (a + x, x + a, np.add(a, x), a @ x, np.concatenate([x, a])):
        assert type(found) is da.Array and type(found._meta) is ut.usm_ndarray
    assert (a - 2 * x).compute(scheduler="synchronous").tolist() == (-n).tolist()


def test_from_delayed(made):
    a, n = made([1.0, 2, 3])
    x = da.from_delayed(dask.delayed(lambda: a + 1)(), shape=(3,), meta=a[:0])
    found = (x * 2).compute(scheduler="synchronous")
    assert type(found) is ut.usm_ndarray and found.tolist() == ((n + 1) * 2).tolist()


def test_creation_like(made):
    a, _ = made([1.0, 2])
    meta = da.from_array(a)
    created = (
        da.arange(5, like=meta, chunks=2),
        da.asarray([1.0, 2], like=a),
        da.array([1.0, 2], like=a),
        da.ones_like(meta, shape=(3, 3)),
        da.tri(3, like=meta),
    )
    for x in created:
        computed = x.compute(scheduler="synchronous")
        assert type(x._meta) is type(computed) is ut.usm_ndarray
        assert computed.usm_type == a.usm_type and computed.sycl_device == a.sycl_device
    assert created[0].compute(scheduler="synchronous").tolist() == [0, 1, 2, 3, 4]


def test_the_backend_creates(on_host_device):
    with dask.config.set({"array.backend": "usm", "scheduler": "synchronous"}):
        created = (
            da.ones((4, 3), chunks=2),
            da.zeros(3, dtype="int32"),
            da.empty((2, 2)),
            da.full((3,), 7),
            da.arange(5, chunks=2),
            da.random.random((3, 3), chunks=2),
        )
        for x in created:
            computed = x.compute()
            assert type(x._meta) is type(computed) is ut.usm_ndarray
            assert computed.dtype == x.dtype and computed.shape == x.shape
            assert computed.usm_type == "device" and computed.sycl_device == usm.SyclDevice("host:cpu:0")
        assert created[3].compute().tolist() == [7, 7, 7]
        # Chunks of one number are one element.
        assert dask.sizeof.sizeof(dask.get(dict(created[0].__dask_graph__()), created[0].__dask_keys__()[0][0])) == 8


def test_moves_between_backends(on_host_device):
    x = da.arange(6, chunks=2)
    moved = x.to_backend("usm")
    assert type(moved._meta) is type(moved.compute(scheduler="synchronous")) is ut.usm_ndarray
    assert moved.to_backend("usm") is moved
    back = (moved + 1).to_backend("numpy")
    assert type(back._meta) is np.ndarray
    assert back.compute(scheduler="synchronous").tolist() == [1, 2, 3, 4, 5, 6]


def test_sizeof(made):
    a, _ = made(np.zeros((10, 100)))
    assert dask.sizeof.sizeof(a) == 8000
    assert dask.sizeof.sizeof(ut.broadcast_to(a[0], (1000, 100))) == 800
    assert dask.sizeof.sizeof(a[::2, ::3]) == a[::2, ::3].nbytes
    assert dask.sizeof.sizeof(a[:0]) == 0


def test_names_follow_from_the_elements(made):
    a, _ = made([1.0, 2])
    same, other = ut.copy(a), a + 1
    names = [da.from_array(x).name for x in (a, same, other)]
    assert names[0] == names[1] != names[2]


def test_graphs_are_pickled(host_queue):
    a = ut.arange(6, dtype="float64", usm_type="shared", device="host")
    x = pickle.loads(pickle.dumps(da.from_array(a, chunks=2) + 1))
    found = x.compute(scheduler="synchronous")
    assert (found.usm_type, found.sycl_device, found.tolist()) == ("shared", a.sycl_device, [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("first", ["usm", "dask.array"])
def test_no_import_of_ours_is_needed(first):
    """An import of dask registers it, and an import of ours imports no dask."""
    second = {"usm": "dask.array", "dask.array": "usm"}[first]
    out = process.check(f"""
        import sys
        import {first}
        print("dask" in sys.modules, "distributed" in sys.modules)
        import {second}
        import dask.array as da, usm.tensor as ut
        x = da.from_array(ut.ones(4, usm_type="host", device="host"), chunks=2)
        print(type((x + 1)._meta).__name__, da.chunk_types.is_valid_chunk_type(ut.usm_ndarray))
    """)
    assert out.splitlines()[0].split() == [str(first != "usm"), "False"]
    assert out.splitlines()[1] == "usm_ndarray True"


def test_a_later_release_of_dask_is_named(recwarn):
    """Dask stays usable without our arrays."""
    out = process.check(
        """
        import sys, warnings
        warnings.simplefilter("always")
        import usm._on_import as hooks
        hooks._WATCHED["colorsys"] = ("dask._chunks", "no_such_function")
        with warnings.catch_warnings(record=True) as found:
            import colorsys
        print(colorsys.rgb_to_hls(0, 0, 0), found[0].message)
        """
    )
    assert out.startswith("(0.0, 0.0, 0.0) usm has no registration with this release of colorsys: module 'usm.dask")
