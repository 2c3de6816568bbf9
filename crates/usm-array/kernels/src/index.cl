// Places that index arrays name: checked, put together, counted, and found by masks.

#include "elements.h"
#include "place.h"

// Whether there are integers that the axis does not have, the first flag, and with `marks` whether two of them name the same place, the
// second one: that needs `seen`, a bit for each place. Flags and bits are 0. The host gets the flags, too, in `answer`.
KERNEL check(
    global const u8 *index, u32 dtype, u32 mode, i64 size, u64 count, u64 per_group, global u64 *answer,
    u32 marks, global u64 *flags, global u32 *seen)
{
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < count ? first + per_group : count;
    for (u64 i = first + LOCAL_ID; i < end; i += BATCH * LOCAL_SIZE) {
        i64 numbers[BATCH];
        u64 bits[BATCH];
        UNROLL for (u32 k = 0; k < BATCH; k++)
            numbers[k] = (i64)(i + k * LOCAL_SIZE < end ? i + k * LOCAL_SIZE : i);
        load(bits, index, SIZE_OF(dtype), numbers);
        UNROLL for (u32 k = 0; k < BATCH; k++) {
            i64 place = place_of(bits[k], dtype, mode, size);
            u32 bit = 1u << (place & 31);
            if (place < 0)
                answer[0] = flags[0] = 1;
            else if (marks && (k == 0 || numbers[k] != (i64)i) && (__atomic_fetch_or(seen + (place >> 5), bit, __ATOMIC_RELAXED) & bit))
                answer[1] = flags[1] = 1;
        }
    }
}

// Which of the integers that name a place is the last one, counted from 1: `owners` has a number for each place, all of them 0.
KERNEL own(
    global const u8 *index, u32 dtype, u32 mode, i64 size, u64 count, u64 per_group, global u32 *owners)
{
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < count ? first + per_group : count;
    for (u64 i = first + LOCAL_ID; i < end; i += LOCAL_SIZE) {
        i64 place = place_of(load_one(index, SIZE_OF(dtype), (i64)i), dtype, mode, size);
        if (place >= 0)
            __atomic_fetch_max(owners + place, (u32)(i + 1), __ATOMIC_RELAXED);
    }
}

// Displacements of elements, one after the other: `base`, or what is there already, with a displacement of the loops `n` in `a`, and with
// that of the place that the integer at their displacement in `q` names; `m` and `d` are the axes that this is a place of.
KERNEL combine(
    global i64 *displacements, u32 adds, i64 base, global const u8 *index, u32 dtype, u32 mode, i64 size, global u64 *flags,
    u64 count, u64 per_group, u32 rank, LOOPS(n), u32 axes, LOOPS(m))
{
    local Loop loops[MAX_RANK], places[MAX_RANK];
    KEEP_SEVERAL(loops, n, rank)
    KEEP_SEVERAL(places, m, axes)
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < count ? first + per_group : count;
    for (u64 i = first + LOCAL_ID; i < end; i += LOCAL_SIZE) {
        i64 sum = adds ? displacements[i] : base, at = 0, none = 0;
        displace(loops, LOOP(n, 0), rank, i, &sum, &at);
        i64 place = place_of(load_one(index, SIZE_OF(dtype), at), dtype, mode, size);
        if (place < 0) {
            flags[0] = 1;
            place = 0;
        }
        if (size)
            displace(places, LOOP(m, 0), axes, (u64)place, &sum, &none);
        displacements[i] = sum;
    }
}

// The index along one axis of places that are counted in row-major order.
KERNEL unravel(
    global i64 *indices, i64 step, global const u8 *index, u32 dtype, u64 inner, u64 size, u64 count, u64 per_group)
{
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < count ? first + per_group : count;
    for (u64 i = first + LOCAL_ID; i < end; i += LOCAL_SIZE)
        indices[(i64)i * step] = (i64)(load_one(index, SIZE_OF(dtype), (i64)i) / inner % size);
}
