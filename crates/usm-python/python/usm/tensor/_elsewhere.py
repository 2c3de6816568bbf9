"""Names of array functions that other libraries have, which compute on the memory of our arrays."""

__all__ = ["where_to_find"]

# Functions of the array API 2025.12, which NumPy and dpnp.tensor have.
_EVERYWHERE = frozenset(
    """
    abs acos acosh add asin asinh atan atan2 atanh bitwise_left_shift bitwise_right_shift ceil clip copysign cos cosh
    divide exp expm1 floor floor_divide hypot log log10 log1p log2 logaddexp maximum minimum multiply negative
    nextafter positive pow reciprocal remainder round sign sin sinh sqrt square subtract tan tanh trunc
    argmax argmin cumulative_prod cumulative_sum diff mean prod std var
    matmul tensordot vecdot
    argsort isin searchsorted sort unique_all unique_counts unique_inverse unique_values
    angle cbrt exp2
    """.split()
)
# Only one of the two has them.
_OF_DPNP = frozenset("cumulative_logsumexp logsumexp proj reduce_hypot rsqrt top_k".split())
_OF_NUMPY = frozenset("dot einsum fft linalg median random".split())


def where_to_find(name: str) -> str | None:
    """What computes ``name`` on the memory of an array ``a`` without a copy; None for a name that is no array function.

    >>> from usm.tensor._elsewhere import where_to_find
    >>> where_to_find("sin")[:60], where_to_find("zeroes")
    ('numpy.sin(numpy.asarray(a)) for host and shared memory, dpnp', None)
    """
    numpy = f"numpy.{name}(numpy.asarray(a)) for host and shared memory"
    dpnp = f"dpnp.tensor.{name}(dpnp.tensor.asarray(a)) for memory of a SYCL device"
    if name in _EVERYWHERE:
        return f"{numpy}, {dpnp}"
    if name in _OF_DPNP:
        return dpnp
    if name in _OF_NUMPY:
        return f"numpy.{name} with numpy.asarray(a) for host and shared memory"
    return None
