// One value for all elements. With LANES a work-group fills a block together, else one work-item does.
#define FILL
#include "strided.h"

static inline void copy_block(Target dst, Source src, Plane plane) {
#if ITEM_BYTES == 16
    Element value = { src.low, src.high };
#else
    Element value = (Element)src.low;
#endif
#ifdef LANES
    unsigned int cols = (unsigned int)plane.cols, elements = cols * (unsigned int)plane.rows;
    for (unsigned int i = (unsigned int)get_local_id(0); i < elements; i += (unsigned int)get_local_size(0))
        dst[i / cols * plane.row_dst + i % cols * plane.col_dst] = value;
#else
    for (long row = 0; row < plane.rows; row++)
        for (long col = 0; col < plane.cols; col++)
            dst[row * plane.row_dst + col * plane.col_dst] = value;
#endif
}

#include "walk.h"
