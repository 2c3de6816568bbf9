// Copies in which the axis dense in the target is another than the axis dense in the source: transposes and permutes.
//
// Two groups of axes make up a matrix. `I` counts the elements of one dense run of the target, `J` those of one dense run of the
// source. A row of the source has one `i` and all `j`; a row of the target has one `j` and all `i`. A work-group moves one tile of
// TILE_I × TILE_J elements through local memory; all other axes are over the grid. On both sides memory is touched in vectors of
// 16 bytes, and elements are moved as bits, unless they are cast. The compiler's command line defines ITEM_BYTES, and one of TILE,
// WINDOW (either with BOX or not), CAST (with FROM_BYTES, the size of the source's elements), SPLIT and JOIN (so many elements): each
// kernel is a module of its own, since its driver's compiler takes its time.
//
// | kernel | for |
// |---|---|
// | tile | both sides 16-byte aligned from row to row; one axis in each group |
// | tile_box | the same; up to three axes in each group, which short axes need |
// | window | any alignment; one axis in each group |
// | window_box | any alignment; up to three axes in each group |
// | cast_tile | casts, of any alignment; one axis in each group |
// | split2 to split4 | records of so many elements to as many planes |
// | join2 to join4 | planes to records |
//
// The planner is `usm-array/src/copy/copy_kernels/tile.rs`; the order of the arguments is documented there.

#include "dialect.h"
#ifdef CAST
#include "convert.h"
#endif

#if ITEM_BYTES <= 2 && (defined(TILE) || defined(SPLIT) || defined(JOIN))
#ifdef __NVPTX__
// One word of four bytes out of two words: each hexadecimal digit of the selector chooses a byte.
#define PERMUTE(low, high, selector) __nvvm_prmt(low, high, selector)
#else
static inline u32 permute(u32 low, u32 high, u32 selector)
{
    u64 both = (u64)high << 32 | low;
    u32 word = 0;
    for (u32 byte = 0; byte < 4; byte++)
        word |= (u32)(both >> ((selector >> 4 * byte & 7) * 8) & 255) << 8 * byte;
    return word;
}
#define PERMUTE(low, high, selector) permute(low, high, selector)
#endif
#endif

// Before the loops at the edges where vectors have many elements: unrolled, they take the driver's compiler too long.
#if defined(__NVPTX__) && ITEM_BYTES < 4
#define SHORT _Pragma("nounroll")
#else
// With that in SPIR-V the OpenCL CPU runtime 2026.2 gets `window` wrong.
#define SHORT
#endif
#define UNROLLED _Pragma("unroll")
// Of the elements of a vector, whose first one is `first` of a row, those that are among the first `count` ones.
#define EDGE(e, first, count)              \
    SHORT for (i32 e = 0; e < V; e++)      \
        if ((u32)((first) + e) < (u32)(count))

typedef u32x4 Vector;
// Aligned to 16 bytes, other than `Element`.
#if ITEM_BYTES == 16
typedef Vector Item;
#else
typedef Element Item;
#endif

// Elements in a vector.
#define V (16 / ITEM_BYTES)

// The shapes of tiles: the best of those that were measured.
#ifndef TILE_I
#if ITEM_BYTES == 1
#define TILE_I 128
#define TILE_J 256
#define TILE_ITEMS 1024
#elif ITEM_BYTES == 2
#define TILE_I 128
#define TILE_J 128
#define TILE_ITEMS 1024
#elif ITEM_BYTES == 4
#define TILE_I 64
#define TILE_J 64
#define TILE_ITEMS 512
#else
#define TILE_I 64
#define TILE_J 32
#define TILE_ITEMS 512
#endif
#endif
#ifdef CAST
// Up to 16 KiB of the target and up to 32 KiB of the source, whose rows are 64 bytes or more.
#define WINDOW_I (ITEM_BYTES == 1 ? 128 : ITEM_BYTES <= 4 ? 64 : 256 / ITEM_BYTES)
#define WINDOW_J ((FROM_BYTES > 2 * ITEM_BYTES ? 32768 / FROM_BYTES : 16384 / ITEM_BYTES) / WINDOW_I)
#define WINDOW_ITEMS 512
#endif
#ifndef WINDOW_I
#if ITEM_BYTES == 1
#define WINDOW_I 128
#define WINDOW_J 128
#define WINDOW_ITEMS 512
#elif ITEM_BYTES == 2
#define WINDOW_I 64
#define WINDOW_J 128
#define WINDOW_ITEMS 512
#elif ITEM_BYTES == 4
#define WINDOW_I 64
#define WINDOW_J 64
#define WINDOW_ITEMS 512
#elif ITEM_BYTES == 8
#define WINDOW_I 64
#define WINDOW_J 32
#define WINDOW_ITEMS 512
#else
#define WINDOW_I 32
#define WINDOW_J 32
#define WINDOW_ITEMS 512
#endif
#endif
// Rows of the target are written in pieces that begin at multiples of so many bytes.
#ifndef WINDOW_BYTES
#define WINDOW_BYTES 32
#endif
// Of 32 adjacent items, so many are side by side in a row of the target; the others are in the next rows.
#ifndef LANES_I
#if ITEM_BYTES == 1 && defined(BOX)
#define LANES_I 2
#else
#define LANES_I 8
#endif
#endif

// x / n for x < 2^31, with the factor and the shift that the planner made of n.
static inline u32 quotient(u32 x, u32 factor, u32 shift)
{
    return (u32)((u64)x * factor >> shift);
}

#ifdef BOX
// The displacement of element x of a group of three axes, the innermost first.
static inline i64 along(u32 x, u32 n0, u32 f0, u32 h0, u32 n1, u32 f1, u32 h1, i64 s0, i64 s1, i64 s2)
{
    u32 rows = quotient(x, f0, h0), planes = quotient(rows, f1, h1);
    return (i64)(x - rows * n0) * s0 + (i64)(rows - planes * n1) * s1 + (i64)planes * s2;
}
#endif

// The two axes of tiles, and so many elements in each group.
#define TILES                                                                                                             \
    u32 order, u32 n0, u32 f0, u32 h0, u32 n1, u32 f1, u32 h1, u32 count_i, u32 count_j, u32 skew_i, u32 skew_j, i64 src_i, \
        i64 dst_j
// What an axis over the grid is.
#define AXIS(k) u32 an##k, u32 af##k, u32 ah##k, i64 ad##k, i64 as##k
// The other axes in a group of up to three.
#define GROUP(x) u32 x##n0, u32 x##f0, u32 x##h0, u32 x##n1, u32 x##f1, u32 x##h1, i64 x##s1, i64 x##s2

#define STEP(k)                                     \
    if (rest) {                                     \
        u32 next = quotient(rest, af##k, ah##k);    \
        dst += (i64)(rest - next * an##k) * ad##k;  \
        src += (i64)(rest - next * an##k) * as##k;  \
        rest = next;                                \
    }

// Which tile this work-group has, and where the first elements of its matrix are.
#define FIND_TILE                                                                 \
    u32 rest = quotient(GROUP_ID, f0, h0);                                        \
    u32 inner_tile = GROUP_ID - rest * n0, outer_tile = rest;                     \
    rest = quotient(outer_tile, f1, h1);                                          \
    outer_tile -= rest * n1;                                                      \
    i32 tile_i = (i32)(order ? outer_tile : inner_tile) * TILE_ROWS_I - (i32)skew_i; \
    i32 tile_j = (i32)(order ? inner_tile : outer_tile) * TILE_ROWS_J - (i32)skew_j;

#define SOURCE_AT(i) (src + (i64)(i) * src_i)
#define TARGET_AT(j) (dst + (i64)(j) * dst_j)
#define SOURCE_BOX_AT(i) (src + along((u32)(i), in0, if0, ih0, in1, if1, ih1, src_i, is1, is2))
#define TARGET_BOX_AT(j) (dst + along((u32)(j), jn0, jf0, jh0, jn1, jf1, jh1, dst_j, js1, js2))

#ifdef TILE

// ---- Tiles of memory that is aligned alike in all rows ----

// Rows of local memory. Pairs of source rows share one if elements are bytes: then a word has two `j` of two rows, otherwise of one.
#define ROW_BYTES (ITEM_BYTES == 1 ? 2 * TILE_J : ITEM_BYTES * TILE_J)
#define TILE_VECTORS (TILE_I * TILE_J / V)
#define TILE_ROUNDS (TILE_VECTORS / TILE_ITEMS)
// Where a byte of a row is. The rows of a vector of the target share one permutation of the vectors in the row, and no two of eight
// adjacent vectors of this kind do: adjacent work-items then use different banks, in rows and in columns.
#define PLACE(row, rows, byte) ((row) * ROW_BYTES + ((((byte) >> 4) ^ ((row) / (rows) & 7)) << 4) + ((byte) & 15))

#define LOAD_TILE(ROW_ADDRESS)                                                                                \
    {                                                                                                         \
        u32 item = LOCAL_ID;                                                                                  \
        Vector moved[TILE_ROUNDS];                                                                            \
        UNROLLED for (u32 round = 0; round < TILE_ROUNDS; round++)                                   \
        {                                                                                                     \
            u32 row = SOURCE_ROW, vector = SOURCE_VECTOR;                                                     \
            i32 i = tile_i + (i32)row, j = tile_j + (i32)(vector * V);                                        \
            moved[round] = (Vector)(0);                                                                       \
            if ((u32)i < count_i && j >= 0 && j + V <= (i32)count_j)                                          \
                moved[round] = *(global const Vector *)(ROW_ADDRESS(i) + (i64)j * ITEM_BYTES);                \
        }                                                                                                     \
        UNROLLED for (u32 round = 0; round < TILE_ROUNDS; round++)                                   \
        {                                                                                                     \
            u32 row = SOURCE_ROW, vector = SOURCE_VECTOR;                                                     \
            i32 i = tile_i + (i32)row, j = tile_j + (i32)(vector * V);                                        \
            if (j >= 0 && j + V <= (i32)count_j) {                                                            \
                STORE_LOCAL                                                                                   \
            } else if ((u32)i < count_i) {                                                                    \
                EDGE(e, j, count_j) \
                        *LOCAL_ITEM(row, vector * V + e) =                                                    \
                            *(global const Item *)(ROW_ADDRESS(i) + ((i64)j + e) * ITEM_BYTES);               \
            }                                                                                                 \
        }                                                                                                     \
    }

#if ITEM_BYTES == 1
// Two rounds have the two rows of a pair.
#define SOURCE_UNIT (item + round / 2 * TILE_ITEMS)
#define SOURCE_ROW (SOURCE_UNIT / (TILE_J / V) * 2 + (round & 1))
#define SOURCE_VECTOR (SOURCE_UNIT % (TILE_J / V))
#define LOCAL_ITEM(row, j) (local Item *)(memory + PLACE((row) / 2, 8, (j) * 2 + ((row) & 1)))
#define STORE_LOCAL                                                                                    \
    if (round & 1) {                                                                                   \
        Vector a = moved[round - 1], b = moved[round];                                                 \
        *(local Vector *)(memory + PLACE(row / 2, 8, vector * 32)) =                                     \
            (Vector)(PERMUTE(a.x, b.x, 0x5140), PERMUTE(a.x, b.x, 0x7362), PERMUTE(a.y, b.y, 0x5140), \
                     PERMUTE(a.y, b.y, 0x7362));                                                       \
        *(local Vector *)(memory + PLACE(row / 2, 8, vector * 32 + 16)) =                                \
            (Vector)(PERMUTE(a.z, b.z, 0x5140), PERMUTE(a.z, b.z, 0x7362), PERMUTE(a.w, b.w, 0x5140), \
                     PERMUTE(a.w, b.w, 0x7362));                                                       \
    }
#else
#define SOURCE_UNIT (item + round * TILE_ITEMS)
#define SOURCE_ROW (SOURCE_UNIT / (TILE_J / V))
#define SOURCE_VECTOR (SOURCE_UNIT % (TILE_J / V))
#define LOCAL_ITEM(row, j) (local Item *)(memory + PLACE(row, V, (j) * ITEM_BYTES))
#define STORE_LOCAL *(local Vector *)(memory + PLACE(row, V, vector * 16)) = moved[round];
#endif

// A vector of the target, where some of its elements may be outside.
#define STORE_VECTOR(address, value, row, column)                                                           \
    if (i >= 0 && i + V <= (i32)count_i) {                                                                  \
        *(global Vector *)(address) = value;                                                                \
    } else {                                                                                                \
        EDGE(e, i, count_i) \
                *(global Item *)((address) + e * ITEM_BYTES) = *LOCAL_ITEM((row) + e, column);              \
    }

#if ITEM_BYTES <= 2
// Two rows of the target at a time: each word of local memory has elements of both.
#define STORE_TILE(ROW_ADDRESS)                                                                             \
    UNROLLED for (u32 round = 0; round < TILE_ROUNDS / 2; round++)                                 \
    {                                                                                                       \
        u32 item = LOCAL_ID + round * TILE_ITEMS;                                                           \
        u32 part = item / 32 % (TILE_I / V / 8), row = (item % 8 + part * 8) * V;                           \
        u32 column = (item / 8 % 4 + item / 32 / (TILE_I / V / 8) * 4) * 2;                                 \
        i32 i = tile_i + (i32)row, j = tile_j + (i32)column;                                                \
        local const char *from = memory + PLACE(row / V * 8, 8, column * 2);                                  \
        u32 w[8];                                                                                           \
        UNROLLED for (u32 e = 0; e < 8; e++) w[e] = *(local const u32 *)(from + e * ROW_BYTES);    \
        if ((u32)j < count_j) {                                                                             \
            global char *to = ROW_ADDRESS(j) + (i64)i * ITEM_BYTES;                                         \
            STORE_VECTOR(to,                                                                                \
                         ((Vector)(PERMUTE(w[0], w[1], 0x5410), PERMUTE(w[2], w[3], 0x5410),                \
                                   PERMUTE(w[4], w[5], 0x5410), PERMUTE(w[6], w[7], 0x5410))),              \
                         row, column)                                                                       \
        }                                                                                                   \
        if ((u32)(j + 1) < count_j) {                                                                       \
            global char *to = ROW_ADDRESS(j + 1) + (i64)i * ITEM_BYTES;                                     \
            STORE_VECTOR(to,                                                                                \
                         ((Vector)(PERMUTE(w[0], w[1], 0x7632), PERMUTE(w[2], w[3], 0x7632),                \
                                   PERMUTE(w[4], w[5], 0x7632), PERMUTE(w[6], w[7], 0x7632))),              \
                         row, column + 1)                                                                   \
        }                                                                                                   \
    }
#else
#if ITEM_BYTES == 4
#define COLUMN                                                                                              \
    ((Vector)(*(local const u32 *)from, *(local const u32 *)(from + ROW_BYTES),                             \
              *(local const u32 *)(from + 2 * ROW_BYTES), *(local const u32 *)(from + 3 * ROW_BYTES)))
#elif ITEM_BYTES == 8
#define COLUMN ((Vector)(*(local const u32x2 *)from, *(local const u32x2 *)(from + ROW_BYTES)))
#else
#define COLUMN (*(local const Vector *)from)
#endif
#define STORE_TILE(ROW_ADDRESS)                                                                             \
    UNROLLED for (u32 round = 0; round < TILE_ROUNDS; round++)                                     \
    {                                                                                                       \
        u32 item = LOCAL_ID + round * TILE_ITEMS;                                                           \
        u32 part = item / 32 % (TILE_I / V / 8), row = (item % 8 + part * 8) * V;                           \
        u32 column = item / 8 % 4 + item / 32 / (TILE_I / V / 8) * 4;                                       \
        i32 i = tile_i + (i32)row, j = tile_j + (i32)column;                                                \
        local const char *from = memory + PLACE(row, V, column * ITEM_BYTES);                                 \
        Vector value = COLUMN;                                                                              \
        if ((u32)j < count_j) {                                                                             \
            global char *to = ROW_ADDRESS(j) + (i64)i * ITEM_BYTES;                                         \
            STORE_VECTOR(to, value, row, column)                                                            \
        }                                                                                                   \
    }
#endif

#define TILE_ROWS_I TILE_I
#define TILE_ROWS_J TILE_J

#ifndef BOX
KERNEL_OF(TILE_ITEMS) tile(global char *restrict dst, global const char *restrict src, TILES, AXIS(0), AXIS(1), AXIS(2))
{
    local Vector vectors[TILE_VECTORS];
    local char *memory = (local char *)vectors;
    FIND_TILE
    STEP(0)
    STEP(1)
    STEP(2)
    LOAD_TILE(SOURCE_AT)
    BARRIER();
    STORE_TILE(TARGET_AT)
}
#else
KERNEL_OF(TILE_ITEMS) tile_box(
    global char *restrict dst, global const char *restrict src, TILES, AXIS(0), AXIS(1), AXIS(2), AXIS(3), AXIS(4), AXIS(5),
    GROUP(i), GROUP(j))
{
    local Vector vectors[TILE_VECTORS];
    local char *memory = (local char *)vectors;
    FIND_TILE
    STEP(0)
    STEP(1)
    STEP(2)
    STEP(3)
    STEP(4)
    STEP(5)
    LOAD_TILE(SOURCE_BOX_AT)
    BARRIER();
    STORE_TILE(TARGET_BOX_AT)
}
#endif

#endif

#if defined(WINDOW) || defined(CAST)

// ---- Windows: tiles of memory of any alignment ----
//
// Vectors of the source go to local memory as they are: each row begins there at an address that is congruent to the one in the source
// modulo 16. Each row of the target is written in whole windows, so a tile has the `i` from a few before its own ones on, and a row
// that begins off a window takes that many `i` less at its end and more at its beginning.

#define TILE_ROWS_I WINDOW_I
#define TILE_ROWS_J WINDOW_J
#define MOST_EARLIER (WINDOW_BYTES / ITEM_BYTES - 1)
#define WINDOW_ROWS (WINDOW_I + MOST_EARLIER)
#ifdef CAST
// As the planner says, since most rows of targets begin at whole windows.
#define EARLIER earlier
#else
#define EARLIER MOST_EARLIER
#endif
// Vectors that a row of the tile may touch.
#define ROW_VECTORS (WINDOW_J * ITEM_BYTES / 16 + (ITEM_BYTES < 16))
#define WINDOW_LOADS (WINDOW_ROWS * ROW_VECTORS)
#define WINDOW_LOAD_ROUNDS ((WINDOW_LOADS + WINDOW_ITEMS - 1) / WINDOW_ITEMS)
#define WINDOW_STORES (WINDOW_I / V * WINDOW_J)
#define WINDOW_STORE_ROUNDS ((WINDOW_STORES + WINDOW_ITEMS - 1) / WINDOW_ITEMS)
// From row to row in boxes: space for the parts of vectors before and behind the elements.
#define BOX_PITCH (WINDOW_J * ITEM_BYTES + (ITEM_BYTES < 16 ? 32 : 0))
// One vector more before each of the vectors of the target: adjacent work-items then use different banks.
#define BOX_PLACE(row) ((row) * BOX_PITCH + (row) / V * 16)
#define LANES_J (32 / LANES_I)
#define LANES (LANES_I * LANES_J)

#define LOAD_WINDOWS(ROW_ADDRESS, ROW_PLACE)                                                        \
    {                                                                                                           \
        Vector moved[WINDOW_LOAD_ROUNDS];                                                                       \
        UNROLLED for (u32 round = 0; round < WINDOW_LOAD_ROUNDS; round++)                              \
        {                                                                                                       \
            u32 unit = LOCAL_ID + round * WINDOW_ITEMS, row = unit / ROW_VECTORS, vector = unit % ROW_VECTORS;  \
            i32 i = tile_i - EARLIER + (i32)row;                                                                \
            if (unit < WINDOW_LOADS && (u32)i < count_i) {                                                      \
                global const char *from = ROW_ADDRESS;                            \
                u32 part = (u32)(u64)from & 15;                                                                 \
                i32 j = tile_j - (i32)(part / ITEM_BYTES) + (i32)(vector * V);                                  \
                if (j >= 0 && j + V <= (i32)count_j && j < tile_j + WINDOW_J)                                   \
                    moved[round] = *(global const Vector *)(from - part + vector * 16);                         \
            }                                                                                                   \
        }                                                                                                       \
        UNROLLED for (u32 round = 0; round < WINDOW_LOAD_ROUNDS; round++)                              \
        {                                                                                                       \
            u32 unit = LOCAL_ID + round * WINDOW_ITEMS, row = unit / ROW_VECTORS, vector = unit % ROW_VECTORS;  \
            i32 i = tile_i - EARLIER + (i32)row;                                                                \
            if (unit < WINDOW_LOADS && (u32)i < count_i) {                                                      \
                global const char *from = ROW_ADDRESS;                            \
                u32 part = (u32)(u64)from & 15;                                                                 \
                i32 j = tile_j - (i32)(part / ITEM_BYTES) + (i32)(vector * V);                                  \
                local char *to = memory + ROW_PLACE + vector * 16;                                                \
                if (j >= 0 && j + V <= (i32)count_j) {                                                          \
                    if (j < tile_j + WINDOW_J)                                                                  \
                        *(local Vector *)to = moved[round];                                                     \
                } else {                                                                                        \
                    i32 end = (i32)count_j < tile_j + WINDOW_J ? (i32)count_j : tile_j + WINDOW_J;              \
                    EDGE(e, j, end) \
                            ((local Item *)to)[e] = ((global const Item *)(from - part + vector * 16))[e];      \
                }                                                                                               \
            }                                                                                                   \
        }                                                                                                       \
    }

#if ITEM_BYTES == 1
#define READ(e) (u32)*(local const u8 *)(ELEMENT_PLACE(e))
#define WORD(e) (READ(e) + (READ(e + 1) << 8)) + ((READ(e + 2) + (READ(e + 3) << 8)) << 16)
#define GATHERED ((Vector)(WORD(0), WORD(4), WORD(8), WORD(12)))
#elif ITEM_BYTES == 2
#define READ(e) (u32)*(local const u16 *)(ELEMENT_PLACE(e))
#define WORD(e) (READ(e) + (READ(e + 1) << 16))
#define GATHERED ((Vector)(WORD(0), WORD(2), WORD(4), WORD(6)))
#elif ITEM_BYTES == 4
#define READ(e) *(local const u32 *)(ELEMENT_PLACE(e))
#define GATHERED ((Vector)(READ(0), READ(1), READ(2), READ(3)))
#elif ITEM_BYTES == 8
#define READ(e) *(local const u32x2 *)(ELEMENT_PLACE(e))
#define GATHERED ((Vector)(READ(0), READ(1)))
#else
#define GATHERED (*(local const Vector *)(ELEMENT_PLACE(0)))
#endif

#define STORE_WINDOWS(ROW_ADDRESS)                                                                              \
    UNROLLED for (u32 round = 0; round < WINDOW_STORE_ROUNDS; round++)                                 \
    {                                                                                                           \
        u32 unit = LOCAL_ID + round * WINDOW_ITEMS;                                                             \
        u32 parts = WINDOW_I / V / LANES_I, part = unit / LANES % parts;                                           \
        u32 first = (unit % LANES_I + part * LANES_I) * V;                                                      \
        u32 column = unit / LANES_I % LANES_J + unit / LANES / parts * LANES_J;                                 \
        i32 j = tile_j + (i32)column;                                                                           \
        if (unit < WINDOW_STORES && (u32)j < count_j) {                                                         \
            global char *to = ROW_ADDRESS + (i64)tile_i * ITEM_BYTES;                                           \
            u32 early = ((u32)(u64)to & (WINDOW_BYTES - 1)) / ITEM_BYTES, row = EARLIER - early + first;        \
            i32 i = tile_i - (i32)early + (i32)first;                                                           \
            to += ((i64)first - early) * ITEM_BYTES;                                                            \
            GATHER_START                                                                                        \
            if (i >= 0 && i + V <= (i32)count_i) {                                                              \
                *(global Vector *)to = GATHERED;                                                                \
            } else {                                                                                            \
                EDGE(e, i, count_i) \
                        ((global Item *)to)[e] = *(local const Item *)(ELEMENT_PLACE(e));                       \
            }                                                                                                   \
        }                                                                                                       \
    }

#if defined(WINDOW) && !defined(BOX)
// `pitch` is from row to row in local memory: congruent to `src_i` modulo 16, and 16 more than the bytes in a row of a tile, or more.
KERNEL_OF(WINDOW_ITEMS) window(
    global char *restrict dst, global const char *restrict src, TILES, AXIS(0), AXIS(1), AXIS(2), u32 pitch)
{
    local Vector vectors[(WINDOW_ROWS * (WINDOW_J * ITEM_BYTES + 31) + 31) / 16];
    local char *memory = (local char *)vectors;
    FIND_TILE
    STEP(0)
    STEP(1)
    STEP(2)
    u32 offset = (u32)(u64)(SOURCE_AT(tile_i - EARLIER) + (i64)tile_j * ITEM_BYTES) & 15;
    LOAD_WINDOWS(SOURCE_AT(i) + (i64)tile_j * ITEM_BYTES, ((offset + row * pitch) & ~15u))
    BARRIER();
#define GATHER_START local const char *start = memory + offset + row * pitch + column * ITEM_BYTES;
#define ELEMENT_PLACE(e) start + (e)*pitch
    STORE_WINDOWS(TARGET_AT(j))
}
#elif defined(WINDOW)
KERNEL_OF(WINDOW_ITEMS) window_box(
    global char *restrict dst, global const char *restrict src, TILES, AXIS(0), AXIS(1), AXIS(2), AXIS(3), AXIS(4), AXIS(5),
    GROUP(i), GROUP(j))
{
    local Vector vectors[(WINDOW_ROWS * BOX_PITCH + WINDOW_ROWS / V * 16 + 16) / 16];
    // Of each row of the tile: where it is in the source, and where in local memory; where each row of the target is.
    local i64 sources[WINDOW_ROWS];
    local u16 places[WINDOW_ROWS];
    local i64 targets[WINDOW_J];
    local char *memory = (local char *)vectors;
    FIND_TILE
    STEP(0)
    STEP(1)
    STEP(2)
    STEP(3)
    STEP(4)
    STEP(5)
    for (u32 row = LOCAL_ID; row < WINDOW_ROWS; row += WINDOW_ITEMS) {
        i32 i = tile_i - EARLIER + (i32)row;
        if ((u32)i < count_i) {
            global const char *from = SOURCE_BOX_AT(i) + (i64)tile_j * ITEM_BYTES;
            sources[row] = from - src;
            places[row] = (u16)(BOX_PLACE(row) + ((u32)(u64)from & 15));
        }
    }
    // By the last work-items, since the first ones are busy.
    u32 column = WINDOW_ITEMS - 1 - LOCAL_ID;
    if (column < WINDOW_J && (u32)(tile_j + (i32)column) < count_j)
        targets[column] = TARGET_BOX_AT(tile_j + (i32)column) - dst;
    BARRIER();
    LOAD_WINDOWS(src + sources[row], BOX_PLACE(row))
    BARRIER();
#define GATHER_START local const char *start = memory + column * ITEM_BYTES;
#define ELEMENT_PLACE(e) start + places[row + (e)]
    STORE_WINDOWS(dst + targets[column])
}
#else

// ---- Casts ----
//
// Elements are cast between the load and local memory, which has those of the target. A work-item loads a unit of a few elements at
// once where they are aligned to their size together, and one after the other elsewhere.

// The pitch of local memory is an odd number of units. Of eight adjacent work-items, which gather from rows, at most UNIT then use the
// same bank.
#if FROM_BYTES == 16 || ITEM_BYTES == 16
#define UNIT 1
#elif FROM_BYTES == 8 || ITEM_BYTES == 8 || (FROM_BYTES <= 2 && ITEM_BYTES <= 2)
#define UNIT 2
#else
#define UNIT 4
#endif
#define ROW_UNITS (WINDOW_J / UNIT)
#define PITCH (WINDOW_J + UNIT)
// Rows that a work-group loads at once.
#define ROUND_ROWS (WINDOW_ITEMS / ROW_UNITS)
// Units of a work-item that are under way at once, so few elements that 32 registers are enough: then four work-groups are resident.
// In SPIR-V more of them would only make the modules larger.
#if !defined(__NVPTX__) || UNIT == 4 || (FROM_BYTES == 2 && ITEM_BYTES == 8)
#define BATCH 1
#elif FROM_BYTES == 1 && ITEM_BYTES <= 2
#define BATCH 4
#else
#define BATCH 2
#endif

#if FROM_BYTES == 1
typedef u8 FromItem;
#elif FROM_BYTES == 2
typedef u16 FromItem;
#else
typedef From FromItem;
#endif
#if ITEM_BYTES == 16
typedef To ToItem;
#else
typedef Element ToItem;
#endif
#if UNIT == 1
typedef FromItem FromUnit;
typedef ToItem ToUnit;
#define PART(unit, e) unit
#else
typedef FromItem FromUnit __attribute__((ext_vector_type(UNIT)));
typedef ToItem ToUnit __attribute__((ext_vector_type(UNIT)));
#define PART(unit, e) unit[e]
#endif

#ifdef __NVPTX__
// Otherwise the compiler keeps several pointers for one, and registers run out.
#define KEPT(number) __asm__("" : "+l"(number))
#else
#define KEPT(number)
#endif

// The pair of dtypes is as in `convert.h`. Before the rows of a tile there are `earlier` ones, which its windows may begin in.
KERNEL_OF(WINDOW_ITEMS) cast_tile(
    global char *restrict dst, global const char *restrict src, u32 pair, TILES, AXIS(0), AXIS(1), AXIS(2), AXIS(3), AXIS(4), AXIS(5),
    u32 earlier)
{
    local Vector vectors[(WINDOW_ROWS * PITCH * ITEM_BYTES + 15) / 16];
    local char *memory = (local char *)vectors;
    FIND_TILE
    if (rest) {
        STEP(0)
        STEP(1)
        STEP(2)
        STEP(3)
        STEP(4)
        STEP(5)
    }
    u32 first_row = LOCAL_ID / ROW_UNITS, first_column = LOCAL_ID % ROW_UNITS * UNIT;
    i32 i = tile_i - (i32)earlier + (i32)first_row, j = tile_j + (i32)first_column;
    i32 end = tile_i + WINDOW_I < (i32)count_i ? tile_i + WINDOW_I : (i32)count_i;
    bool is_whole = j >= 0 && j + UNIT <= (i32)count_j;
    global const char *from = SOURCE_AT(i) + (i64)j * FROM_BYTES;
    i64 step = src_i * ROUND_ROWS;
    KEPT(step);
    local char *held = memory + (first_row * PITCH + first_column) * ITEM_BYTES;
    SHORT while (i < end)
    {
        From in[BATCH * UNIT];
        To out[BATCH * UNIT];
        UNROLLED for (i32 k = 0; k < BATCH; k++)
        {
            FromUnit loaded = (FromUnit)(0);
            if ((u32)(i + k * ROUND_ROWS) < (u32)end) {
                if (is_whole && ((u32)(u64)from & (UNIT * FROM_BYTES - 1)) == 0) {
                    loaded = *(global const FromUnit *)from;
                } else {
                    UNROLLED for (i32 e = 0; e < UNIT; e++)
                        if ((u32)(j + e) < count_j)
                            PART(loaded, e) = *(global const FromItem *)(from + e * FROM_BYTES);
                }
            }
            UNROLLED for (i32 e = 0; e < UNIT; e++) in[k * UNIT + e] = (From)PART(loaded, e);
            from += step;
            KEPT(from);
        }
        if (IS_NARROW(pair))
            convert_narrow(pair, in, out, BATCH * UNIT);
        else
            convert(pair, in, out, BATCH * UNIT);
        UNROLLED for (i32 k = 0; k < BATCH; k++)
        {
            ToUnit cast;
            UNROLLED for (i32 e = 0; e < UNIT; e++) PART(cast, e) = (ToItem)out[k * UNIT + e];
            if ((u32)(i + k * ROUND_ROWS) < (u32)end)
                *(local ToUnit *)(held + k * ROUND_ROWS * PITCH * ITEM_BYTES) = cast;
        }
        i += BATCH * ROUND_ROWS;
        held += BATCH * ROUND_ROWS * PITCH * ITEM_BYTES;
    }
    BARRIER();
#define GATHER_START local const char *start = memory + (row * PITCH + column) * ITEM_BYTES;
#define ELEMENT_PLACE(e) start + (e)*PITCH * ITEM_BYTES
    STORE_WINDOWS(TARGET_AT(j))
}
#endif

#endif

// ---- Records of two to four elements ----
//
// A work-item has as many records as a vector has elements. On the side of the records it shares them with the others through local
// memory, so that both sides are walked vector by vector. Both are aligned to 16 bytes, at every plane.

#if defined(SPLIT) || defined(JOIN)

#define RECORD_ITEMS 256
// Vectors of records in local memory: those of one work-item side by side, permuted such that eight items use different banks.
#define RECORD_PLACE(fields, at) ((fields) == 3 ? (at) : (at) ^ ((at) >> 3 & ((fields) - 1)))

typedef union {
    Vector vectors[4];
    Item items[4 * V];
    u32 words[16];
} Records;

#if ITEM_BYTES >= 4
#define SPLIT_VECTORS(fields)                                                             \
    UNROLLED for (u32 f = 0; f < fields; f++)                                    \
        UNROLLED for (u32 e = 0; e < V; e++) planes.items[f * V + e] = records.items[e * fields + f];
#define JOIN_VECTORS(fields)                                                              \
    UNROLLED for (u32 f = 0; f < fields; f++)                                    \
        UNROLLED for (u32 e = 0; e < V; e++) records.items[e * fields + f] = planes.items[f * V + e];
#else
// A word out of four bytes anywhere in 16 words, whose places are known to the compiler.
static inline __attribute__((always_inline)) u32 pick(const u32 *words, u32 a, u32 b, u32 c, u32 d)
{
    u32 low = PERMUTE(words[a / 4], words[b / 4], (a % 4) | (b % 4 + 4) << 4);
    u32 high = PERMUTE(words[c / 4], words[d / 4], (c % 4) | (d % 4 + 4) << 4);
    return PERMUTE(low, high, 0x5410);
}
// The byte of a record that byte x of the planes comes from, and the other way round.
#define BYTE_OF_RECORDS(fields, x) ((((x) / ITEM_BYTES % V) * fields + (x) / 16) * ITEM_BYTES + (x) % ITEM_BYTES)
#define BYTE_OF_PLANES(fields, x) \
    ((((x) / ITEM_BYTES % fields) * V + (x) / ITEM_BYTES / fields) * ITEM_BYTES + (x) % ITEM_BYTES)
#define SPLIT_VECTORS(fields)                                                                                           \
    UNROLLED for (u32 w = 0; w < 4 * fields; w++) planes.words[w] =                                            \
        pick(records.words, BYTE_OF_RECORDS(fields, 4 * w), BYTE_OF_RECORDS(fields, 4 * w + 1),                         \
             BYTE_OF_RECORDS(fields, 4 * w + 2), BYTE_OF_RECORDS(fields, 4 * w + 3));
#define JOIN_VECTORS(fields)                                                                                            \
    UNROLLED for (u32 w = 0; w < 4 * fields; w++) records.words[w] =                                           \
        pick(planes.words, BYTE_OF_PLANES(fields, 4 * w), BYTE_OF_PLANES(fields, 4 * w + 1),                            \
             BYTE_OF_PLANES(fields, 4 * w + 2), BYTE_OF_PLANES(fields, 4 * w + 3));
#endif

// The part of the axis that this work-group has: `count` records in all, `n0` groups of RECORD_ITEMS vectors along it.
#define FIND_RECORDS                                                 \
    u32 rest = quotient(GROUP_ID, f0, h0);                           \
    u32 group = GROUP_ID - rest * n0, item = LOCAL_ID;               \
    u32 first = (group * RECORD_ITEMS + item) * V;                   \
    STEP(0)                                                          \
    STEP(1)                                                          \
    STEP(2)

#define SPLIT_KERNEL(fields)                                                                                             \
    KERNEL_OF(RECORD_ITEMS) split##fields(                                                                                 \
        global char *restrict dst, global const char *restrict src, u32 n0, u32 f0, u32 h0, u32 count, i64 plane, AXIS(0), \
        AXIS(1), AXIS(2))                                                                                                  \
    {                                                                                                                      \
        local Vector memory[RECORD_ITEMS * fields];                                                                          \
        FIND_RECORDS                                                                                                       \
        Records records, planes;                                                                                           \
        u32 start = group * RECORD_ITEMS * fields, total = count * fields;                                                 \
        UNROLLED for (u32 f = 0; f < fields; f++)                                                                 \
        {                                                                                                                  \
            u32 at = start + f * RECORD_ITEMS + item;                                                                      \
            if ((u64)at * V + V <= total)                                                                                  \
                records.vectors[f] = *(global const Vector *)(src + (i64)at * 16);                                         \
        }                                                                                                                  \
        UNROLLED for (u32 f = 0; f < fields; f++)                                                                 \
        {                                                                                                                  \
            u32 at = start + f * RECORD_ITEMS + item, to = f * RECORD_ITEMS + item;                                        \
            if ((u64)at * V + V <= total)                                                                                  \
                memory[RECORD_PLACE(fields, to)] = records.vectors[f];                                                       \
            else                                                                                                           \
                SHORT for (u32 e = 0; e < V && at * V + e < total; e++)                                                          \
                    ((local Item *)(memory + RECORD_PLACE(fields, to)))[e] = ((global const Item *)src)[at * V + e];         \
        }                                                                                                                  \
        BARRIER();                                                                                                         \
        UNROLLED for (u32 f = 0; f < fields; f++) records.vectors[f] =                                            \
            memory[RECORD_PLACE(fields, item * fields + f)];                                                                 \
        SPLIT_VECTORS(fields)                                                                                              \
        UNROLLED for (u32 f = 0; f < fields; f++)                                                                 \
        {                                                                                                                  \
            global Item *to = (global Item *)(dst + f * plane) + first;                                                    \
            if (first + V <= count)                                                                                        \
                *(global Vector *)to = planes.vectors[f];                                                                  \
        }                                                                                                                  \
        if (first < count && first + V > count)                                                                            \
            SHORT for (u32 e = 0; e < count - first; e++)                                                                        \
                for (u32 f = 0; f < fields; f++)                                                                           \
                    ((global Item *)(dst + f * plane))[first + e] = ((global const Item *)src)[(first + e) * fields + f];  \
    }

#define JOIN_KERNEL(fields) \
    KERNEL_OF(RECORD_ITEMS) join##fields(                                                                                  \
        global char *restrict dst, global const char *restrict src, u32 n0, u32 f0, u32 h0, u32 count, i64 plane, AXIS(0), \
        AXIS(1), AXIS(2))                                                                                                  \
    {                                                                                                                      \
        local Vector memory[RECORD_ITEMS * fields];                                                                          \
        FIND_RECORDS                                                                                                       \
        Records records, planes;                                                                                           \
        if (first + V <= count)                                                                                            \
            UNROLLED for (u32 f = 0; f < fields; f++) planes.vectors[f] =                                         \
                *(global const Vector *)((global const Item *)(src + f * plane) + first);                                  \
        JOIN_VECTORS(fields)                                                                                               \
        UNROLLED for (u32 f = 0; f < fields; f++)                                                                 \
            memory[RECORD_PLACE(fields, item * fields + f)] = records.vectors[f];                                            \
        BARRIER();                                                                                                         \
        u32 start = group * RECORD_ITEMS * fields, whole = count / V * fields;                                             \
        UNROLLED for (u32 f = 0; f < fields; f++)                                                                 \
        {                                                                                                                  \
            u32 at = start + f * RECORD_ITEMS + item;                                                                      \
            if (at < whole)                                                                                                \
                *(global Vector *)(dst + (i64)at * 16) = memory[RECORD_PLACE(fields, f * RECORD_ITEMS + item)];              \
        }                                                                                                                  \
        if (first < count && first + V > count)                                                                            \
            SHORT for (u32 e = 0; e < count - first; e++)                                                                        \
                for (u32 f = 0; f < fields; f++)                                                                           \
                    ((global Item *)dst)[(first + e) * fields + f] = ((global const Item *)(src + f * plane))[first + e];  \
    }

// Two macros, for the number to be replaced.
#define NAMED_SPLIT(fields) SPLIT_KERNEL(fields)
#define NAMED_JOIN(fields) JOIN_KERNEL(fields)
#ifdef SPLIT
NAMED_SPLIT(SPLIT)
#else
NAMED_JOIN(JOIN)
#endif

#endif
