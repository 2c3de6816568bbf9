"""Narrow floating-point numbers by the definition of their formats, without ml_dtypes and without our code."""

import math
import struct

# Bits of the exponent and of the fraction, the exponent of 1, and what the largest bits mean.
FORMATS = {
    "bfloat16": (8, 7, 127, "ieee"),
    "float8_e4m3fn": (4, 3, 7, "finite"),
    "float8_e4m3fnuz": (4, 3, 8, "unsigned"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e5m2fnuz": (5, 2, 16, "unsigned"),
}

NARROW = list(FORMATS)


def itemsize(dtype: str) -> int:
    return 2 if dtype == "bfloat16" else 1


def number(dtype: str, bits: int) -> float:
    """The number with these bits."""
    exponent_bits, fraction_bits, bias, special = FORMATS[dtype]
    sign = -1.0 if bits >> (exponent_bits + fraction_bits) else 1.0
    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << fraction_bits) - 1)
    is_last = exponent == (1 << exponent_bits) - 1
    if special == "ieee" and is_last:
        return math.nan if fraction else sign * math.inf
    if special == "finite" and is_last and fraction == (1 << fraction_bits) - 1:
        return math.nan
    if special == "unsigned" and sign < 0 and not exponent and not fraction:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fraction_bits)
    return sign * math.ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits)


def numbers(dtype: str) -> list[float]:
    """All numbers of the format, in the order of their bits."""
    return [number(dtype, bits) for bits in range(1 << (8 * itemsize(dtype)))]


def pattern(dtype: str) -> bytes:
    """The bytes of all of them."""
    if itemsize(dtype) == 1:
        return bytes(range(256))
    return struct.pack("=65536H", *range(65536))


def edges(dtype: str) -> list[float]:
    """binary32 numbers where the nearest number of the format changes, and the ones before and behind."""
    values = sorted({value for value in numbers(dtype) if math.isfinite(value)})
    step = values[-1] - values[-2]
    middles = [(a + b) / 2 for a, b in zip(values, values[1:], strict=False)]
    places = [*values, *middles, values[-1] + step / 2, values[-1] + step, -values[-1] - step / 2, math.inf, -math.inf]
    largest = struct.unpack("=f", struct.pack("=I", 0x7F7FFFFF))[0]
    places = [place for place in places if math.isinf(place) or abs(place) <= largest]
    bits = [struct.unpack("=I", struct.pack("=f", place))[0] for place in places]
    near = {(b + d) % (1 << 32) for b in bits for d in (-1, 0, 1)}
    return [struct.unpack("=f", struct.pack("=I", b))[0] for b in sorted(near)]


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
