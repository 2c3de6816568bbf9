// One work-item copies a block whose columns are dense in the target and whose rows are dense in the source, in squares
// that are transposed in registers.
#include "strided.h"

#if ITEM_BYTES == 8
#define SIDE 8
typedef Element Vector __attribute__((ext_vector_type(8), aligned(ITEM_BYTES)));
#else
#define SIDE 16
typedef Element Vector __attribute__((ext_vector_type(16), aligned(ITEM_BYTES)));
#endif

static inline void copy_block(Target dst, Source src, Plane plane) {
    long full_cols = plane.cols / SIDE * SIDE, full_rows = plane.rows / SIDE * SIDE;
    for (long col = 0; col < full_cols; col += SIDE) {
        for (long row = 0; row < full_rows; row += SIDE) {
            Source from = src + col * plane.col_src + row;
            Target to = dst + col + row * plane.row_dst;
            Vector in[SIDE];
#pragma unroll
            for (int i = 0; i < SIDE; i++)
                in[i] = *(global const Vector *)(from + i * plane.col_src);
#pragma unroll
            for (int j = 0; j < SIDE; j++) {
                Vector out;
#pragma unroll
                for (int i = 0; i < SIDE; i++)
                    out[i] = in[i][j];
                *(global Vector *)(to + j * plane.row_dst) = out;
            }
        }
    }
    for (long row = 0; row < full_rows; row++)
        for (long col = full_cols; col < plane.cols; col++)
            dst[row * plane.row_dst + col] = src[col * plane.col_src + row];
    for (long row = full_rows; row < plane.rows; row++)
        for (long col = 0; col < plane.cols; col++)
            dst[row * plane.row_dst + col] = src[col * plane.col_src + row];
}

#include "walk.h"
