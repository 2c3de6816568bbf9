// Elements along a nest of loops, from place to place, or with FILL one value to all places.
//
// A nest of up to eight loops is cut into blocks of the two innermost ones. Each work-group takes `per_group` blocks that follow
// each other, its work-items neighbouring columns of a block. The first block of a group is found by division; from there to the
// next ones the loops are stepped. The compiler's command line defines ITEM_BYTES: elements are moved as bits, and of the dtypes
// only their size matters.

#include "dialect.h"

// Steps a loop on; at its end takes it back, and the next outer one steps.
#define STEP(index, count, step_dst, step_src) \
    if (++index < count) {                     \
        to += step_dst;                        \
        from += step_src;                      \
        continue;                              \
    }                                          \
    index = 0;                                 \
    to -= (count - 1) * step_dst;              \
    from -= (count - 1) * step_src;

// Where a loop is at the first block.
#define START(index, count, step_dst, step_src) \
    i64 index = rest % count;                  \
    rest /= count;                              \
    to += index * step_dst;                     \
    from += index * step_src;

KERNEL strided(
    global Element *restrict dst,
#ifdef FILL
    // The element's bytes, then zeros.
    u64 low, u64 high,
#else
    global const Element *restrict src,
#endif
    i64 blocks, i64 per_group, i64 block_cols, i64 block_rows,
    i64 cols, i64 col_dst, i64 col_src,
    i64 rows, i64 row_dst, i64 row_src,
    i64 n2, i64 d2, i64 s2, i64 n3, i64 d3, i64 s3, i64 n4, i64 d4, i64 s4,
    i64 n5, i64 d5, i64 s5, i64 n6, i64 d6, i64 s6, i64 n7, i64 d7, i64 s7)
{
#ifdef FILL
#if ITEM_BYTES == 16
    Element value = { low, high };
#else
    Element value = (Element)low;
    (void)high;
#endif
#endif
    i64 n0 = (cols + block_cols - 1) / block_cols, d0 = block_cols * col_dst, s0 = block_cols * col_src;
    i64 n1 = (rows + block_rows - 1) / block_rows, d1 = block_rows * row_dst, s1 = block_rows * row_src;
    i64 rest = (i64)GROUP_ID * per_group;
    i64 left = blocks - rest < per_group ? blocks - rest : per_group;
    i64 to = 0, from = 0;
#ifdef FILL
    (void)from;
#endif
    START(i0, n0, d0, s0)
    START(i1, n1, d1, s1)
    START(i2, n2, d2, s2)
    START(i3, n3, d3, s3)
    START(i4, n4, d4, s4)
    START(i5, n5, d5, s5)
    START(i6, n6, d6, s6)
    START(i7, n7, d7, s7)
    for (;;) {
        i64 c = cols - i0 * block_cols, r = rows - i1 * block_rows;
        i64 width = c < block_cols ? c : block_cols, height = r < block_rows ? r : block_rows;
        // As many work-items side by side as fit into a row, the others in the rows below. What is left over does nothing.
        u32 items = LOCAL_SIZE, item = LOCAL_ID;
        u32 across = width < items ? (u32)width : items, down = items / across;
        i64 first = item / across < down ? item / across : height;
        for (i64 row = first; row < height; row += down)
            for (i64 col = item % across; col < width; col += across)
#ifdef FILL
                dst[to + row * row_dst + col * col_dst] = value;
#else
                dst[to + row * row_dst + col * col_dst] = src[from + row * row_src + col * col_src];
#endif
        if (--left == 0)
            return;
        STEP(i0, n0, d0, s0)
        STEP(i1, n1, d1, s1)
        STEP(i2, n2, d2, s2)
        STEP(i3, n3, d3, s3)
        STEP(i4, n4, d4, s4)
        STEP(i5, n5, d5, s5)
        STEP(i6, n6, d6, s6)
        STEP(i7, n7, d7, s7)
    }
}
