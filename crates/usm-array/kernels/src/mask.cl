// What a mask selects: how many elements, their places, or the elements themselves.
//
// A mask is bytes side by side. Each work-group has `per_group` of them, whole tiles, of which a work-item takes ITEM_MASK at a time.

#include "elements.h"

#define ITEMS 256
#define ITEM_MASK 16
#define TILE (ITEMS * ITEM_MASK)

// Counts of as many work-items are summed up by one.
#define ROW 16
#define ROWS (ITEMS / ROW)

// What becomes of the places, as in `usm-array/src/index/mask.rs`.
#define PLACES 0
#define GATHER 1
#define SCATTER 2
#define FILL 3

// A bit for each of four bytes that is not zero.
static inline u32 bits_of_word(u32 word)
{
    // The highest bits of bytes, which no carry reaches, and then side by side: no two of the products' bits meet.
    u32 highest = (((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) >> 7 & 0x01010101;
    return highest * 0x00204081 >> 21 & 0xf;
}

// A bit for each of the bytes from `at` on that is not zero and one of the mask.
static inline u32 bits_of(global const u8 *mask, u64 at, u64 end)
{
    u32 bits = 0;
    if (at + ITEM_MASK <= end) {
        u32x4 words = *(global const u32x4 *)(mask + at);
        UNROLL for (u32 k = 0; k < 4; k++)
            bits |= bits_of_word(words[k]) << 4 * k;
        return bits;
    }
    for (u32 k = 0; at + k < end; k++)
        bits |= (u32)(mask[at + k] != 0) << k;
    return bits;
}

// How many work-items with lower numbers count, and how many all do.
static inline u32 scan(local u16 counts[ITEMS], local u16 rows[ROWS], u32 count, u32 *total)
{
    u32 sum = 0, before = 0;
    counts[LOCAL_ID] = (u16)count;
    BARRIER();
    if (LOCAL_ID < ROWS) {
        UNROLL for (u32 k = 0; k < ROW; k++) {
            u32 one = counts[LOCAL_ID * ROW + k];
            counts[LOCAL_ID * ROW + k] = (u16)sum;
            sum += one;
        }
        rows[LOCAL_ID] = (u16)sum;
    }
    BARRIER();
    sum = 0;
    UNROLL for (u32 k = 0; k < ROWS; k++) {
        before = k == LOCAL_ID / ROW ? sum : before;
        sum += rows[k];
    }
    *total = sum;
    return before + counts[LOCAL_ID];
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
    for (u64 at = first + LOCAL_ID * ITEM_MASK; at < end; at += BATCH * TILE) {
        u32 bits[BATCH];
        UNROLL for (u32 k = 0; k < BATCH; k++)
            bits[k] = bits_of(mask, at + k * TILE, end);
        UNROLL for (u32 k = 0; k < BATCH; k++)
            count += (u32)__builtin_popcount(bits[k]);
    }
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
typedef u64 Halves __attribute__((ext_vector_type(2), aligned(8)));

// Elements of a tile of the array, to or from values one after the other.
typedef struct {
    global u8 *values;
    i64 step;
    global u8 *array;
    i64 stride;
    u32 what;
    u64 low, high;
} Move;

// A work-item moves a batch of elements at a time. What lies beyond the last one is the first one of the batch once more.
#define MOVE(type, one)                                                                                             \
    for (u32 first = LOCAL_ID; first < allowed; first += BATCH * ITEMS) {                                           \
        i64 elements[BATCH], numbers[BATCH];                                                                        \
        type moved[BATCH];                                                                                          \
        UNROLL for (u32 k = 0; k < BATCH; k++) {                                                                    \
            u32 number = first + k * ITEMS;                                                                         \
            number = number < allowed ? number : first;                                                             \
            elements[k] = (i64)(tile + places[number]) * move.stride;                                               \
            numbers[k] = (i64)(before + number) * move.step;                                                        \
        }                                                                                                           \
        if (move.what == FILL) {                                                                                    \
            UNROLL for (u32 k = 0; k < BATCH; k++)                                                                  \
                ((global type *)move.array)[elements[k]] = one;                                                     \
        } else if (move.what == SCATTER) {                                                                          \
            UNROLL for (u32 k = 0; k < BATCH; k++)                                                                  \
                moved[k] = ((global const type *)move.values)[numbers[k]];                                          \
            UNROLL for (u32 k = 0; k < BATCH; k++)                                                                  \
                ((global type *)move.array)[elements[k]] = moved[k];                                                \
        } else {                                                                                                    \
            UNROLL for (u32 k = 0; k < BATCH; k++)                                                                  \
                moved[k] = ((global const type *)move.array)[elements[k]];                                          \
            UNROLL for (u32 k = 0; k < BATCH; k++)                                                                  \
                ((global type *)move.values)[numbers[k]] = moved[k];                                                \
        }                                                                                                           \
    }                                                                                                               \
    break;

// The places themselves, as numbers of so many bytes; or elements of the array at these places, to or from values one after the other.
// With `tells` the last group writes how many there are.
//
// Another library may change a mask of its own after it was counted. Then the values are wrong, but each group stays within those that were
// counted for it, or, where it is the only one, within the `capacity` of all; and all places lie within the mask. A fill has no values.
KERNEL_OF(ITEMS) select(
    global u8 *values, i64 step, u64 capacity, global u8 *array, i64 stride, u32 what, u32 bytes, u64 low, u64 high, u32 tells, global u64 *answer,
    global const u64 *counts, global const u8 *mask, u64 len, u64 per_group)
{
    local u16 sums[ITEMS], rows[ROWS];
    local u64 wide_sums[ITEMS];
    local u16 places[TILE];
    u64 first = (u64)GROUP_ID * per_group, end = first + per_group < len ? first + per_group : len;
    Move move = { values, step, array, stride, what, low, high };
    u64 before = what == FILL || GROUP_ID == 0 ? 0 : sum_of(wide_sums, counts, GROUP_ID);
    u64 limit = what == FILL ? len : NUM_GROUPS == 1 ? capacity : before + counts[GROUP_ID];
    for (u64 tile = first; tile < end; tile += TILE) {
        u32 bits = bits_of(mask, tile + LOCAL_ID * ITEM_MASK, end), total;
        u32 at = scan(sums, rows, (u32)__builtin_popcount(bits), &total);
        UNROLL for (u32 k = 0; k < ITEM_MASK; k++)
            if (bits >> k & 1)
                places[at++] = (u16)(LOCAL_ID * ITEM_MASK + k);
        BARRIER();
        u32 allowed = total <= limit - before ? total : (u32)(limit - before);
        if (what == PLACES) {
            for (u32 k = LOCAL_ID; k < allowed; k += ITEMS)
                store_one(values, bytes, before + k, tile + places[k]);
        } else {
            switch (bytes) {
            case 1:
                MOVE(u8, (u8)low)
            case 2:
                MOVE(u16, (u16)low)
            case 4:
                MOVE(u32, (u32)low)
            case 8:
                MOVE(u64, low)
            default:
                MOVE(Halves, ((Halves)(low, high)))
            }
        }
        before += allowed;
        BARRIER();
    }
    if (what == PLACES && NUM_GROUPS > 1) {
        for (u64 missing = before + LOCAL_ID; missing < limit; missing += ITEMS)
            store_one(values, bytes, missing, 0);
        before = limit;
    }
    if (tells && LOCAL_ID == 0 && GROUP_ID + 1 == NUM_GROUPS)
        *answer = before;
}
