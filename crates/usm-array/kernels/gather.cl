// Elements picked from an array, or written to it, along a nest of loops. One of the loops is over integers: its step is the place that
// the next integer names. Elements are moved as bits. Rows of several elements are moved as larger ones.

#include "place.h"

#if ITEM_BYTES == 16
typedef u32x4 Unit;
#else
typedef Element Unit;
#endif

// An integer that names no place sets the flag; of such a place nothing is read or written.
#define WALK(use)                                                                                                   \
    local Loop loops[MAX_RANK];                                                                                     \
    KEEP_LOOPS(loops, n)                                                                                      \
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < count ? first + per_group : count;             \
    for (u64 i = first + LOCAL_ID; i < end; i += LOCAL_SIZE) {                                                      \
        i64 at = 0, value = 0, number = 0;                                                                          \
        u64 rest = i;                                                                                               \
        for (u32 k = 0; k < rank; k++) {                                                                            \
            i64 step = k + 1 < rank ? (i64)digit(&rest, (u64)loops[k].count) : (i64)rest;                           \
            value += step * loops[k].b;                                                                             \
            if (k == picked) {                                                                                      \
                number = step;                                                                                      \
                step = place_of(load_one(index, SIZE_OF(dtype), step), dtype, mode, size);                          \
            }                                                                                                       \
            at = step < 0 ? NOWHERE : at + step * loops[k].a;                                                       \
            if (step < 0)                                                                                           \
                break;                                                                                              \
        }                                                                                                           \
        use                                                                                                         \
    }

#define NOWHERE ((i64)1 << 63)

KERNEL gather(
    global Unit *values, global const Unit *array, global const u8 *index, u32 dtype, u32 mode, i64 size, global u64 *flags,
    u64 count, u64 per_group, u32 picked, u32 rank, LOOPS(n))
{
    WALK({
        (void)number;
        if (at == NOWHERE)
            flags[0] = 1;
        else
            values[value] = array[at];
    })
}

// With `owned` only the last one of the integers that name a place writes. With `fills` there is one value, given by its bits.
KERNEL scatter(
    global const Unit *values, global Unit *array, global const u8 *index, u32 dtype, u32 mode, i64 size,
    u32 owned, global const u32 *owners, u32 fills, u64 low, u64 high, u64 count, u64 per_group, u32 picked, u32 rank, LOOPS(n))
{
#if ITEM_BYTES == 16
    Unit one = { (u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32) };
#else
    Unit one = (Unit)low;
    (void)high;
#endif
    WALK({
        if (at == NOWHERE)
            continue;
        if (owned) {
            i64 place = place_of(load_one(index, SIZE_OF(dtype), number), dtype, mode, size);
            if (owners[place] != (u32)number + 1)
                continue;
        }
        array[at] = fills ? one : values[value];
    })
}
