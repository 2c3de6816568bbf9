// One boolean for each element, or for each pair of elements: comparisons by value, logic, classes of numbers, closeness.

#include "elements.h"

// What is asked, as in `usm-array/src/ops/by_kernels.rs`.
#define RELATION 0
#define LOGIC 1
#define IS_NAN 2
#define IS_INFINITE 3
#define IS_FINITE 4
#define HAS_SIGN 5
#define IS_CLOSE 6

// How the first number is to the second one, as a set of one: a relation is the set of those for which it holds.
#define LESS 1
#define EQUAL 2
#define GREATER 4
#define NEITHER 8

static inline u32 order_of_reals(double a, double b)
{
    return a < b ? LESS : a > b ? GREATER : a == b ? EQUAL : NEITHER;
}

// Without rounding the integer.
static inline u32 order_beside_real(u64 a, bool is_signed, double b)
{
    double below = is_signed ? -9223372036854775808.0 : 0.0, above = is_signed ? 9223372036854775808.0 : 18446744073709551616.0;
    if (!(b == b))
        return NEITHER;
    if (b >= above)
        return LESS;
    if (b < below)
        return GREATER;
    // Inside the integers, so this drops the fraction and nothing else.
    u64 whole = is_signed ? (u64)(i64)b : (u64)b;
    if (a != whole)
        return (is_signed ? (i64)a < (i64)whole : a < whole) ? LESS : GREATER;
    double fraction = b - (is_signed ? (double)(i64)whole : (double)whole);
    return order_of_reals(0.0, fraction);
}

// Two numbers that are not both real.
static inline u32 order(u64 a, u32 a_kind, u64 b, u32 b_kind)
{
    if (b_kind == REAL)
        return order_beside_real(a, a_kind == SIGNED, AS_DOUBLE(b));
    if (a_kind == REAL) {
        u32 reverse = order_beside_real(b, b_kind == SIGNED, AS_DOUBLE(a));
        return reverse == LESS ? GREATER : reverse == GREATER ? LESS : reverse;
    }
    bool a_below = a_kind == SIGNED && (i64)a < 0, b_below = b_kind == SIGNED && (i64)b < 0;
    if (a_below != b_below)
        return a_below ? LESS : GREATER;
    return a < b ? LESS : a > b ? GREATER : EQUAL;
}

static inline double real_of(u64 bits, u32 kind)
{
    return kind == REAL ? AS_DOUBLE(bits) : kind == SIGNED ? (double)(i64)bits : (double)bits;
}

// How numbers of two kinds are to each other. Parts of complex numbers are compared as real numbers.
static inline void orders(u32 found[BATCH], const u64 a[BATCH], u32 a_kind, const u64 b[BATCH], u32 b_kind, u32 parts)
{
    if (a_kind == REAL && b_kind == REAL) {
        UNROLL for (u32 k = 0; k < BATCH; k++)
            found[k] = order_of_reals(AS_DOUBLE(a[k]), AS_DOUBLE(b[k]));
    } else if (parts == 2) {
        UNROLL for (u32 k = 0; k < BATCH; k++)
            found[k] = order_of_reals(real_of(a[k], a_kind), real_of(b[k], b_kind));
    } else {
        UNROLL for (u32 k = 0; k < BATCH; k++)
            found[k] = order(a[k], a_kind, b[k], b_kind);
    }
}

#define EXPONENT (0x7ffUL << 52)

static inline bool is_close(double a, double b, u64 relative, u64 absolute, bool takes_nan)
{
    double far = a - b, limit = AS_DOUBLE(absolute) + AS_DOUBLE(relative) * (b < 0 ? -b : b);
    bool is_finite = (AS_BITS(b) & EXPONENT) != EXPONENT;
    return (is_finite && (far < 0 ? -far : far) <= limit) || a == b || (takes_nan && a != a && b != b);
}

// About one part of a number.
static inline bool has_class(u32 asked, u64 raw, u64 wide, u32 dtype)
{
    u64 size = wide & ~(1UL << 63);
    switch (asked) {
    case IS_NAN:
        return size > EXPONENT;
    case IS_INFINITE:
        return size == EXPONENT;
    case IS_FINITE:
        return size < EXPONENT;
    default:
        return raw >> (8 * SIZE_OF(dtype) - 1) & 1;
    }
}

// The second operand is an array, or with `is_one` one value, given by the bits of its parts. `answers` is a relation, or the results of
// an operation of two booleans by 2 a + b, or whether NaN is close to NaN.
KERNEL relate(
    global u8 *results, u32 asked, u32 answers, u64 relative, u64 absolute, global const u8 *a, u32 a_dtype, global const u8 *b,
    u32 b_dtype, u32 is_one, u64 one_re, u64 one_im, u64 count, u64 per_group, u32 rank, LOOPS(n))
{
    local Loop loops[MAX_RANK];
    KEEP_SEVERAL(loops, n, rank)
    u32 a_parts = PARTS_OF(a_dtype), b_parts = PARTS_OF(b_dtype), parts = a_parts > b_parts ? a_parts : b_parts;
    u32 a_kind = KIND_OF(a_dtype), b_kind = KIND_OF(b_dtype);
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < count ? first + per_group : count;
    // A work-item has the same elements for both parts of complex numbers: what it knows after the first part is in the results.
    for (u32 part = 0; part < parts; part++) {
        bool is_last = part + 1 == parts, has_a = part < a_parts, has_b = part < b_parts;
        for (u64 i = first + LOCAL_ID; i < end; i += (u64)BATCH * LOCAL_SIZE) {
            i64 a_at[BATCH], b_at[BATCH];
            u64 a_raw[BATCH], b_raw[BATCH], x[BATCH], y[BATCH];
            u32 known[BATCH];
            UNROLL for (u32 k = 0; k < BATCH; k++) {
                u64 number = i + (u64)k * LOCAL_SIZE;
                number = number < end ? number : i;
                a_at[k] = b_at[k] = 0;
                displace(loops, LOOP(n, 0), rank, number, &a_at[k], &b_at[k]);
                a_at[k] = a_at[k] * a_parts + part;
                b_at[k] = b_at[k] * b_parts + part;
                a_raw[k] = 0;
                b_raw[k] = part ? one_im : one_re;
                known[k] = part ? results[number] : 0;
            }
            if (has_a)
                load(a_raw, a, SIZE_OF(a_dtype), a_at);
            if (!is_one && has_b)
                load(b_raw, b, SIZE_OF(b_dtype), b_at);
            UNROLL for (u32 k = 0; k < BATCH; k++) {
                x[k] = a_raw[k];
                y[k] = b_raw[k] = has_b ? b_raw[k] : 0;
            }
            widen(x, a_dtype);
            widen(y, b_dtype);
            if (asked == RELATION) {
                u32 found[BATCH];
                orders(found, x, a_kind, y, b_kind, parts);
                // Complex numbers are equal if both parts are.
                bool is_other = parts == 2 && answers != EQUAL;
                UNROLL for (u32 k = 0; k < BATCH; k++) {
                    u32 holds = (found[k] & answers) != 0;
                    known[k] = part == 0 ? holds : is_other ? known[k] | holds : known[k] & holds;
                }
            } else if (asked == LOGIC) {
                UNROLL for (u32 k = 0; k < BATCH; k++) {
                    // A number is true if one of its parts is.
                    known[k] |= (u32)is_true(a_raw[k], a_dtype) << 1 | (u32)is_true(b_raw[k], b_dtype);
                    known[k] = is_last ? answers >> known[k] & 1 : known[k];
                }
            } else if (asked == IS_CLOSE) {
                UNROLL for (u32 k = 0; k < BATCH; k++)
                    known[k] = is_close(real_of(x[k], a_kind), real_of(y[k], b_kind), relative, absolute, answers);
            } else {
                UNROLL for (u32 k = 0; k < BATCH; k++) {
                    u32 holds = has_class(asked, a_raw[k], x[k], a_dtype);
                    known[k] = part == 0 ? holds : asked == IS_FINITE ? known[k] & holds : known[k] | holds;
                }
            }
            UNROLL for (u32 k = 0; k < BATCH; k++)
                if (i + (u64)k * LOCAL_SIZE < end)
                    results[i + (u64)k * LOCAL_SIZE] = known[k];
        }
    }
}
