// A work-group copies a block together, neighbouring work-items neighbouring columns: for devices whose memory wants that.
#include "strided.h"

static inline void copy_block(Target dst, Source src, Plane plane) {
    // A block has few elements; 32 bits are quicker to divide.
    unsigned int cols = (unsigned int)plane.cols, elements = cols * (unsigned int)plane.rows;
    for (unsigned int i = (unsigned int)get_local_id(0); i < elements; i += (unsigned int)get_local_size(0)) {
        long row = i / cols, col = i % cols;
        dst[row * plane.row_dst + col * plane.col_dst] = src[row * plane.row_src + col * plane.col_src];
    }
}

#include "walk.h"
