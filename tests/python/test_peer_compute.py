"""Libraries that compute through the array API: arrays of ours come out, with NumPy's numbers."""

import pytest

import usm.tensor as ut

from support import requirements

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def sklearn():
    found = requirements.module("sklearn", required=requirements.REQUIRE_PEERS)
    with found.config_context(array_api_dispatch=True):
        yield found


def cases():
    """Each takes features, classes and targets."""
    from sklearn import metrics
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.metrics import pairwise
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import Binarizer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

    for transformer in (StandardScaler, MinMaxScaler, MaxAbsScaler, Normalizer, Binarizer):
        yield transformer.__name__, lambda x, y, t, make=transformer: make().fit_transform(x)
    for solver in ("full", "covariance_eigh"):
        yield f"PCA {solver}", lambda x, y, t, s=solver: abs(PCA(n_components=2, svd_solver=s).fit_transform(x))
    yield "Ridge", lambda x, y, t: Ridge(solver="svd").fit(x, t).predict(x)
    yield "LDA", lambda x, y, t: LinearDiscriminantAnalysis(solver="svd").fit(x, y).predict_proba(x)
    for name in ("euclidean_distances", "cosine_similarity", "linear_kernel", "rbf_kernel", "polynomial_kernel"):
        yield name, lambda x, y, t, name=name: getattr(pairwise, name)(x, x[:5, :])
    yield "train_test_split", lambda x, y, t: train_test_split(x, y, random_state=0)
    yield "accuracy_score", lambda x, y, t: metrics.accuracy_score(y, y)
    for name in ("r2_score", "mean_squared_error", "mean_absolute_error"):
        yield name, lambda x, y, t, name=name: getattr(metrics, name)(t, t + 1)


def test_scikit_learn(sklearn, made, numpy):
    random = numpy.random.default_rng(0)
    x, n = made(random.random((40, 5)))
    y, m = made((n[:, 0] > 0.5).astype("int64"))
    t, u = made(n @ numpy.arange(5.0))
    for name, compute in cases():
        found, expected = compute(x, y, t), compute(n, m, u)
        pairs = zip(found, expected, strict=True) if isinstance(found, list) else [(found, expected)]
        for ours, theirs in pairs:
            if isinstance(ours, ut.usm_ndarray):
                assert ours.usm_type == x.usm_type and ours.sycl_queue == x.sycl_queue, name
                ours = ut.asnumpy(ours)
            else:
                assert isinstance(ours, float), (name, type(ours))
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6, err_msg=name)


def test_array_api_extra(made, numpy):
    xpx = requirements.module("array_api_extra", required=requirements.REQUIRE_PEERS)
    a, n = made([[1.0, 2, 3], [4, 5, 6]])
    for found, expected in (
        (xpx.atleast_nd(a[0], ndim=2), n[:1]),
        (xpx.cov(a), numpy.cov(n)),
        (xpx.expand_dims(a, axis=(0, 1)), n[None, None]),
        (xpx.kron(a, a), numpy.kron(n, n)),
        (xpx.nunique(a), numpy.asarray(6)),
        (xpx.pad(a, 1), numpy.pad(n, 1)),
        (xpx.setdiff1d(a[0], a[0, :1]), n[0, 1:]),
        (xpx.sinc(a), numpy.sinc(n)),
    ):
        assert type(found) is ut.usm_ndarray and found.usm_type == a.usm_type
        numpy.testing.assert_allclose(ut.asnumpy(found), expected, rtol=1e-5, atol=1e-6)


def test_einops(made, numpy):
    einops = requirements.module("einops.array_api", required=requirements.REQUIRE_PEERS)
    a, n = made(numpy.arange(24.0).reshape(2, 3, 4))
    found = einops.rearrange(a, "a b c -> c (a b)")
    assert type(found) is ut.usm_ndarray and found.tolist() == n.transpose(2, 0, 1).reshape(4, 6).tolist()
    found = einops.reduce(a, "a b c -> b", "mean")
    assert found.tolist() == pytest.approx(n.mean((0, 2)).tolist())
    assert einops.repeat(a[0], "b c -> b c d", d=2).shape == (3, 4, 2)


def test_array_api_compat(made):
    compat = requirements.module("array_api_compat", required=requirements.REQUIRE_PEERS)
    a, _ = made([1.0, 2])
    assert compat.array_namespace(a, a + 1) is ut and compat.is_array_api_obj(a)
    assert compat.size(a) == 2 and compat.device(a) == a.device
    with pytest.raises(TypeError, match="[Mm]ultiple namespaces"):
        compat.array_namespace(a, [1][:0] or __import__("numpy").ones(2))
