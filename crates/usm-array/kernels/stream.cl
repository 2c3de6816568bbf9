// One work-item copies a block to dense rows, with stores of whole lines that go past the caches: for results that are larger
// than those. An ordinary store reads the line first.
#include "strided.h"

#define LINE (64 / ITEM_BYTES)
typedef Element Line __attribute__((ext_vector_type(LINE), aligned(64)));

static inline void copy_block(Target dst, Source src, Plane plane) {
    for (long row = 0; row < plane.rows; row++) {
        Target to = dst + row * plane.row_dst;
        Source from = src + row * plane.row_src;
        long col = 0;
        for (; col < plane.cols && (unsigned long)(to + col) % 64 != 0; col++)
            to[col] = from[col * plane.col_src];
        for (; col + LINE <= plane.cols; col += LINE) {
            Line line;
#pragma unroll
            for (int i = 0; i < LINE; i++)
                line[i] = from[(col + i) * plane.col_src];
            __builtin_nontemporal_store(line, (global Line *)(to + col));
        }
        for (; col < plane.cols; col++)
            to[col] = from[col * plane.col_src];
    }
}

#include "walk.h"
