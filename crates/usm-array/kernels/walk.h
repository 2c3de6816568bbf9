// The kernel around a block function `copy_block(Target, Source, Plane)`, which is defined before this is included.
//
// A nest of up to eight loops is cut into blocks of the two innermost ones. Each work-group (one work-item on a CPU) copies
// `per_group` blocks that follow each other. Dividing happens once a work-group, to find its first block; from there to the
// next ones the loops are stepped.

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
    long index = rest % count;                  \
    rest /= count;                              \
    to += index * step_dst;                     \
    from += index * step_src;

// Not `kernel`: of that the compiler would keep a second copy, as a function that other kernels could call.
__attribute__((device_kernel)) void strided(
    global Element *restrict dst,
#ifdef FILL
    unsigned long low, unsigned long high,
#else
    global const Element *restrict src,
#endif
    long blocks, long per_group, long block_cols, long block_rows,
    long cols, long col_dst, long col_src,
    long rows, long row_dst, long row_src,
    long n2, long d2, long s2, long n3, long d3, long s3, long n4, long d4, long s4,
    long n5, long d5, long s5, long n6, long d6, long s6, long n7, long d7, long s7)
{
    long n0 = (cols + block_cols - 1) / block_cols, d0 = block_cols * col_dst, s0 = block_cols * col_src;
    long n1 = (rows + block_rows - 1) / block_rows, d1 = block_rows * row_dst, s1 = block_rows * row_src;
    long rest = (long)get_group_id(0) * per_group;
    long left = blocks - rest < per_group ? blocks - rest : per_group;
    long to = 0, from = 0;
    START(i0, n0, d0, s0)
    START(i1, n1, d1, s1)
    START(i2, n2, d2, s2)
    START(i3, n3, d3, s3)
    START(i4, n4, d4, s4)
    START(i5, n5, d5, s5)
    START(i6, n6, d6, s6)
    START(i7, n7, d7, s7)
    for (;;) {
        long c = cols - i0 * block_cols, r = rows - i1 * block_rows;
        Plane plane = {
            c < block_cols ? c : block_cols, col_dst, col_src,
            r < block_rows ? r : block_rows, row_dst, row_src,
        };
#ifdef FILL
        (void)from;
        Source source = { low, high };
        copy_block(dst + to, source, plane);
#else
        copy_block(dst + to, src + from, plane);
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
