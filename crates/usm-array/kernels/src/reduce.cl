// Many elements to one: sums, least and greatest ones, and by them counts, all and any.

#include "elements.h"

// As in `usm-array/src/ops/by_kernels.rs`.
#define SUM 0
#define REAL_SUM 1
#define LEAST_SIGNED 2
#define GREATEST_SIGNED 3
#define LEAST_UNSIGNED 4
#define GREATEST_UNSIGNED 5
#define LEAST_REAL 6
#define GREATEST_REAL 7

#define MAX_ITEMS 1024

// A part of a result, and of a sum of real numbers what it lost by rounding.
typedef struct {
    u64 value;
    double lost;
} Part;

static inline Part with(Part part, u32 operation, u64 value)
{
    double a = AS_DOUBLE(part.value), b = AS_DOUBLE(value), sum, added;
    bool takes;
    switch (operation) {
    case SUM:
        part.value += value;
        return part;
    case REAL_SUM:
        // Knuth, The Art of Computer Programming, volume 2, 4.2.2: exact unless something overflows.
        sum = a + b;
        added = sum - a;
        part.lost += (a - (sum - added)) + (b - added);
        part.value = AS_BITS(sum);
        return part;
    case LEAST_SIGNED:
        takes = (i64)value < (i64)part.value;
        break;
    case GREATEST_SIGNED:
        takes = (i64)value > (i64)part.value;
        break;
    case LEAST_UNSIGNED:
        takes = value < part.value;
        break;
    case GREATEST_UNSIGNED:
        takes = value > part.value;
        break;
    // A NaN is taken, and stays, since nothing is beyond it.
    case LEAST_REAL:
        takes = b < a || b != b;
        break;
    default:
        takes = b > a || b != b;
    }
    part.value = takes ? value : part.value;
    return part;
}

// `lanes` work-items, which are `spread` apart, make a result, or a segment of it: then there are the results of the first segment, those of the second one, and so
// on. With `counts_true` each element counts as 1 if it is not zero, else as 0. The loops `r` are over the results, `n` over the elements
// of one.
KERNEL reduce(
    global u8 *results, u32 result_dtype, global const u8 *array, u32 dtype, u32 operation, u32 counts_true, u64 start,
    u64 results_count, u64 count, u64 segments, u64 per_segment, u32 lanes, u32 spread,
    u32 results_rank, LOOPS(r), u32 rank, LOOPS(n))
{
    local Loop outer[MAX_RANK], loops[MAX_RANK];
    local Part parts[MAX_ITEMS];
    KEEP_SEVERAL(outer, r, results_rank)
    KEEP_SEVERAL(loops, n, rank)
    u32 lane = LOCAL_ID / spread % lanes, components = PARTS_OF(dtype);
    u32 number_in_group = LOCAL_ID / spread / lanes * spread + LOCAL_ID % spread;
    u64 result = GROUP_ID / segments * (LOCAL_SIZE / lanes) + number_in_group, segment = GROUP_ID % segments;
    u64 first = segment * per_segment, end = first + per_segment < count ? first + per_segment : count;
    i64 from = 0, none = 0;
    displace(outer, LOOP(r, 0), results_rank, result < results_count ? result : 0, &from, &none);
    Part part = { start, 0.0 };
    for (u64 i = first + lane; i < end; i += (u64)BATCH * lanes) {
        i64 at[BATCH];
        u64 raw[BATCH], other[BATCH];
        UNROLL for (u32 k = 0; k < BATCH; k++) {
            u64 number = i + (u64)k * lanes;
            at[k] = from;
            displace(loops, LOOP(n, 0), rank, number < end ? number : i, &at[k], &none);
            at[k] *= components;
            other[k] = 0;
        }
        load(raw, array, SIZE_OF(dtype), at);
        if (components == 2) {
            UNROLL for (u32 k = 0; k < BATCH; k++)
                at[k]++;
            load(other, array, SIZE_OF(dtype), at);
        }
        if (counts_true) {
            UNROLL for (u32 k = 0; k < BATCH; k++)
                raw[k] = is_true(raw[k], dtype) || is_true(other[k], dtype);
        } else {
            widen(raw, dtype);
        }
        UNROLL for (u32 k = 0; k < BATCH; k++)
            if (i + (u64)k * lanes < end)
                part = with(part, operation, raw[k]);
    }
    parts[LOCAL_ID] = part;
    BARRIER();
    for (u32 step = lanes / 2; step > 0; step /= 2) {
        if (lane < step) {
            Part other = parts[LOCAL_ID + step * spread];
            part = with(part, operation, other.value);
            part.lost += other.lost;
            parts[LOCAL_ID] = part;
        }
        BARRIER();
    }
    if (lane == 0 && result < results_count) {
        // Unless the sum is not finite.
        if (operation == REAL_SUM && (part.value >> 52 & 0x7ff) != 0x7ff)
            part.value = AS_BITS(AS_DOUBLE(part.value) + part.lost);
        store_one(results, SIZE_OF(result_dtype), segment * results_count + result, narrow(part.value, result_dtype));
    }
}
