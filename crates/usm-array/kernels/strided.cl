// Elements along a nest of loops, from place to place, or with FILL one value to all places.
//
// A nest of up to eight loops is cut into blocks of the two innermost ones. Each work-group takes `per_group` blocks that follow
// each other, its work-items neighbouring columns of a block. The first block of a group is found by division; from there to the
// next ones the loops are stepped. The compiler's command line defines ITEM_BYTES: elements are moved as bits, and of the dtypes
// only their size matters.

// Declared here, since the compiler's own header is not part of every installation.
__attribute__((overloadable, const)) unsigned long get_group_id(unsigned int dimension);
__attribute__((overloadable, const)) unsigned long get_local_id(unsigned int dimension);
__attribute__((overloadable, const)) unsigned long get_local_size(unsigned int dimension);

#if ITEM_BYTES == 1
typedef unsigned char Element;
#elif ITEM_BYTES == 2
typedef unsigned short Element;
#elif ITEM_BYTES == 4
typedef unsigned int Element;
#elif ITEM_BYTES == 8
typedef unsigned long Element;
#else
// Two halves, since complex numbers of 16 bytes are aligned to 8.
typedef struct { unsigned long low, high; } Element;
#endif

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
    // The element's bytes, then zeros.
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
#ifdef FILL
#if ITEM_BYTES == 16
    Element value = { low, high };
#else
    Element value = (Element)low;
    (void)high;
#endif
#endif
    long n0 = (cols + block_cols - 1) / block_cols, d0 = block_cols * col_dst, s0 = block_cols * col_src;
    long n1 = (rows + block_rows - 1) / block_rows, d1 = block_rows * row_dst, s1 = block_rows * row_src;
    long rest = (long)get_group_id(0) * per_group;
    long left = blocks - rest < per_group ? blocks - rest : per_group;
    long to = 0, from = 0;
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
        long c = cols - i0 * block_cols, r = rows - i1 * block_rows;
        long width = c < block_cols ? c : block_cols, height = r < block_rows ? r : block_rows;
        // As many work-items side by side as fit into a row, the others in the rows below. What is left over does nothing.
        unsigned int items = (unsigned int)get_local_size(0), item = (unsigned int)get_local_id(0);
        unsigned int across = width < items ? (unsigned int)width : items, down = items / across;
        long first = item / across < down ? item / across : height;
        for (long row = first; row < height; row += down)
            for (long col = item % across; col < width; col += across)
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
