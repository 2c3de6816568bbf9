// Elements of any dtype as 64 bits, and where the elements of an array of any strides are.

#ifndef USM_ELEMENTS_H
#define USM_ELEMENTS_H

#include "dialect.h"

// A product and a sum are rounded each on its own, as on the host.
#pragma OPENCL FP_CONTRACT OFF

// Elements that a work-item loads one after the other before it uses the first one of them. Each makes a module longer, and the wheel has
// a limit, so SPIR-V has no batches.
#ifdef __NVPTX__
#define BATCH 4
#else
#define BATCH 1
#endif
// Before a loop over a batch: without it the batch is in memory, where loops around other loops leave it.
#define UNROLL _Pragma("unroll")

// The kinds of numbers. A complex number is two parts, one behind the other.
#define SIGNED 0
#define UNSIGNED 1
#define REAL 2

#define AS_DOUBLE(bits) __builtin_astype((u64)(bits), double)
#define AS_BITS(number) __builtin_astype((double)(number), u64)

// The size in bytes, the kind and the number of parts, as the host packs them.
#define SIZE_OF(dtype) ((dtype) & 0xff)
#define KIND_OF(dtype) ((dtype) >> 8 & 0xff)
#define PARTS_OF(dtype) ((dtype) >> 16)

// Loops from the innermost one on: the counts, and the steps of two operands. A kernel takes eight of them as numbers. Where there are
// several, it keeps them in local memory, where they can be counted.
#define MAX_RANK 8
typedef struct {
    i64 count, a, b;
} Loop;
#define ONE_LOOP(n, k) i64 n##k, i64 n##_a##k, i64 n##_b##k
#define LOOPS(n)                                                                                          \
    ONE_LOOP(n, 0), ONE_LOOP(n, 1), ONE_LOOP(n, 2), ONE_LOOP(n, 3), ONE_LOOP(n, 4), ONE_LOOP(n, 5),       \
        ONE_LOOP(n, 6), ONE_LOOP(n, 7)
#define LOOP(n, k) ((Loop) { n##k, n##_a##k, n##_b##k })
// All work-items wait here until they can see the loops. `wanted` is the same for all of them.
#define KEEP_LOOPS(to, n, wanted)                                                                          \
    if (wanted) {                                                                                         \
        if (LOCAL_ID == 0) {                                                                              \
            to[0] = LOOP(n, 0), to[1] = LOOP(n, 1), to[2] = LOOP(n, 2), to[3] = LOOP(n, 3);               \
            to[4] = LOOP(n, 4), to[5] = LOOP(n, 5), to[6] = LOOP(n, 6), to[7] = LOOP(n, 7);               \
        }                                                                                                 \
        BARRIER();                                                                                        \
    }
// The loops of `displace`.
#define KEEP_SEVERAL(to, n, rank) KEEP_LOOPS(to, n, rank > 1)

// The step of a loop, of the number that its inner loops left over, which becomes that of the outer ones.
static inline u64 digit(u64 *rest, u64 count)
{
    u64 number = *rest, outer;
    if ((number | count) >> 32)
        outer = number / count;
    else
        outer = (u32)number / (u32)count;
    *rest = outer;
    return number - outer * count;
}

// Displacements of the element with a number, in both operands. Up to one loop is `only`.
static inline void displace(local const Loop *loops, Loop only, u32 rank, u64 number, i64 *a, i64 *b)
{
    if (rank <= 1) {
        *a += (i64)number * only.a;
        *b += (i64)number * only.b;
        return;
    }
    u64 rest = number;
    for (u32 k = 0; k + 1 < rank; k++) {
        i64 at = (i64)digit(&rest, (u64)loops[k].count);
        *a += at * loops[k].a;
        *b += at * loops[k].b;
    }
    *a += (i64)rest * loops[rank - 1].a;
    *b += (i64)rest * loops[rank - 1].b;
}

// The bits of an element of so many bytes.
static inline u64 load_one(global const u8 *from, u32 size, i64 at)
{
    switch (size) {
    case 1:
        return from[at];
    case 2:
        return ((global const u16 *)from)[at];
    case 4:
        return ((global const u32 *)from)[at];
    default:
        return ((global const u64 *)from)[at];
    }
}

#define LOAD_AS(type)                                  \
    UNROLL for (u32 k = 0; k < BATCH; k++)             \
        bits[k] = ((global const type *)from)[at[k]];  \
    break;

// The bits of several elements, all on their way at the same time.
static inline void load(u64 bits[BATCH], global const u8 *from, u32 size, const i64 at[BATCH])
{
    switch (size) {
    case 1:
        LOAD_AS(u8)
    case 2:
        LOAD_AS(u16)
    case 4:
        LOAD_AS(u32)
    default:
        LOAD_AS(u64)
    }
}

static inline void store_one(global u8 *to, u32 size, u64 at, u64 bits)
{
    switch (size) {
    case 1:
        to[at] = (u8)bits;
        break;
    case 2:
        ((global u16 *)to)[at] = (u16)bits;
        break;
    case 4:
        ((global u32 *)to)[at] = (u32)bits;
        break;
    default:
        ((global u64 *)to)[at] = bits;
    }
}

// Half precision has no type here: devices without arithmetic for it have it in memory all the same.
static inline u64 double_of_half(u64 bits)
{
    u64 sign = bits >> 15 << 63, rest = bits & 0x7fff;
    if (rest >= 0x7c00) // infinite, or NaN
        return sign | 0x7ffUL << 52 | (rest & 0x3ff) << 42;
    // As the fraction of a number that is 2^1008 times smaller, which a product of powers of two makes right, subnormal or not.
    return sign | AS_BITS(AS_DOUBLE(rest << 42) * AS_DOUBLE((1023UL + 1008) << 52));
}

// Rounds to the nearest number, to the one with an even last bit if two are as near.
static inline u64 half_of_double(u64 bits)
{
    u64 sign = bits >> 63 << 15, rest = bits & ~(1UL << 63);
    if (rest > 0x7ffUL << 52)
        return sign | 0x7e00 | (rest >> 42 & 0x3ff);
    if (rest >= 0x40effe0000000000UL) // 65520, which is half way to what would be the next one
        return sign | 0x7c00;
    if (rest < 0x3f10000000000000UL) // 2^-14: multiples of 2^-24, which a sum with 2^52 rounds
        return sign | (u64)(AS_DOUBLE(rest) * 16777216.0 + 4503599627370496.0 - 4503599627370496.0);
    rest += (1UL << 41) - 1 + (rest >> 42 & 1);
    return sign | ((rest >> 42) - (1008 << 10));
}

// The bits of parts, which become those of numbers of 64 bits of their kind.
static inline void widen(u64 bits[BATCH], u32 dtype)
{
    u32 size = SIZE_OF(dtype), kind = KIND_OF(dtype), unused = 64 - 8 * size;
    if (kind == SIGNED) {
        UNROLL for (u32 k = 0; k < BATCH; k++)
            bits[k] = (u64)((i64)(bits[k] << unused) >> unused);
    } else if (kind == REAL && size == 4) {
        UNROLL for (u32 k = 0; k < BATCH; k++)
            bits[k] = AS_BITS(__builtin_astype((u32)bits[k], float));
    } else if (kind == REAL && size == 2) {
        UNROLL for (u32 k = 0; k < BATCH; k++)
            bits[k] = double_of_half(bits[k]);
    }
}

// The bits of a number of 64 bits in its dtype. Of integers the lowest ones are left.
static inline u64 narrow(u64 bits, u32 dtype)
{
    if (KIND_OF(dtype) != REAL || SIZE_OF(dtype) == 8)
        return bits;
    return SIZE_OF(dtype) == 4 ? __builtin_astype((float)AS_DOUBLE(bits), u32) : half_of_double(bits);
}

// Whether a part is not zero. The sign of a zero does not count.
static inline bool is_true(u64 bits, u32 dtype)
{
    return KIND_OF(dtype) == REAL ? (bits & ~(1UL << (8 * SIZE_OF(dtype) - 1))) != 0 : bits != 0;
}

#endif
