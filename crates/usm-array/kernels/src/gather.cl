// Elements picked from an array, or written to it, along a nest of loops. One of the loops is over integers: its step is the place that
// the next integer names. Elements are moved as bits. Rows of several elements are moved as larger ones.
//
// A work-item moves BATCH elements: all their integers are on their way at the same time, and then all the elements.

#include "place.h"

#if ITEM_BYTES == 16
typedef u32x4 Unit;
#else
typedef Element Unit;
#endif

// Where a batch of elements is: in the array but for what the integers say, in the values, and which integers these are.
typedef struct {
    i64 at[BATCH], value[BATCH], number[BATCH];
} Spots;

// The element with a number in up to two loops, which is below 2^32.
static inline void find_flat(Spots *spots, u32 k, u32 number, u32 picked, Loop inner, Loop outer)
{
    u32 far = number / (u32)inner.count, near = number - far * (u32)inner.count;
    spots->value[k] = near * inner.b + far * outer.b;
    spots->at[k] = picked ? near * inner.a : far * outer.a;
    spots->number[k] = picked ? far : near;
}

static inline void find(Spots *spots, u32 k, u64 number, u32 picked, u32 rank, local const Loop *loops)
{
    i64 at = 0, value = 0;
    for (u32 n = 0; n < rank; n++) {
        i64 step = n + 1 < rank ? (i64)digit(&number, (u64)loops[n].count) : (i64)number;
        value += step * loops[n].b;
        if (n == picked)
            spots->number[k] = step;
        else
            at += step * loops[n].a;
    }
    spots->at[k] = at;
    spots->value[k] = value;
}

// Numbers beyond the last one of a group stand for the first one of their batch: then that element is moved again.
#define WALK(use)                                                                                                   \
    local Loop loops[MAX_RANK];                                                                                     \
    bool is_flat = rank <= 2 && count <= 0xffffffff;                                                                \
    KEEP_LOOPS(loops, n, !is_flat)                                                                                  \
    i64 stride = !is_flat ? loops[picked].a : picked ? n_a1 : n_a0;                                                 \
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < count ? first + per_group : count;             \
    for (u64 i = first + LOCAL_ID; i < end; i += BATCH * LOCAL_SIZE) {                                              \
        Spots spots;                                                                                                \
        u64 bits[BATCH];                                                                                            \
        i64 places[BATCH];                                                                                          \
        u64 ones[BATCH];                                                                                            \
        UNROLL for (u32 k = 0; k < BATCH; k++)                                                                      \
            ones[k] = i + k * LOCAL_SIZE < end ? i + k * LOCAL_SIZE : i;                                            \
        if (is_flat) {                                                                                              \
            UNROLL for (u32 k = 0; k < BATCH; k++)                                                                  \
                find_flat(&spots, k, (u32)ones[k], picked, LOOP(n, 0), LOOP(n, 1));                                 \
        } else {                                                                                                    \
            UNROLL for (u32 k = 0; k < BATCH; k++)                                                                  \
                find(&spots, k, ones[k], picked, rank, loops);                                                      \
        }                                                                                                           \
        load(bits, index, SIZE_OF(dtype), spots.number);                                                            \
        bool is_inside = true;                                                                                      \
        UNROLL for (u32 k = 0; k < BATCH; k++) {                                                                    \
            places[k] = place_of(bits[k], dtype, mode, size);                                                       \
            is_inside &= places[k] >= 0;                                                                            \
            spots.at[k] += places[k] * stride;                                                                      \
        }                                                                                                           \
        Unit units[BATCH];                                                                                          \
        use                                                                                                         \
    }

// The values are side by side. With an integer that names no place nothing of its batch is read, and the answer is not 0: nobody looks at
// the values.
KERNEL gather(
    global Unit *values, global const Unit *array, global const u8 *index, u32 dtype, u32 mode, i64 size, global u64 *answer,
    u64 count, u64 per_group, u32 picked, u32 rank, LOOPS(n))
{
    WALK({
        if (!is_inside) {
            answer[0] = 1;
            continue;
        }
        for (u32 k = 0; k < BATCH; k++)
            units[k] = array[spots.at[k]];
        for (u32 k = 0; k < BATCH; k++)
            values[ones[k]] = units[k];
    })
}

// With `checked` nothing is written if one of the `flags` of the kernel `check` is set. With `owned` only the last one of the integers that
// name a place writes. With `fills` there is one value, given by its bits.
KERNEL scatter(
    global const Unit *values, global Unit *array, global const u8 *index, u32 dtype, u32 mode, i64 size,
    u32 checked, global const u64 *flags, u32 owned, global const u32 *owners, u32 fills, u64 low, u64 high,
    u64 count, u64 per_group, u32 picked, u32 rank, LOOPS(n))
{
#if ITEM_BYTES == 16
    Unit one = { (u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32) };
#else
    Unit one = (Unit)low;
    (void)high;
#endif
    if (checked && (flags[0] | flags[1]))
        return;
    WALK({
        // Only integers that have changed since they were checked.
        if (!is_inside)
            continue;
        for (u32 k = 0; k < BATCH; k++)
            units[k] = fills ? one : values[spots.value[k]];
        for (u32 k = 0; k < BATCH; k++)
            if (!owned || owners[places[k]] == (u32)spots.number[k] + 1)
                array[spots.at[k]] = units[k];
    })
}
