"""scikit-learn-intelex fits on our arrays, through the interface, and on views of them in NumPy."""

import importlib

import pytest

import usm
import usm.tensor as ut

from support import requirements


@pytest.fixture
def data(numpy):
    generator = numpy.random.default_rng(7)
    x = generator.random((200, 3))
    return x, x @ numpy.array([1.0, -2.0, 3.0]) + 0.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linear_regression_on_our_arrays(sklearnex, dpctl, numpy, sycl_queue, usm_type, data, dtype):
    from sklearnex.linear_model import LinearRegression

    if dtype == "float64" and not sycl_queue.sycl_device.has_aspect_fp64:
        pytest.skip("the device has no float64")
    x, y = (ut.asarray(part, dtype, usm_type=usm_type, sycl_queue=sycl_queue) for part in data)
    # They take a queue of this class only.
    assert isinstance(x.__sycl_usm_array_interface__["syclobj"], dpctl.SyclQueue)
    model = LinearRegression().fit(x, y)
    assert numpy.allclose(numpy.asarray(model.coef_), [1, -2, 3], atol=1e-3)
    predicted = model.predict(x)
    predicted = ut.asnumpy(predicted) if hasattr(predicted, "__sycl_usm_array_interface__") else predicted
    assert numpy.allclose(predicted, data[1], atol=1e-3)


def test_clusters_of_views(sklearnex, dpctl, numpy, sycl_queue, usm_type, data):
    """A column-major view with an offset: what a slice of a larger table is."""
    from sklearnex.cluster import DBSCAN

    x = numpy.concatenate([data[0], data[0] + 10]).astype("f4")
    table = ut.asarray(numpy.concatenate([x, x], axis=1), usm_type=usm_type, sycl_queue=sycl_queue)
    ours = ut.asarray(table[:, 3:], copy=True)
    labels = DBSCAN(eps=1.0, min_samples=3).fit(ours).labels_
    labels = ut.asnumpy(labels) if hasattr(labels, "__sycl_usm_array_interface__") else numpy.asarray(labels)
    expected = DBSCAN(eps=1.0, min_samples=3).fit(x).labels_
    assert labels.tolist() == expected.tolist() and set(labels.tolist()) == {0, 1}


def test_fit_on_numpy_views_without_a_copy(sklearnex, numpy, queue, host_accessible, data):
    from sklearnex.linear_model import LinearRegression

    x, y = (ut.asarray(part, usm_type=host_accessible, sycl_queue=queue) for part in data)
    model = LinearRegression().fit(numpy.asarray(x), numpy.asarray(y))
    assert numpy.allclose(model.coef_, [1, -2, 3])


def test_what_they_publish_comes_back(sklearnex, dpctl, numpy, sycl_queue, usm_type):
    """Their tables have the interface, with a list for `data`."""
    from onedal import _default_backend
    from onedal.datatypes import to_table

    a = ut.asarray([[1, 2, 3], [4, 5, 6]], "f4", usm_type=usm_type, sycl_queue=sycl_queue)
    if not getattr(_default_backend, "is_dpc", False):
        pytest.skip("their build has no SYCL")
    table = to_table(a)
    back = ut.asarray(table)
    assert (back.shape, back.dtype, back.tolist()) == ((2, 3), "float32", a.tolist())
    assert usm.SyclQueue(table.__sycl_usm_array_interface__["syclobj"]).sycl_device == sycl_queue.sycl_device


# What scikit-learn-intelex computes with dispatch: the class, its arguments, the target, and the result.
ESTIMATORS = {
    "LinearRegression": ("linear_model", {}, "real", "predict"),
    "KMeans": ("cluster", {"n_clusters": 2, "random_state": 0, "n_init": 1}, None, "predict"),
    "PCA": ("decomposition", {"n_components": 2}, None, "transform"),
}
if requirements.REQUIRE_ALL_PEERS:
    few = {"n_estimators": 5, "random_state": 0}
    ESTIMATORS |= {
        "Ridge": ("linear_model", {}, "real", "predict"),
        "LogisticRegression": ("linear_model", {}, "classes", "predict"),
        "IncrementalLinearRegression": ("linear_model", {}, "real", "predict"),
        "IncrementalRidge": ("linear_model", {}, "real", "predict"),
        "DBSCAN": ("cluster", {"eps": 0.3}, None, "labels_"),
        "IncrementalPCA": ("preview.decomposition", {"n_components": 2}, None, "transform"),
        "KNeighborsClassifier": ("neighbors", {}, "classes", "predict"),
        "KNeighborsRegressor": ("neighbors", {}, "real", "predict"),
        "RandomForestClassifier": ("ensemble", few, "classes", "predict"),
        "RandomForestRegressor": ("ensemble", few, "real", "predict"),
        "ExtraTreesClassifier": ("ensemble", few, "classes", "predict"),
        "SVC": ("svm", {}, "classes", "predict"),
        "SVR": ("svm", {}, "real", "predict"),
        "IncrementalEmpiricalCovariance": ("covariance", {}, None, "covariance_"),
        "BasicStatistics": ("basic_statistics", {"result_options": ["mean"]}, None, "mean_"),
    }


@pytest.mark.parametrize("name", ESTIMATORS)
def test_dispatch_by_way_of_dpnp(sklearnex, numpy, sycl_queue, usm_type, data, name):
    """An array of dpnp over our memory takes part; what is computed comes back as an array of ours without a copy."""
    dpnp = requirements.module("dpnp", required=requirements.REQUIRE_PEERS)
    module, arguments, target, result = ESTIMATORS[name]
    estimator = getattr(importlib.import_module(f"sklearnex.{module}"), name)
    x = data[0].astype("f4")
    y = {"real": data[1].astype("f4"), "classes": (x[:, 0] > 0.5).astype("i4"), None: None}[target]

    def computed(convert):
        operands = [convert(part) for part in (x, y) if part is not None]
        model = estimator(**arguments).fit(*operands)
        found = getattr(model, result)
        return found(operands[0]) if callable(found) else found

    with sklearnex.config_context(array_api_dispatch=True):
        theirs = computed(lambda part: dpnp.asarray(ut.asarray(part, usm_type=usm_type, sycl_queue=sycl_queue)))
    ours = ut.asarray(theirs)
    assert ours.__sycl_usm_array_interface__["data"] == theirs.__sycl_usm_array_interface__["data"]
    found, expected = ut.asnumpy(ours), numpy.asarray(computed(lambda part: part))
    if name.endswith("PCA"):  # the sign of a component is free
        found, expected = abs(found), abs(expected)
    numpy.testing.assert_allclose(found, expected, atol=2e-2)


def test_dispatch_takes_no_array_but_those_of_dpnp(sklearnex, sycl_queue, data):
    """A fault of scikit-learn-intelex 2026.1; when it is gone, guide/compute.md needs fewer words."""
    from sklearnex.linear_model import LinearRegression

    x, y = (ut.asarray(part, "f4", sycl_queue=sycl_queue) for part in data)
    with sklearnex.config_context(array_api_dispatch=True), pytest.raises(UnboundLocalError, match="func"):
        LinearRegression().fit(x, y)
