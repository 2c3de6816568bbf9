// One work-item copies a block of every second element to dense rows, in vectors of 16.
#include "strided.h"

typedef Element Vector __attribute__((ext_vector_type(16), aligned(ITEM_BYTES)));

static inline void copy_block(Target dst, Source src, Plane plane) {
    for (long row = 0; row < plane.rows; row++) {
        Target to = dst + row * plane.row_dst;
        Source from = src + row * plane.row_src;
        long col = 0;
        // Not up to the last element: what lies behind it may be no memory.
        for (; col + 16 < plane.cols; col += 16) {
            Vector low = *(global const Vector *)(from + col * 2);
            Vector high = *(global const Vector *)(from + col * 2 + 16);
            *(global Vector *)(to + col) = __builtin_shufflevector(
                low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        }
        for (; col < plane.cols; col++)
            to[col] = from[col * 2];
    }
}

#include "walk.h"
