// One work-item copies a block row by row. COL_DST and COL_SRC, where the command line defines them, are strides as literals.
#include "strided.h"

#ifndef COL_DST
#define COL_DST plane.col_dst
#endif
#ifndef COL_SRC
#define COL_SRC plane.col_src
#endif

static inline void copy_block(Target dst, Source src, Plane plane) {
    for (long row = 0; row < plane.rows; row++) {
        Target to = dst + row * plane.row_dst;
        Source from = src + row * plane.row_src;
        for (long col = 0; col < plane.cols; col++)
            to[col * (COL_DST)] = from[col * (COL_SRC)];
    }
}

#include "walk.h"
