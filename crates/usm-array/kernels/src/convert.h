// The casts of elements, with the meaning of `usm-array/src/copy/cast/convert.rs`, bit by bit.
//
// FROM_BYTES and ITEM_BYTES are the sizes of the elements on both sides; a number says which dtypes of these sizes they are. Binary64
// and binary16 are taken apart as integers, so that no kernel needs a device that has them. All GPUs of NVIDIA have instructions for
// them, which agree with that but for the bits of NaN, and integers from NaN.

#ifndef USM_CONVERT_H
#define USM_CONVERT_H

#include "dialect.h"

// The classes of dtypes: with the size they make up the dtype. The same numbers are in `usm-array/src/copy/copy_kernels/elements.rs`.
#define BOOLEAN 0
#define SIGNED 1
#define UNSIGNED 2
#define FLOAT 3
#define COMPLEX 4
#define PAIR(from, to) ((from) * 5 + (to))

// Pairs with narrow floating-point numbers: bfloat16 or one of 8 bits, whose format is above the lowest byte. Of other dtypes there are
// binary16 and binary32; all other casts are two.
#define FROM_NARROW 25
#define TO_NARROW 26
#define BOTH_NARROW 27

// An element as it is in memory: its bits, and of 16 bytes the second half, too.
#if FROM_BYTES == 16
typedef u64x2 From;
#elif FROM_BYTES == 8
typedef u64 From;
#else
typedef u32 From;
#endif
#if ITEM_BYTES == 16
typedef u64x2 To;
#elif ITEM_BYTES == 8
typedef u64 To;
#else
typedef u32 To;
#endif

// Drivers of SYCL devices inline as they like; this keeps the modules small.
#ifdef __NVPTX__
#define FUNCTION static inline
#else
#define FUNCTION __attribute__((noinline, unused)) static
#endif

__attribute__((unused)) static inline float float_of(u32 bits) { return __builtin_astype(bits, float); }
__attribute__((unused)) static inline u32 bits_of(float value) { return __builtin_astype(value, u32); }

// ---- Floating-point numbers as bits ----

FUNCTION u32 f32_of_f16(u32 bits)
{
    u32 sign = (bits & 0x8000) << 16, rest = bits & 0x7fff;
    u32 special = sign | 0x7f800000 | rest << 13 | (rest > 0x7c00 ? 0x400000 : 0);
#ifdef __NVPTX__
    float value;
    __asm__("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((u16)bits));
    return rest < 0x7c00 ? bits_of(value) : special;
#else
    // A subnormal number is a whole number of 2^-24.
    u32 small = bits_of((float)(i32)rest * 0x1p-24f);
    u32 normal = (rest << 13) + 0x38000000;
    return rest < 0x7c00 ? sign | (rest < 0x400 ? small : normal) : special;
#endif
}

// What is left of a number after `drop` bits were cut off, 1 to 63, rounded to the nearest, a tie to the even one.
FUNCTION u64 rounded(u64 number, u32 drop)
{
    u64 kept = number >> drop, middle = (u64)1 << (drop - 1), rest = number & (middle * 2 - 1);
    return kept + (rest > middle || (rest == middle && (kept & 1)));
}

FUNCTION u32 f16_of_f32(u32 bits)
{
    u32 sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    u32 nan = sign | 0x7e00 | (rest >> 13 & 0x3ff);
#ifdef __NVPTX__
    u16 result;
    __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(float_of(bits)));
    return rest > 0x7f800000 ? nan : result;
#else
    u32 exponent = rest >> 23;
    u32 result;
    if (rest > 0x7f800000)
        return nan;
    if (exponent >= 113) {
        u32 kept = (rest - 0x38000000) >> 13, cut = rest & 0x1fff;
        kept += cut > 0x1000 || (cut == 0x1000 && (kept & 1));
        result = kept < 0x7c00 ? kept : 0x7c00;
    } else
        result = exponent < 102 ? 0 : (u32)rounded((rest & 0x7fffff) | 0x800000, 126 - exponent);
    return sign | result;
#endif
}

#ifdef __NVPTX__
__attribute__((unused)) static inline double double_of(u64 bits) { return __builtin_astype(bits, double); }

FUNCTION u64 f64_of_f32(u32 bits)
{
    u64 sign = (u64)(bits & 0x80000000) << 32;
    u32 rest = bits & 0x7fffffff;
    u64 nan = sign | 0x7ff8000000000000 | (u64)rest << 29;
    double value;
    __asm__("cvt.f64.f32 %0, %1;" : "=d"(value) : "f"(float_of(bits)));
    return rest > 0x7f800000 ? nan : __builtin_astype(value, u64);
}

FUNCTION u32 f32_of_f64(u64 bits)
{
    u64 rest = bits & 0x7fffffffffffffff;
    u32 nan = (u32)(bits >> 32 & 0x80000000) | 0x7fc00000 | ((u32)(rest >> 29) & 0x7fffff);
    float value;
    __asm__("cvt.rn.f32.f64 %0, %1;" : "=f"(value) : "d"(double_of(bits)));
    return rest > 0x7ff0000000000000 ? nan : bits_of(value);
}
#else
FUNCTION u64 f64_of_f32(u32 bits)
{
    u64 sign = (u64)(bits & 0x80000000) << 32;
    u32 rest = bits & 0x7fffffff;
    u64 result = ((u64)rest << 29) + 0x3800000000000000;
    if (rest >= 0x7f800000)
        result = 0x7ff0000000000000 | (u64)rest << 29 | (rest > 0x7f800000 ? 0x8000000000000 : 0);
    else if (rest < 0x800000) {
        u32 shift = rest ? (u32)__builtin_clz(rest) - 8 : 0;
        // The leading bit adds one to the exponent.
        result = rest ? ((u64)(896 - shift) << 52) + ((u64)(rest << shift) << 29) : 0;
    }
    return sign | result;
}
#endif

// To the format with so many bits of a fraction and the exponent of 1 at `bias`.
FUNCTION u32 narrow_of_f64(u64 bits, u32 fraction, u32 bias)
{
    u64 rest = bits & 0x7fffffffffffffff;
    u32 exponent = (u32)(rest >> 52), drop = 52 - fraction;
    u32 infinity = (2 * bias + 1) << fraction;
    if (rest > 0x7ff0000000000000)
        return infinity | 1u << (fraction - 1) | ((u32)(rest >> drop) & ((1u << fraction) - 1));
    if (exponent > 1023 - bias) {
        u64 kept = rounded(rest - ((u64)(1023 - bias) << 52), drop);
        return kept < infinity ? (u32)kept : infinity;
    }
    u32 below = 1024 - bias - exponent;
    if (below > fraction + 1)
        return 0;
    return (u32)rounded((rest & 0xfffffffffffff) | 0x10000000000000, drop + below);
}

#ifndef __NVPTX__
static inline u32 f32_of_f64(u64 bits) { return (u32)(bits >> 32 & 0x80000000) | narrow_of_f64(bits, 23, 127); }
#endif
static inline u32 f16_of_f64(u64 bits) { return (u32)(bits >> 48 & 0x8000) | narrow_of_f64(bits, 10, 15); }

// ---- Narrow floating-point numbers: as in `usm-array/src/dtype/narrow.rs` ----

#define FRACTION(format) ((format) & 0xf)
#define BIAS(format) ((format) >> 4 & 0xff)
#define SPECIAL(format) ((format) >> 12)
#define IEEE 0
#define FINITE 1
// The formats that networks are stored in: float8_e4m3fn and float8_e5m2.
#define E4M3FN (3 | 7 << 4 | FINITE << 12)
#define E5M2 (2 | 15 << 4 | IEEE << 12)

// Of NaN only the sign stays.
__attribute__((unused)) static inline u32 f32_of_bf16(u32 bits)
{
    return (bits & 0x7fff) > 0x7f80 ? (bits & 0x8000) << 16 | 0x7fc00000 : bits << 16;
}

FUNCTION u32 bf16_of_f32(u32 bits)
{
    u32 nan = (bits >> 16 & 0x8000) | 0x7fc0;
    return (bits & 0x7fffffff) > 0x7f800000 ? nan : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// A bfloat16, or else a binary16.
__attribute__((unused)) static inline u32 f32_of_two_bytes(u32 bits, bool is_bfloat)
{
    u32 binary = f32_of_f16(bits), brain = f32_of_bf16(bits);
    return is_bfloat ? brain : binary;
}

__attribute__((unused)) static inline u32 float_of_two_bytes(u32 bits, bool is_bfloat)
{
    u32 binary = f16_of_f32(bits), brain = bf16_of_f32(bits);
    return is_bfloat ? brain : binary;
}

FUNCTION u32 f32_of_f8(u32 bits, u32 format)
{
    u32 fraction = FRACTION(format), bias = BIAS(format), special = SPECIAL(format);
    // The same for all elements: the bits from which on there are infinities and NaN, without the sign, and those of a single NaN.
    u32 last = 0x7f >> fraction << fraction, infinity = special == IEEE ? last : 0x80;
    u32 nan = special == IEEE ? last + 1 : special == FINITE ? 0x7f : 0x80, only = special > FINITE ? 0x80 : 0x100;
    u32 rest = bits & 0x7f;
#ifdef __NVPTX__
    u32 number = bits_of(float_of(rest << (23 - fraction)) * float_of((254 - bias) << 23));
#else
    // A subnormal number is a whole number of units. Devices need not have subnormal binary32.
    u32 small = bits_of((float)(i32)rest * float_of((128 - bias - fraction) << 23));
    u32 normal = (rest << (23 - fraction)) + ((127 - bias) << 23);
    u32 number = rest >> fraction ? normal : small;
#endif
    number = rest >= infinity ? 0x7f800000 : number;
    number = rest >= nan || bits == only ? 0x7fc00000 : number;
    return (bits & 0x80) << 24 | number;
}

FUNCTION u32 f8_of_f32(u32 bits, u32 format)
{
    u32 fraction = FRACTION(format), bias = BIAS(format), special = SPECIAL(format), drop = 23 - fraction;
    // The same for all elements.
    u32 last = 0x7f >> fraction << fraction, least = (128 - bias) << 23, shift = (151 - bias - fraction) << 23;
    u32 largest = special == IEEE ? last - 1 : special == FINITE ? 0x7e : 0x7f;
    u32 nan = special == IEEE ? 0x7f ^ 1u << (fraction - 2) : special == FINITE ? 0x7f : 0x80;
    u32 beyond = special == IEEE ? last : nan, middle = (1u << (drop - 1)) - 1 - ((127 - bias) << 23);
    u32 rest = bits & 0x7fffffff;
    // The sum has as many bits below the point as the format has.
    u32 small = bits_of(float_of(rest) + float_of(shift)) - shift;
    // What rebases the exponent leaves the bits that round as they are.
    u32 normal = (rest + middle + (rest >> drop & 1)) >> drop;
    u32 result = rest < least ? small : normal;
    result = result > largest ? beyond : result;
    result = rest > 0x7f800000 ? nan : result;
    u32 sign = special > FINITE && result == 0 ? 0 : bits >> 24 & 0x80;
    return result | sign;
}

// ---- Integers to floating-point numbers ----

// Of a number that is not NaN.
__attribute__((unused)) static inline u32 f16_of_number(float number)
{
#ifdef __NVPTX__
    u16 result;
    __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(number));
    return result;
#else
    return f16_of_f32(bits_of(number));
#endif
}

#ifdef __NVPTX__
FUNCTION u64 f64_of_u64(u64 number)
{
    double value;
    __asm__("cvt.rn.f64.u64 %0, %1;" : "=d"(value) : "l"(number));
    return __builtin_astype(value, u64);
}

FUNCTION u64 f64_of_i64(i64 number)
{
    double value;
    __asm__("cvt.rn.f64.s64 %0, %1;" : "=d"(value) : "l"(number));
    return __builtin_astype(value, u64);
}
#else
FUNCTION u64 f64_of_u64(u64 number)
{
    if (number == 0)
        return 0;
    u32 zeros = (u32)__builtin_clzl(number);
    // The leading bit adds one to the exponent.
    return ((u64)(1085 - zeros) << 52) + rounded(number << zeros, 11);
}

FUNCTION u64 f64_of_i64(i64 number)
{
    u64 sign = number < 0 ? 0x8000000000000000 : 0;
    return sign | f64_of_u64(number < 0 ? 0 - (u64)number : (u64)number);
}
#endif

// ---- Floating-point numbers to integers: the nearest one towards 0 that there is, and 0 for NaN ----

#ifdef __NVPTX__
// The instructions stop at the least and the greatest number of 32 or 64 bits.
FUNCTION u64 signed_of_f64(u64 bits, u32 width)
{
    bool is_nan = (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    if (width == 64) {
        i64 whole;
        __asm__("cvt.rzi.s64.f64 %0, %1;" : "=l"(whole) : "d"(double_of(bits)));
        return is_nan ? 0 : (u64)whole;
    }
    i32 whole, most = (i32)(0x7fffffffu >> (32 - width)), least = -most - 1;
    __asm__("cvt.rzi.s32.f64 %0, %1;" : "=r"(whole) : "d"(double_of(bits)));
    whole = whole > most ? most : whole < least ? least : whole;
    return is_nan ? 0 : (u64)whole;
}

FUNCTION u64 unsigned_of_f64(u64 bits, u32 width)
{
    bool is_nothing = bits >> 63 || bits > 0x7ff0000000000000;
    if (width == 64) {
        u64 whole;
        __asm__("cvt.rzi.u64.f64 %0, %1;" : "=l"(whole) : "d"(double_of(bits)));
        return is_nothing ? 0 : whole;
    }
    u32 whole, most = 0xffffffffu >> (32 - width);
    __asm__("cvt.rzi.u32.f64 %0, %1;" : "=r"(whole) : "d"(double_of(bits)));
    return is_nothing ? 0 : whole < most ? whole : most;
}
#else
FUNCTION u64 signed_of_f64(u64 bits, u32 width)
{
    u64 rest = bits & 0x7fffffffffffffff, most = ((u64)1 << (width - 1)) - 1;
    i32 power = (i32)(rest >> 52) - 1023;
    u64 fraction = (rest & 0xfffffffffffff) | 0x10000000000000;
    bool negative = bits >> 63;
    u64 whole = power < 0 ? 0 : power <= 52 ? fraction >> (52 - power) : power < 63 ? fraction << (power - 52) : most + 1;
    u64 limit = negative ? most + 1 : most;
    whole = whole < limit ? whole : limit;
    return rest > 0x7ff0000000000000 ? 0 : negative ? 0 - whole : whole;
}

FUNCTION u64 unsigned_of_f64(u64 bits, u32 width)
{
    u64 rest = bits & 0x7fffffffffffffff, most = 0xffffffffffffffff >> (64 - width);
    i32 power = (i32)(rest >> 52) - 1023;
    u64 fraction = (rest & 0xfffffffffffff) | 0x10000000000000;
    u64 whole = power < 0 ? 0 : power <= 52 ? fraction >> (52 - power) : power < 64 ? fraction << (power - 52) : most;
    whole = whole < most ? whole : most;
    return bits >> 63 || rest > 0x7ff0000000000000 ? 0 : whole;
}
#endif

#if ITEM_BYTES == 8
FUNCTION u64 signed_of_f32(float x)
{
    return x >= 0x1p63f ? 0x7fffffffffffffff : x <= -0x1p63f ? 0x8000000000000000 : x != x ? 0 : (u64)(i64)x;
}
FUNCTION u64 unsigned_of_f32(float x)
{
    return x >= 0x1p64f ? 0xffffffffffffffff : x > 0 ? (u64)x : 0;
}
#elif ITEM_BYTES <= 4
#define HALF_RANGE ((float)(1u << (8 * ITEM_BYTES - 1)))
#define MOST_SIGNED (0xffffffffu >> (33 - 8 * ITEM_BYTES))
FUNCTION u32 signed_of_f32(float x)
{
    return x >= HALF_RANGE ? MOST_SIGNED : x <= -HALF_RANGE ? ~MOST_SIGNED : x != x ? 0 : (u32)(i32)x;
}
FUNCTION u32 unsigned_of_f32(float x)
{
    return x >= 2 * HALF_RANGE ? 2 * MOST_SIGNED + 1 : x > 0 ? (u32)x : 0;
}
#endif

// ---- One element ----

// From integers of 32 and 64 bits, `n`, from binary32, `x`, and from the bits of binary64, `b`.
#if ITEM_BYTES == 1
#define BOOLEAN_OF_BITS(b) ((b) != 0)
#endif
#if ITEM_BYTES <= 8
#define INTEGER_OF(n) ((To)(n))
#define SIGNED_OF_F32(x) signed_of_f32(x)
#define UNSIGNED_OF_F32(x) unsigned_of_f32(x)
#define SIGNED_OF_F64(b) ((To)signed_of_f64(b, 8 * ITEM_BYTES))
#define UNSIGNED_OF_F64(b) ((To)unsigned_of_f64(b, 8 * ITEM_BYTES))
#endif
#if ITEM_BYTES == 2
#define FLOAT_OF(n) f16_of_number((float)(n))
#define FLOAT_OF_F32(b) f16_of_f32(b)
#define FLOAT_OF_F64(b) f16_of_f64(b)
#elif ITEM_BYTES == 4
#define FLOAT_OF(n) bits_of((float)(n))
#define FLOAT_OF_F32(b) (b)
#define FLOAT_OF_F64(b) f32_of_f64(b)
#elif ITEM_BYTES == 8
#define FLOAT_OF_SIGNED(n) f64_of_i64((i64)(n))
#define FLOAT_OF_UNSIGNED(n) f64_of_u64((u64)(n))
#define FLOAT_OF_F32(b) f64_of_f32(b)
#define FLOAT_OF_F64(b) (b)
#define COMPLEX_OF(n) ((u64)bits_of((float)(n)))
#define COMPLEX_OF_F32(b) ((u64)(b))
#define COMPLEX_OF_F64(b) ((u64)f32_of_f64(b))
#elif ITEM_BYTES == 16
#define COMPLEX_OF_SIGNED(n) ((u64x2)(f64_of_i64((i64)(n)), 0))
#define COMPLEX_OF_UNSIGNED(n) ((u64x2)(f64_of_u64((u64)(n)), 0))
#define COMPLEX_OF_F32(b) ((u64x2)(f64_of_f32(b), 0))
#define COMPLEX_OF_F64(b) ((u64x2)(b, 0))
#endif
#ifdef FLOAT_OF
#define FLOAT_OF_SIGNED(n) FLOAT_OF(n)
#define FLOAT_OF_UNSIGNED(n) FLOAT_OF(n)
#endif
#ifdef COMPLEX_OF
#define COMPLEX_OF_SIGNED(n) COMPLEX_OF(n)
#define COMPLEX_OF_UNSIGNED(n) COMPLEX_OF(n)
#endif

#if FROM_BYTES == 1
#define SIGNED_FROM(f) ((i32)(i8)(f))
#define UNSIGNED_FROM(f) (f)
#define BOOLEAN_FROM(f) ((u32)((f) != 0))
#elif FROM_BYTES == 2
#define SIGNED_FROM(f) ((i32)(i16)(f))
#define UNSIGNED_FROM(f) (f)
#define F32_FROM(f) f32_of_f16(f)
#define IS_ZERO_FLOAT(f) (((f) & 0x7fff) == 0)
#elif FROM_BYTES == 4
#define SIGNED_FROM(f) ((i32)(f))
#define UNSIGNED_FROM(f) (f)
#define F32_FROM(f) (f)
#define IS_ZERO_FLOAT(f) (((f) & 0x7fffffff) == 0)
#elif FROM_BYTES == 8
#define SIGNED_FROM(f) ((i64)(f))
#define UNSIGNED_FROM(f) (f)
#define F64_FROM(f) (f)
#define IS_ZERO_FLOAT(f) (((f) & 0x7fffffffffffffff) == 0)
#define IS_ZERO_COMPLEX(f) (((f) & 0x7fffffff7fffffff) == 0)
#else
#define IS_ZERO_COMPLEX(f) ((((f).x | (f).y) & 0x7fffffffffffffff) == 0)
#endif

// Casts elements in registers; how many is known to the compiler. The pair of dtypes is the same for all work-items. Integers of both signs that become integers
// are SIGNED, if they get no longer or are signed; else UNSIGNED to SIGNED.
#define EACH(from_class, to_class, expression) EACH_OF(PAIR(from_class, to_class), expression)
#define EACH_OF(number, expression) \
    case number:                    \
        LOOP(expression)            \
        break;
#define LOOP(expression)                              \
    _Pragma("unroll") for (u32 e = 0; e < count; e++) \
    {                                                 \
        From f = from[e];                             \
        to[e] = (To)(expression);                     \
    }

// A cast from or to 8 bits. A GPU reaches the speed of its memory only where the compiler knows the format.
#ifdef __NVPTX__
#define EACH_OF_FORMAT(number, cast) \
    case number:                     \
        if (format == E4M3FN) {      \
            LOOP(cast(f, E4M3FN))    \
        } else if (format == E5M2) { \
            LOOP(cast(f, E5M2))      \
        } else {                     \
            LOOP(cast(f, format))    \
        }                            \
        break;
#else
#define EACH_OF_FORMAT(number, cast) EACH_OF(number, cast(f, format))
#endif

// The same for a pair with narrow numbers. Two casts that differ at one end are one loop, which keeps the modules small.
#if FROM_BYTES + ITEM_BYTES > 2 && FROM_BYTES + ITEM_BYTES <= 6
#define IS_NARROW(pair) (((pair) & 0xff) >= FROM_NARROW)
__attribute__((always_inline)) static inline void convert_narrow(u32 pair, const From *from, To *to, u32 count)
{
    __attribute__((unused)) u32 number = pair & 0xff, format = pair >> 8;
    switch (number) {
#if FROM_BYTES == 1 && ITEM_BYTES == 2
    case BOTH_NARROW:
        EACH_OF(FROM_NARROW, float_of_two_bytes(f32_of_f8(f, format), number == BOTH_NARROW))
#elif FROM_BYTES == 1 && ITEM_BYTES == 4
        EACH_OF_FORMAT(FROM_NARROW, f32_of_f8)
#elif FROM_BYTES == 2 && ITEM_BYTES == 1
    case BOTH_NARROW:
        EACH_OF(TO_NARROW, f8_of_f32(f32_of_two_bytes(f, number == BOTH_NARROW), format))
#elif FROM_BYTES == 2 && ITEM_BYTES == 2
        EACH_OF(FROM_NARROW, f16_of_f32(f32_of_bf16(f)))
        EACH_OF(TO_NARROW, bf16_of_f32(f32_of_f16(f)))
#elif FROM_BYTES == 2 && ITEM_BYTES == 4
        EACH_OF(FROM_NARROW, f << 16)
#elif FROM_BYTES == 4 && ITEM_BYTES == 1
        EACH_OF_FORMAT(TO_NARROW, f8_of_f32)
#elif FROM_BYTES == 4 && ITEM_BYTES == 2
        EACH_OF(TO_NARROW, bf16_of_f32(f))
#endif
    default:
        _Pragma("unroll") for (u32 e = 0; e < count; e++) to[e] = (To)(0);
        break;
    }
}
#else
#define IS_NARROW(pair) false
#define convert_narrow convert
#endif

__attribute__((always_inline)) static inline void convert(u32 pair, const From *from, To *to, u32 count)
{
    switch (pair) {
    // Whole numbers and truth values
#if FROM_BYTES <= 8
#if ITEM_BYTES == 1
        EACH(SIGNED, BOOLEAN, f != 0)
#if FROM_BYTES > 1
        EACH(FLOAT, BOOLEAN, !IS_ZERO_FLOAT(f))
#endif
#endif
#if ITEM_BYTES <= 8
        EACH(SIGNED, SIGNED, INTEGER_OF(SIGNED_FROM(f)))
#if ITEM_BYTES > FROM_BYTES
        EACH(UNSIGNED, SIGNED, INTEGER_OF(UNSIGNED_FROM(f)))
#endif
#if FROM_BYTES == 1
        EACH(BOOLEAN, SIGNED, INTEGER_OF(BOOLEAN_FROM(f)))
#endif
#endif
#if ITEM_BYTES == 2 || ITEM_BYTES == 4 || ITEM_BYTES == 8
        EACH(SIGNED, FLOAT, FLOAT_OF_SIGNED(SIGNED_FROM(f)))
        EACH(UNSIGNED, FLOAT, FLOAT_OF_UNSIGNED(UNSIGNED_FROM(f)))
#if FROM_BYTES == 1
        EACH(BOOLEAN, FLOAT, FLOAT_OF_UNSIGNED(BOOLEAN_FROM(f)))
#endif
#endif
#if ITEM_BYTES >= 8
        EACH(SIGNED, COMPLEX, COMPLEX_OF_SIGNED(SIGNED_FROM(f)))
        EACH(UNSIGNED, COMPLEX, COMPLEX_OF_UNSIGNED(UNSIGNED_FROM(f)))
#if FROM_BYTES == 1
        EACH(BOOLEAN, COMPLEX, COMPLEX_OF_UNSIGNED(BOOLEAN_FROM(f)))
#endif
#endif
#endif
    // Binary16 and binary32
#if FROM_BYTES == 2 || FROM_BYTES == 4
#if ITEM_BYTES <= 8
        EACH(FLOAT, SIGNED, SIGNED_OF_F32(float_of(F32_FROM(f))))
        EACH(FLOAT, UNSIGNED, UNSIGNED_OF_F32(float_of(F32_FROM(f))))
#endif
#if (ITEM_BYTES == 2 || ITEM_BYTES == 4 || ITEM_BYTES == 8) && ITEM_BYTES != FROM_BYTES
        EACH(FLOAT, FLOAT, FLOAT_OF_F32(F32_FROM(f)))
#endif
#if ITEM_BYTES >= 8
        EACH(FLOAT, COMPLEX, COMPLEX_OF_F32(F32_FROM(f)))
#endif
#endif
    // Binary64 and pairs of binary32
#if FROM_BYTES == 8
#if ITEM_BYTES == 1
        EACH(COMPLEX, BOOLEAN, !IS_ZERO_COMPLEX(f))
#endif
#if ITEM_BYTES <= 8
        EACH(FLOAT, SIGNED, SIGNED_OF_F64(f))
        EACH(FLOAT, UNSIGNED, UNSIGNED_OF_F64(f))
        EACH(COMPLEX, SIGNED, SIGNED_OF_F32(float_of((u32)f)))
        EACH(COMPLEX, UNSIGNED, UNSIGNED_OF_F32(float_of((u32)f)))
#endif
#if ITEM_BYTES == 2 || ITEM_BYTES == 4
        EACH(FLOAT, FLOAT, FLOAT_OF_F64(f))
#endif
#if ITEM_BYTES == 2 || ITEM_BYTES == 4 || ITEM_BYTES == 8
        EACH(COMPLEX, FLOAT, FLOAT_OF_F32((u32)f))
#endif
#if ITEM_BYTES >= 8
        EACH(FLOAT, COMPLEX, COMPLEX_OF_F64(f))
#endif
#if ITEM_BYTES == 16
        EACH(COMPLEX, COMPLEX, (u64x2)(f64_of_f32((u32)f), f64_of_f32((u32)(f >> 32))))
#endif
#endif
    // Pairs of binary64
#if FROM_BYTES == 16
#if ITEM_BYTES == 1
        EACH(COMPLEX, BOOLEAN, !IS_ZERO_COMPLEX(f))
#endif
        EACH(COMPLEX, SIGNED, SIGNED_OF_F64(f.x))
        EACH(COMPLEX, UNSIGNED, UNSIGNED_OF_F64(f.x))
#if ITEM_BYTES >= 2
        EACH(COMPLEX, FLOAT, FLOAT_OF_F64(f.x))
#endif
#if ITEM_BYTES == 8
        EACH(COMPLEX, COMPLEX, (u64)f32_of_f64(f.x) | (u64)f32_of_f64(f.y) << 32)
#endif
#endif
    default:
        _Pragma("unroll") for (u32 e = 0; e < count; e++) to[e] = (To)(0);
        break;
    }
}

#if FROM_BYTES == 1 && ITEM_BYTES == 1
// All casts between dtypes of one byte: 1 for each byte that is not 0.
static inline u32x4 convert_bytes(u32x4 v) { return (((v & 0x7f7f7f7f) + 0x7f7f7f7f) | v) >> 7 & 0x01010101; }
#endif

#endif
