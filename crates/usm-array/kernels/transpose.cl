// One work-item copies a block whose columns are dense in the target and whose rows are dense in the source, in squares
// that are transposed in registers.
#include "strided.h"

// LOW and HIGH: the first and the second halves of two vectors, zipped.
#if ITEM_BYTES == 8
#define SIDE 8
#define LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define SIDE 16
#define LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#endif
typedef Element Vector __attribute__((ext_vector_type(SIDE), aligned(ITEM_BYTES)));

static inline void copy_block(Target dst, Source src, Plane plane) {
    long full_cols = plane.cols / SIDE * SIDE, full_rows = plane.rows / SIDE * SIDE;
    for (long col = 0; col < full_cols; col += SIDE) {
        for (long row = 0; row < full_rows; row += SIDE) {
            Source from = src + col * plane.col_src + row;
            Target to = dst + col + row * plane.row_dst;
            Vector square[SIDE], zipped[SIDE];
#pragma unroll
            for (int i = 0; i < SIDE; i++)
                square[i] = *(global const Vector *)(from + i * plane.col_src);
            // The place of an element is a row and a column of so many bits. Zipping each row with that half the rows below
            // moves the highest bit of the place to its lowest. Done once for each bit of a row, it swaps row and column.
#pragma unroll
            for (int bit = 1; bit < SIDE; bit *= 2) {
#pragma unroll
                for (int i = 0; i < SIDE / 2; i++) {
                    zipped[2 * i] = __builtin_shufflevector(square[i], square[i + SIDE / 2], LOW);
                    zipped[2 * i + 1] = __builtin_shufflevector(square[i], square[i + SIDE / 2], HIGH);
                }
#pragma unroll
                for (int i = 0; i < SIDE; i++)
                    square[i] = zipped[i];
            }
#pragma unroll
            for (int i = 0; i < SIDE; i++)
                *(global Vector *)(to + i * plane.row_dst) = square[i];
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
