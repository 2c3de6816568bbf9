// What a mask selects: how many elements, their places, or the elements themselves.
//
// A mask is bytes side by side. Each work-group has `per_group` of them, whole tiles, of which a work-item takes ITEM_MASK at a time.

#include "elements.h"

#define ITEMS 256
#define ITEM_MASK 16
#define TILE (ITEMS * ITEM_MASK)

// What becomes of the places, as in `src/index/mask.rs`.
#define PLACES 0
#define GATHER 1
#define SCATTER 2
#define FILL 3

// A bit for each of the bytes from `at` on that is not zero and one of the mask.
static inline u32 bits_of(global const u8 *mask, u64 at, u64 end)
{
    u32 bits = 0;
    if (at + ITEM_MASK <= end) {
        u32x4 words = *(global const u32x4 *)(mask + at);
        for (u32 k = 0; k < ITEM_MASK; k++)
            bits |= (u32)((words[k / 4] >> (k % 4 * 8) & 0xff) != 0) << k;
        return bits;
    }
    for (u32 k = 0; at + k < end; k++)
        bits |= (u32)(mask[at + k] != 0) << k;
    return bits;
}

// How many work-items with lower numbers count, and how many all do.
static inline u32 scan(local u32 sums[2][ITEMS], u32 count, u32 *total)
{
    u32 from = 0;
    sums[0][LOCAL_ID] = count;
    BARRIER();
    for (u32 step = 1; step < ITEMS; step *= 2) {
        u32 sum = sums[from][LOCAL_ID];
        if (LOCAL_ID >= step)
            sum += sums[from][LOCAL_ID - step];
        from ^= 1;
        sums[from][LOCAL_ID] = sum;
        BARRIER();
    }
    *total = sums[from][ITEMS - 1];
    return sums[from][LOCAL_ID] - count;
}

// The sum of numbers up to one of them, in all work-items.
static inline u64 sum_of(local u64 sums[ITEMS], global const u64 *numbers, u64 end)
{
    u64 sum = 0;
    for (u64 i = LOCAL_ID; i < end; i += ITEMS)
        sum += numbers[i];
    sums[LOCAL_ID] = sum;
    BARRIER();
    for (u32 step = ITEMS / 2; step > 0; step /= 2) {
        if (LOCAL_ID < step)
            sums[LOCAL_ID] += sums[LOCAL_ID + step];
        BARRIER();
    }
    return sums[0];
}

// How many each group has.
KERNEL_OF(ITEMS) count(global u64 *counts, global const u8 *mask, u64 len, u64 per_group)
{
    local u64 sums[ITEMS];
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < len ? first + per_group : len;
    u32 count = 0;
    for (u64 at = first + LOCAL_ID * ITEM_MASK; at < end; at += TILE)
        count += (u32)__builtin_popcount(bits_of(mask, at, end));
    sums[LOCAL_ID] = count;
    BARRIER();
    for (u32 step = ITEMS / 2; step > 0; step /= 2) {
        if (LOCAL_ID < step)
            sums[LOCAL_ID] += sums[LOCAL_ID + step];
        BARRIER();
    }
    if (LOCAL_ID == 0)
        counts[GROUP_ID] = sums[0];
}

// One group: how many all of them have.
KERNEL_OF(ITEMS) total(global u64 *total, global const u64 *counts, u64 groups)
{
    local u64 sums[ITEMS];
    u64 sum = sum_of(sums, counts, groups);
    if (LOCAL_ID == 0)
        *total = sum;
}

// Aligned as its halves are.
typedef struct {
    u64 low, high;
} Halves;

#define MOVE(type)                                                                                                      \
    {                                                                                                                   \
        global type *element = (global type *)array + place * stride, *value = (global type *)values + number * step;   \
        if (what == SCATTER)                                                                                            \
            *element = *value;                                                                                          \
        else                                                                                                            \
            *value = *element;                                                                                          \
    }                                                                                                                   \
    break;

static inline void move(
    u32 what, u32 bytes, global u8 *values, i64 number, i64 step, global u8 *array, i64 place, i64 stride, u64 low, u64 high)
{
    if (what == PLACES) {
        store_one(values, bytes, (u64)number, (u64)place);
        return;
    }
    if (what == FILL) {
        if (bytes == 16)
            ((global Halves *)array)[place * stride] = (Halves) { low, high };
        else
            store_one(array, bytes, (u64)(place * stride), low);
        return;
    }
    switch (bytes) {
    case 1:
        MOVE(u8)
    case 2:
        MOVE(u16)
    case 4:
        MOVE(u32)
    case 8:
        MOVE(u64)
    default:
        MOVE(Halves)
    }
}

// The places themselves, as numbers of so many bytes; or elements of the array at these places, to or from values one after the other.
KERNEL_OF(ITEMS) select(
    global u8 *values, i64 step, global u8 *array, i64 stride, u32 what, u32 bytes, u64 low, u64 high, global const u64 *counts,
    global const u8 *mask, u64 len, u64 per_group)
{
    local u32 sums[2][ITEMS];
    local u64 wide_sums[ITEMS];
    local u16 places[TILE];
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < len ? first + per_group : len;
    u64 number = what == FILL ? 0 : sum_of(wide_sums, counts, GROUP_ID);
    for (u64 tile = first; tile < end; tile += TILE) {
        u32 bits = bits_of(mask, tile + LOCAL_ID * ITEM_MASK, end), total;
        u32 at = scan(sums, (u32)__builtin_popcount(bits), &total);
        for (u32 k = 0; k < ITEM_MASK; k++)
            if (bits >> k & 1)
                places[at++] = (u16)(LOCAL_ID * ITEM_MASK + k);
        BARRIER();
        for (u32 k = LOCAL_ID; k < total; k += ITEMS)
            move(what, bytes, values, (i64)(number + k), step, array, (i64)(tile + places[k]), stride, low, high);
        number += total;
        BARRIER();
    }
}
