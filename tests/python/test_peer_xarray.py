"""xarray over our arrays, and over dask arrays of them: selection, arithmetic and reductions."""

import pytest

import usm.tensor as ut

from support import requirements

xr = requirements.needed("xarray", required=requirements.REQUIRE_PEERS)
da = requirements.needed("dask.array", required=requirements.REQUIRE_PEERS)
np = requirements.needed("numpy")

pytestmark = pytest.mark.filterwarnings("ignore")

OPERATIONS = {
    "label": lambda a: a.sel(t=1),
    "labels": lambda a: a.sel(x=[0, 3]),
    "range": lambda a: a.isel(y=slice(None, None, -2)),
    "indices": lambda a: a.isel(x=[2, 0]),
    "arithmetic": lambda a: 2 * a + a.isel(t=0) / 3,
    "functions": lambda a: np.sin(a),
    "compare": lambda a: a > 7,
    "where": lambda a: a.where(a > 3, -a),
    "where nan": lambda a: a.where(a > 3),
    "clip": lambda a: a.clip(2, 9),
    "cast": lambda a: a.astype("float32"),
    "sum": lambda a: a.sum(),
    "mean": lambda a: a.mean("t"),
    "std": lambda a: a.std(("x", "y")),
    "max": lambda a: a.max("x"),
    "argmax": lambda a: a.argmax("x"),
    "count": lambda a: a.count("y"),
    "prod": lambda a: (a + 1).prod("t"),
    "any": lambda a: (a > 50).any("x"),
    "cumsum": lambda a: a.cumsum("x"),
    "transpose": lambda a: a.transpose("x", "t", "y"),
    "stack": lambda a: a.stack(k=("t", "y")),
    "concat": lambda a: xr.concat([a, a], "z"),
    "groupby": lambda a: a.groupby("t").mean(),
    "coarsen": lambda a: a.coarsen(y=2).mean(),
    "dataset": lambda a: a.to_dataset(name="v").mean().v,
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("is_lazy", [False, True], ids=["ours", "dask"])
def test_operations(made, operation, is_lazy):
    a, n = made(np.arange(60.0).reshape(3, 4, 5))
    data = da.from_array(a, chunks=(2, 2, 5)) if is_lazy else a
    names = {"dims": ("t", "y", "x"), "coords": {"t": [0, 1, 2], "x": np.arange(5)}}
    found = OPERATIONS[operation](xr.DataArray(data, **names)).data
    if is_lazy:
        assert type(found._meta) is ut.usm_ndarray
        found = found.compute(scheduler="synchronous")
    assert type(found) is ut.usm_ndarray
    assert (found.usm_type, found.sycl_queue) == (a.usm_type, a.sycl_queue)
    expected = OPERATIONS[operation](xr.DataArray(n, **names)).data
    np.testing.assert_allclose(ut.asnumpy(found), expected, rtol=1e-6)


NUMBER_OPERATIONS = {
    "where": lambda a: a.where(a > 3, 0.0),
    "fillna": lambda a: a.where(a > 3).fillna(0.0),
    "reindex": lambda a: a.reindex(x=[0, 9]),
    "align": lambda a: xr.align(a, a.isel(x=[0]), join="outer")[1],
    "idxmax": lambda a: a.idxmax("x"),
    "weighted": lambda a: a.weighted(xr.DataArray(a.data[0], dims="x").fillna(0.0)).mean(),
}


@pytest.mark.parametrize("operation", NUMBER_OPERATIONS)
def test_numbers_become_arrays_of_the_default_device(operation):
    """The guide says which methods that hits."""
    values = np.arange(6.0).reshape(2, 3)
    names = {"dims": ("t", "x"), "coords": {"x": [0, 1, 2]}}
    for device in ("host", requirements.device_of("sycl")):
        array = xr.DataArray(ut.asarray(values, device=device), **names)
        if array.data.sycl_device == ut.empty(0).sycl_device:
            found = NUMBER_OPERATIONS[operation](array)
            assert type(found.data) is ut.usm_ndarray
            expected = NUMBER_OPERATIONS[operation](xr.DataArray(values, **names))
            np.testing.assert_allclose(ut.asnumpy(found.data), expected.data)
        else:
            with pytest.raises(ut.ExecutionPlacementError, match="to_device"):
                NUMBER_OPERATIONS[operation](array)


NUMPY_OPERATIONS = {
    "dropna": lambda a: a.dropna("x"),
    "interp": lambda a: a.interp(x=0.5),
    "quantile": lambda a: a.quantile(0.5),
}


@pytest.mark.parametrize("operation", NUMPY_OPERATIONS)
def test_what_needs_numpy_refuses_device_memory(operation):
    values = np.arange(6.0).reshape(2, 3)
    names = {"dims": ("t", "x"), "coords": {"x": [0, 1, 2]}}
    device = requirements.device_of("sycl")
    with pytest.raises(TypeError, match="asnumpy"):
        NUMPY_OPERATIONS[operation](xr.DataArray(ut.asarray(values, usm_type="device", device=device), **names))
    shared = xr.DataArray(ut.asarray(values, usm_type="shared", device=device), **names)
    found = NUMPY_OPERATIONS[operation](shared).data
    np.testing.assert_allclose(np.asarray(found), NUMPY_OPERATIONS[operation](xr.DataArray(values, **names)).data)
