// One work-item copies a block whose columns are dense in the target and whose rows are dense in the source, in squares
// that are transposed in registers. With STREAM the lines of squares go past the caches, for results that are larger than those: an
// ordinary store reads the line first.
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

#ifdef STREAM
#if SIDE * ITEM_BYTES != 64
#error "a row of a square has to be a line"
#endif
typedef Element Line __attribute__((ext_vector_type(SIDE), aligned(64)));
#define STORE(line, to) __builtin_nontemporal_store(line, (global Line *)(to))
#else
#define STORE(line, to) *(global Vector *)(to) = line
#endif

static inline void copy_square(Target to, Source from, Plane plane) {
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
        STORE(square[i], to + i * plane.row_dst);
}

// The elements of some columns and rows, one by one.
static inline void copy_edge(Target dst, Source src, Plane plane, long col_begin, long col_end, long row_begin) {
    for (long row = row_begin; row < plane.rows; row++)
        for (long col = col_begin; col < col_end; col++)
            dst[row * plane.row_dst + col] = src[col * plane.col_src + row];
}

static inline void copy_block(Target dst, Source src, Plane plane) {
    long rows = plane.rows / SIDE * SIDE, first = 0;
#ifdef STREAM
    // Where rows are whole lines apart, the columns before the first line are the same ones in each of them. Elsewhere no squares have lines.
    first = (unsigned long)dst % 64 == 0 ? 0 : SIDE - (long)((unsigned long)dst % 64) / ITEM_BYTES;
    if (plane.row_dst % SIDE != 0 || first > plane.cols)
        first = plane.cols;
#endif
    long end = first + (plane.cols - first) / SIDE * SIDE;
#ifdef STREAM
    // A row's lines one after the other: with columns first each line is in a page of its own, which takes 1.2 times as long.
    for (long row = 0; row < rows; row += SIDE)
        for (long col = first; col < end; col += SIDE)
#else
    for (long col = first; col < end; col += SIDE)
        for (long row = 0; row < rows; row += SIDE)
#endif
            copy_square(dst + col + row * plane.row_dst, src + col * plane.col_src + row, plane);
    copy_edge(dst, src, plane, 0, first, 0);
    copy_edge(dst, src, plane, first, end, rows);
    copy_edge(dst, src, plane, end, plane.cols, 0);
}

#include "walk.h"
