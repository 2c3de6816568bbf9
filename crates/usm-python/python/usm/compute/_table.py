"""The functions that providers compute: their names, parameters and documentation.

The standard is the array API 2025.12; the last part of each group has functions of ``dpctl.tensor`` beyond it.
``FUNCTIONS``, ``LINALG`` and ``FFT`` are the only list of them: :mod:`usm.tensor` gets its functions from here, and
providers look up how to compute one by its kind.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FFT", "FUNCTIONS", "LINALG", "Function"]


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A row of the table."""

    name: str
    #: What providers do alike: ``"unary"`` and ``"binary"`` are elementwise with broadcasting.
    kind: str
    #: The parameters as in the standard. Those before ``/`` are arrays or numbers.
    parameters: str
    text: str
    #: Parameters after ``/`` that may be arrays, too.
    arrays: tuple[str, ...] = ()
    #: The part of the namespace: ``""``, ``"linalg"`` or ``"fft"``.
    part: str = ""


_UNARY = """
abs: Absolute values; of complex numbers their magnitudes.
acos: Inverse cosines, in radians.
acosh: Inverse hyperbolic cosines.
asin: Inverse sines, in radians.
asinh: Inverse hyperbolic sines.
atan: Inverse tangents, in radians.
atanh: Inverse hyperbolic tangents.
bitwise_invert: The other bits of integers.
ceil: The least integers that are not less.
cos: Cosines of angles in radians.
cosh: Hyperbolic cosines.
exp: e to the power of the elements.
expm1: e to the power of the elements, less 1; exact near 0.
floor: The greatest integers that are not greater.
log: Natural logarithms.
log10: Logarithms to base 10.
log1p: Natural logarithms of 1 plus the elements; exact near 0.
log2: Logarithms to base 2.
negative: The elements with the other sign.
positive: The elements as they are, in a new array.
reciprocal: 1 divided by the elements.
round: The nearest integers; halfway cases go to the even one.
sign: -1, 0 or 1 by the sign; of complex numbers z / abs(z).
sin: Sines of angles in radians.
sinh: Hyperbolic sines.
sqrt: Square roots that are not negative.
square: The elements times themselves.
tan: Tangents of angles in radians.
tanh: Hyperbolic tangents.
trunc: The nearest integers towards 0.
angle: The angles of complex numbers, in radians.
cbrt: Cube roots.
exp2: 2 to the power of the elements.
proj: Complex numbers projected onto the Riemann sphere.
rsqrt: 1 divided by square roots.
"""

_BINARY = """
add: Sums.
bitwise_and: The bits that both integers have.
bitwise_or: The bits that one of both integers has.
bitwise_xor: The bits that exactly one of both integers has.
atan2: Angles between the positive x axis and the points (x2, x1), in radians.
bitwise_left_shift: The bits of x1 moved x2 places to the left.
bitwise_right_shift: The bits of x1 moved x2 places to the right, with the sign kept.
copysign: The magnitudes of x1 with the signs of x2.
divide: Quotients as real or complex numbers.
floor_divide: Quotients rounded down.
hypot: Square roots of x1**2 + x2**2.
logaddexp: Logarithms of exp(x1) + exp(x2).
maximum: The greater elements; NaN where one is NaN.
minimum: The lesser elements; NaN where one is NaN.
multiply: Products.
nextafter: The numbers next to x1 in the direction of x2.
pow: x1 to the power of x2.
remainder: Remainders of floor_divide, with the sign of x2.
subtract: Differences.
"""

_REST = """
reduction prod(x, /, *, axis=None, dtype=None, keepdims=False, out=None)
    Products along axes. Small integers give ``int64`` or ``uint64``.
reduction mean(x, /, *, axis=None, keepdims=False, out=None)
    Arithmetic means along axes.
reduction var(x, /, *, axis=None, correction=0.0, keepdims=False, out=None)
    Variances along axes. `correction` is subtracted from the number of elements, by which the sum is divided.
reduction std(x, /, *, axis=None, correction=0.0, keepdims=False, out=None)
    Standard deviations along axes, with `correction` as of var.
reduction logsumexp(x, /, *, axis=None, dtype=None, keepdims=False, out=None)
    Logarithms of sums of exponentials along axes.
reduction reduce_hypot(x, /, *, axis=None, dtype=None, keepdims=False, out=None)
    Square roots of sums of squares along axes.
search argmax(x, /, *, axis=None, keepdims=False, out=None)
    Indices of the greatest elements along an axis, or in all elements in row-major order: of equal ones the first.
search argmin(x, /, *, axis=None, keepdims=False, out=None)
    Indices of the least elements along an axis, or in all elements in row-major order: of equal ones the first.
cumulative cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False, out=None)
    Sums of all elements up to each one along an axis. With `include_initial` a 0 comes first.
cumulative cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False, out=None)
    Products of all elements up to each one along an axis. With `include_initial` a 1 comes first.
cumulative cumulative_logsumexp(x, /, *, axis=None, dtype=None, include_initial=False, out=None)
    Logarithms of sums of exponentials up to each element along an axis, after minus infinity with `include_initial`.
clip clip(x, /, min=None, max=None, *, out=None) : min max
    The elements limited to a range. The result has the dtype of `x`.
matmul matmul(x1, x2, /, *, out=None)
    Matrix products of the last two axes; an argument of one axis is a vector.
copied tensordot(x1, x2, /, *, axes=2)
    Sums of products over axes: the last `axes` of `x1` and the first of `x2`, or two sequences of axes.
vecdot vecdot(x1, x2, /, *, axis=-1)
    Sums of products along an axis; elements of `x1` are conjugated.
copied diff(x, /, *, axis=-1, n=1, prepend=None, append=None) : prepend append
    Differences of adjacent elements along an axis, `n` times.
sort sort(x, /, *, axis=-1, descending=False, stable=True)
    The elements sorted along an axis. Equal ones keep their order where `stable` is True.
copied argsort(x, /, *, axis=-1, descending=False, stable=True)
    The indices that sort the elements along an axis.
copied top_k(x, k, /, *, axis=None, mode='largest')
    The `k` largest or smallest elements along an axis, and their indices.
copied searchsorted(x1, x2, /, *, side='left', sorter=None) : sorter
    Indices at which `x2` goes into the sorted `x1` so that it stays sorted.
copied isin(x1, x2, /, *, invert=False)
    Which elements of `x1` are in `x2`, or are not with `invert`.
copied unique_all(x, /)
    The distinct elements, the first index of each, the index of each element among them, and their counts.
copied unique_counts(x, /)
    The distinct elements and their counts.
copied unique_inverse(x, /)
    The distinct elements, and the index of each element among them.
copied unique_values(x, /)
    The distinct elements, sorted.
"""

_LINALG = """
copied cholesky(x, /, *, upper=False)
    Cholesky factors of positive definite matrices: lower ones, or upper ones with `upper`.
copied cross(x1, x2, /, *, axis=-1)
    Cross products of vectors of three elements along an axis.
copied det(x, /)
    Determinants of square matrices.
copied diagonal(x, /, *, offset=0)
    Diagonals of matrices, `offset` places to the right of the main one.
copied eig(x, /)
    Eigenvalues and eigenvectors of square matrices, as complex numbers.
copied eigh(x, /)
    Eigenvalues and eigenvectors of Hermitian matrices.
copied eigvals(x, /)
    Eigenvalues of square matrices, as complex numbers.
copied eigvalsh(x, /)
    Eigenvalues of Hermitian matrices.
copied inv(x, /)
    Inverses of square matrices.
matmul matmul(x1, x2, /)
    Matrix products, as :func:`usm.tensor.matmul`.
copied matrix_norm(x, /, *, keepdims=False, ord='fro')
    Norms of matrices.
copied matrix_power(x, n, /)
    Square matrices to an integer power.
copied matrix_rank(x, /, *, rtol=None) : rtol
    Ranks: the number of singular values above `rtol` times the greatest.
copied outer(x1, x2, /)
    Products of each element of one vector with each of another.
copied pinv(x, /, *, rtol=None) : rtol
    Pseudo-inverses of matrices.
copied qr(x, /, *, mode='reduced')
    QR factors of matrices.
copied slogdet(x, /)
    Signs and logarithms of absolute values of determinants.
copied solve(x1, x2, /)
    Solutions x of x1 @ x = x2.
copied svd(x, /, *, full_matrices=True)
    Singular value decompositions: U, S and Vh.
copied svdvals(x, /)
    Singular values of matrices.
copied tensordot(x1, x2, /, *, axes=2)
    Sums of products over axes, as :func:`usm.tensor.tensordot`.
copied trace(x, /, *, offset=0, dtype=None)
    Sums of diagonals of matrices, `offset` places to the right of the main one.
vecdot vecdot(x1, x2, /, *, axis=-1)
    Sums of products along an axis, as :func:`usm.tensor.vecdot`.
copied vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
    Norms of vectors along axes.
"""

_FFT = """
copied fft(x, /, *, n=None, axis=-1, norm='backward')
    Discrete Fourier transforms along an axis, of `n` elements.
copied ifft(x, /, *, n=None, axis=-1, norm='backward')
    Inverses of fft.
copied fftn(x, /, *, s=None, axes=None, norm='backward')
    Discrete Fourier transforms along several axes, of `s` elements.
copied ifftn(x, /, *, s=None, axes=None, norm='backward')
    Inverses of fftn.
copied rfft(x, /, *, n=None, axis=-1, norm='backward')
    The part of fft that describes real numbers, along an axis.
copied irfft(x, /, *, n=None, axis=-1, norm='backward')
    Inverses of rfft; `n` is the number of elements of the result.
copied rfftn(x, /, *, s=None, axes=None, norm='backward')
    The part of fftn that describes real numbers.
copied irfftn(x, /, *, s=None, axes=None, norm='backward')
    Inverses of rfftn.
copied hfft(x, /, *, n=None, axis=-1, norm='backward')
    Real transforms of Hermitian signals, of which `x` has the first half.
copied ihfft(x, /, *, n=None, axis=-1, norm='backward')
    Inverses of hfft.
copied fftshift(x, /, *, axes=None)
    The elements moved so that frequency 0 is in the middle.
copied ifftshift(x, /, *, axes=None)
    Inverses of fftshift.
frequencies fftfreq(n, /, *, d=1.0, dtype=None, device=None)
    The frequencies of fft for `n` samples at distances `d`.
frequencies rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
    The frequencies of rfft for `n` samples at distances `d`.
"""


def _elementwise(kind: str, parameters: str, lines: str) -> list[Function]:
    rows = (line.split(": ", 1) for line in lines.strip().splitlines())
    return [Function(name, kind, parameters, text) for name, text in rows]


def _each(lines: str, part: str = "") -> list[Function]:
    functions: list[Function] = []
    rows = iter(lines.strip().splitlines())
    for head in rows:
        head, _, arrays = head.partition(" : ")
        kind, _, call = head.partition(" ")
        name, _, parameters = call[:-1].partition("(")
        functions.append(Function(name, kind, parameters, next(rows).strip(), tuple(arrays.split()), part))
    return functions


FUNCTIONS = {
    function.name: function
    for function in (
        *_elementwise("unary", "x, /, *, out=None, order='K'", _UNARY),
        *_elementwise("binary", "x1, x2, /, *, out=None, order='K'", _BINARY),
        *_each(_REST),
    )
}
LINALG = {function.name: function for function in _each(_LINALG, "linalg")}
FFT = {function.name: function for function in _each(_FFT, "fft")}
