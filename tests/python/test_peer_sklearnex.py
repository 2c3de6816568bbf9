"""scikit-learn-intelex fits on our arrays, through the interface, and on views of them in NumPy."""

import pytest

import usm
import usm.tensor as ut


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
