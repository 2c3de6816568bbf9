// New elements: numbers by the formulas of the host, and triangles of matrices.

#include "elements.h"

#define EACH                                                                                        \
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < count ? first + per_group : count; \
    for (u64 i = first + LOCAL_ID; i < end; i += LOCAL_SIZE)

// The lowest bytes of `start + quotient i + floor(remainder i / steps)`, with products below 2^64.
KERNEL integers(
    global u8 *results, u32 size, u64 start, u64 quotient, u64 remainder, u64 steps, u64 count, u64 per_group)
{
    EACH
    {
        u64 above = remainder ? remainder * i / steps : 0;
        store_one(results, size, i, start + quotient * i + above);
    }
}

// The points of a line: as `Line` in `usm-array/src/create/linspace.rs`.
static inline double point_of(u64 number, double start, double stop, double steps, double step, u32 has_step, double end)
{
    double i = (double)number;
    if (i == end)
        return stop;
    if (has_step)
        return i * step + start;
    double part = i / steps, distance = stop - start;
    if (part == 0.0)
        return start;
    if ((AS_BITS(distance) & 0x7ffUL << 52) != 0x7ffUL << 52)
        return part * distance + start;
    return start * (1.0 - part) + stop * part;
}

#define LINE(l) u64 l##_start, u64 l##_stop, u64 l##_steps, u64 l##_step, u32 l##_has_step, u64 l##_end
#define POINT(l)                                                                                             \
    point_of(i, AS_DOUBLE(l##_start), AS_DOUBLE(l##_stop), AS_DOUBLE(l##_steps), AS_DOUBLE(l##_step), l##_has_step, AS_DOUBLE(l##_end))

KERNEL points(global u8 *results, u32 dtype, LINE(re), LINE(im), u64 count, u64 per_group)
{
    u32 size = SIZE_OF(dtype);
    EACH
    {
        double re = POINT(re);
        if (KIND_OF(dtype) != REAL) {
            // Integers are rounded down; they are between those of 64 bits.
            double whole = __builtin_floor(re);
            store_one(results, size, i, whole >= 9223372036854775808.0 ? (u64)whole : (u64)(i64)whole);
        } else if (PARTS_OF(dtype) == 1) {
            store_one(results, size, i, narrow(AS_BITS(re), dtype));
        } else {
            store_one(results, size, 2 * i, narrow(AS_BITS(re), dtype));
            store_one(results, size, 2 * i + 1, narrow(AS_BITS(POINT(im)), dtype));
        }
    }
}

// Matrices side by side: elements on one side of a diagonal and on it, zeros on the other. Elements are `parts` of so many bytes.
KERNEL triangle(
    global u8 *results, global const u8 *array, u32 size, u32 parts, u64 rows, u64 columns, i64 diagonal, u32 lower, u64 count,
    u64 per_group, u32 rank, LOOPS(n))
{
    local Loop loops[MAX_RANK];
    KEEP_SEVERAL(loops, n, rank)
    EACH
    {
        u64 rest = i;
        i64 column = (i64)digit(&rest, columns), row = (i64)digit(&rest, rows), at = 0, none = 0;
        bool stays = lower ? column - row <= diagonal : column - row >= diagonal;
        displace(loops, LOOP(n, 0), rank, i, &at, &none);
        for (u32 part = 0; part < parts; part++)
            store_one(results, size, i * parts + part, stays ? load_one(array, size, at * parts + part) : 0);
    }
}

// Elements of an array, or one value, where a condition holds; the others stay.
KERNEL choose(
    global u8 *results, global const u8 *condition, global const u8 *array, u32 size, u32 parts, u32 is_one, u64 low, u64 high,
    u64 count, u64 per_group, u32 rank, LOOPS(n))
{
    local Loop loops[MAX_RANK];
    KEEP_SEVERAL(loops, n, rank)
    EACH
    {
        i64 holds = 0, at = 0;
        displace(loops, LOOP(n, 0), rank, i, &holds, &at);
        if (condition[holds])
            for (u32 part = 0; part < parts; part++)
                store_one(results, size, i * parts + part,
                    is_one ? (part ? high : low) : load_one(array, size, at * parts + part));
    }
}
