// Copies, casts and fills whose work-items lie along the elements of the target: everything but transposes, which have `tile.cl`.
//
// | kernel | for |
// |---|---|
// | long_rows | long rows dense on both sides, forwards or backwards: vectors of 16 bytes, several at once |
// | rows | other such rows, repeated ones, and one element for a whole row: vectors of 16 bytes |
// | short_rows | short rows of small elements, dense on both sides, a little apart in the source: vectors of 16 bytes by local memory |
// | select | dense rows of the target from elements with gaps, also other short rows: vectors in the target alone |
// | elements | the rest: one element after the other |
//
// The command line defines ITEM_BYTES and LONG_ROWS, ROWS, SHORT_ROWS, SELECT or ELEMENTS: a module has one kernel, which the driver
// compiles on its first use. With FROM_BYTES `select` is a cast from elements of that size; with FILL `rows` and `elements` set all
// elements to one value. All steps and displacements are bytes. The planner is `usm-array/src/copy/copy_kernels/linear/`, which documents the arguments.

#include "dialect.h"
#ifdef FROM_BYTES
#define CAST
#else
#define FROM_BYTES ITEM_BYTES
#endif

// Elements of a chunk, which a work-item of `select` takes at once, and the bytes of them in the target.
#ifndef COUNT
#if defined(CAST) && FROM_BYTES == 4 && ITEM_BYTES == 2
#define COUNT 8
#elif defined(CAST) && FROM_BYTES >= 4 && ITEM_BYTES < 4
#define COUNT 4
#elif defined(CAST) && FROM_BYTES == 2 && ITEM_BYTES == 1
#define COUNT 8
#else
#define COUNT (16 / ITEM_BYTES)
#endif
#endif
#define CHUNK (COUNT * ITEM_BYTES)

#ifdef CAST
#include "convert.h"
// Chunks of a work-item of a cast whose runs are long, and dense on both sides. They are LANES chunks apart.
#ifndef PIECES
#if (FROM_BYTES <= 2 && ITEM_BYTES <= 2) || (FROM_BYTES == 4 && ITEM_BYTES == 1)
#define PIECES 4
#elif FROM_BYTES >= 8 && ITEM_BYTES < FROM_BYTES && !(FROM_BYTES == 8 && ITEM_BYTES == 2)
#define PIECES 1
#else
#define PIECES 2
#endif
#endif
#define LANES 32
#define CAST_PAIR u32 pair,
#elif ITEM_BYTES == 16
typedef u64x2 From;
typedef u64x2 To;
#define CAST_PAIR
#elif ITEM_BYTES == 8
typedef u64 From;
typedef u64 To;
#define CAST_PAIR
#else
typedef u32 From;
typedef u32 To;
#define CAST_PAIR
#endif

typedef u32x4 Vector;

// x / n for x < 2^31, with the factor and the shift that the planner made of n.
static inline u32 quotient(u32 x, u32 factor, u32 shift)
{
    return (u32)((u64)x * factor >> shift);
}

// A loop around: how many steps, the numbers to divide by it, and how far a step goes on either side.
#ifdef FILL
#define AXIS(k) u32 n##k, u32 f##k, u32 h##k, i64 d##k
#define STEP_SOURCE(k, index)
#else
#define AXIS(k) u32 n##k, u32 f##k, u32 h##k, i64 d##k, i64 s##k
#define STEP_SOURCE(k, index) from += (i64)(index) * s##k;
#endif
#define STEP(k)                                  \
    if (rest) {                                  \
        u32 next = quotient(rest, f##k, h##k);   \
        u32 index = rest - next * n##k;          \
        to += (i64)index * d##k;                 \
        STEP_SOURCE(k, index)                    \
        rest = next;                             \
    }
// The outermost loop has what is left.
#define LAST_STEP(k)             \
    to += (i64)rest * d##k;      \
    STEP_SOURCE(k, rest)
#ifdef FILL
#define LAST_AXIS(k) i64 d##k
#else
#define LAST_AXIS(k) i64 d##k, i64 s##k
#endif

#define FOUR_AXES AXIS(1), AXIS(2), AXIS(3), LAST_AXIS(4)
#define STEP_FOUR STEP(1) STEP(2) STEP(3) LAST_STEP(4)
#define SEVEN_AXES AXIS(1), AXIS(2), AXIS(3), AXIS(4), AXIS(5), AXIS(6), LAST_AXIS(7)
#define STEP_SEVEN STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) LAST_STEP(7)

#ifdef FILL
#define SOURCE u64 low, u64 high,
#else
#define SOURCE global const char *restrict src,
#endif

// One element, aligned to its size; of 16 bytes to 8.
#if ITEM_BYTES == 16
__attribute__((unused)) static inline void put(global char *at, To value)
{
    ((global u64 *)at)[0] = value.x;
    ((global u64 *)at)[1] = value.y;
}
#elif ITEM_BYTES == 8
__attribute__((unused)) static inline void put(global char *at, To value) { *(global u64 *)at = value; }
#elif ITEM_BYTES == 4
__attribute__((unused)) static inline void put(global char *at, To value) { *(global u32 *)at = value; }
#elif ITEM_BYTES == 2
__attribute__((unused)) static inline void put(global char *at, To value) { *(global u16 *)at = (u16)value; }
#else
__attribute__((unused)) static inline void put(global char *at, To value) { *(global u8 *)at = (u8)value; }
#endif

#ifndef FILL
#if FROM_BYTES == 16
__attribute__((unused)) static inline From get(global const char *restrict at)
{
    return (From)(((global const u64 *)at)[0], ((global const u64 *)at)[1]);
}
#elif FROM_BYTES == 8
__attribute__((unused)) static inline From get(global const char *restrict at) { return *(global const u64 *)at; }
#elif FROM_BYTES == 4
__attribute__((unused)) static inline From get(global const char *restrict at) { return *(global const u32 *)at; }
#elif FROM_BYTES == 2
__attribute__((unused)) static inline From get(global const char *restrict at) { return *(global const u16 *)at; }
#else
__attribute__((unused)) static inline From get(global const char *restrict at) { return *(global const u8 *)at; }
#endif
#endif

// ---- Dense rows of the target, in vectors ----

#if defined(ROWS) || (defined(LONG_ROWS) && ITEM_BYTES <= 2)
// The lowest element of a vector in two halves goes; the next one follows.
#define SHIFT_UP(low, high) high = high << 8 * ITEM_BYTES | low >> (64 - 8 * ITEM_BYTES), low <<= 8 * ITEM_BYTES

#if ITEM_BYTES <= 2
// So many bytes of a vector in two halves, from one on that is a multiple of them.
static inline void put_piece(global char *to, u64 low, u64 high, u32 first, u32 bytes)
{
    u64 piece = (first < 8 ? low : high) >> (first & 7) * 8;
    if (bytes == 8)
        *(global u64 *)(to + first) = piece;
    else if (bytes == 4)
        *(global u32 *)(to + first) = (u32)piece;
    else if (bytes == 2)
        *(global u16 *)(to + first) = (u16)piece;
    else
        *(global u8 *)(to + first) = (u8)piece;
}
#endif

// The elements of a vector that are in a row of so many bytes, where the vector begins at byte `at`.
static inline void put_vector(global char *to, Vector value, i64 at, i64 row_bytes)
{
    if (at >= 0 && at + 16 <= row_bytes) {
        *(global Vector *)(to + at) = value;
        return;
    }
#if ITEM_BYTES <= 2
    u64 low = (u64)value.x | (u64)value.y << 32, high = (u64)value.z | (u64)value.w << 32;
    u32 begin = at < 0 ? (u32)-at : 0, end = at + 16 > row_bytes ? (u32)(row_bytes - at) : 16;
    to += at;
    // Pieces that are aligned to their size: up to multiples of 2, 4 and 8 bytes, and down again.
    _Pragma("unroll") for (u32 bytes = ITEM_BYTES; bytes <= 8; bytes *= 2)
        if ((begin & bytes) && begin + bytes <= end)
            put_piece(to, low, high, begin, bytes), begin += bytes;
    _Pragma("unroll") for (u32 bytes = 8; bytes >= ITEM_BYTES; bytes /= 2)
        if (begin + bytes <= end)
            put_piece(to, low, high, begin, bytes), begin += bytes;
#elif ITEM_BYTES <= 8
    _Pragma("unroll") for (u32 e = 0; e < 16 / ITEM_BYTES; e++)
        if (at + e * ITEM_BYTES >= 0 && at + e * ITEM_BYTES < row_bytes)
#if ITEM_BYTES == 4
            put(to + at + e * 4, value[e]);
#else
            put(to + at + e * 8, (u64)value[2 * e] | (u64)value[2 * e + 1] << 32);
#endif
#endif
}
#endif

#if defined(ROWS) && !defined(FILL)
// All bytes of a vector are one element.
static inline Vector splat(To value)
{
#if ITEM_BYTES == 16
    return __builtin_astype(value, Vector);
#elif ITEM_BYTES == 8
    return (Vector)((u32)value, (u32)(value >> 32), (u32)value, (u32)(value >> 32));
#else
#if ITEM_BYTES == 1
    value = (value & 255) * 0x01010101;
#elif ITEM_BYTES == 2
    value = (value & 0xffff) * 0x00010001;
#endif
    return (Vector)(value);
#endif
}

#endif

#if (defined(ROWS) || defined(LONG_ROWS)) && !defined(FILL) && ITEM_BYTES <= 2
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

#if (defined(ROWS) || defined(LONG_ROWS)) && !defined(FILL)
#if ITEM_BYTES < 16
// 16 bytes of two vectors, from byte `shift` of the first one on: an element begins there, and not at byte 0.
static inline Vector middle(Vector a, Vector b, u32 shift)
{
#if ITEM_BYTES == 8
    (void)shift;
    return (Vector)(a.z, a.w, b.x, b.y);
#else
    u32 w[7] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z};
    if (shift & 8) {
        w[0] = a.z, w[1] = a.w, w[2] = b.x, w[3] = b.y, w[4] = b.z, w[5] = b.w;
    }
    if (shift & 4) {
        w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = w[4], w[4] = w[5];
    }
#if ITEM_BYTES <= 2
    u32 selector = 0x3210 + 0x1111 * (shift & 3);
    w[0] = PERMUTE(w[0], w[1], selector);
    w[1] = PERMUTE(w[1], w[2], selector);
    w[2] = PERMUTE(w[2], w[3], selector);
    w[3] = PERMUTE(w[3], w[4], selector);
#endif
    return (Vector)(w[0], w[1], w[2], w[3]);
#endif
}
#endif

#if defined(ROWS) || ITEM_BYTES <= 2
// The 16 bytes from `at` on, with aligned loads. Those below `low` or from `high` on are not the source's, and any.
static inline Vector get_vector(global const char *restrict src, i64 at, i64 low, i64 high)
{
    u32 shift = (u32)(u64)(src + at) & 15;
    i64 first = at - shift;
    if (first < low || first + (shift ? 32 : 16) > high) {
#if ITEM_BYTES == 16
        return splat(get(src + at));
#elif ITEM_BYTES >= 4
        Vector edge = (Vector)(0);
        _Pragma("unroll") for (u32 e = 0; e < 16 / ITEM_BYTES; e++)
        {
            i64 byte = at + e * ITEM_BYTES;
            if (byte >= low && byte < high) {
#if ITEM_BYTES == 4
                edge[e] = get(src + byte);
#else
                u64 element = get(src + byte);
                edge[2 * e] = (u32)element;
                edge[2 * e + 1] = (u32)(element >> 32);
#endif
            }
        }
        return edge;
#else
        u64 low_half = 0, high_half = 0;
        _Pragma("nounroll") for (i64 byte = at + 16 - ITEM_BYTES; byte >= at; byte -= ITEM_BYTES)
        {
            SHIFT_UP(low_half, high_half);
            if (byte >= low && byte < high)
                low_half |= get(src + byte);
        }
        return (Vector)((u32)low_half, (u32)(low_half >> 32), (u32)high_half, (u32)(high_half >> 32));
#endif
    }
    Vector a = *(global const Vector *)(src + first);
#if ITEM_BYTES < 16
    if (shift)
        a = middle(a, *(global const Vector *)(src + first + 16), shift);
#endif
    return a;
}
#endif

// The elements of a vector in reverse.
static inline Vector reversed(Vector v)
{
#if ITEM_BYTES == 1
    return (Vector)(PERMUTE(v.w, 0, 0x0123), PERMUTE(v.z, 0, 0x0123), PERMUTE(v.y, 0, 0x0123), PERMUTE(v.x, 0, 0x0123));
#elif ITEM_BYTES == 2
    return (Vector)(PERMUTE(v.w, 0, 0x1032), PERMUTE(v.z, 0, 0x1032), PERMUTE(v.y, 0, 0x1032), PERMUTE(v.x, 0, 0x1032));
#elif ITEM_BYTES == 4
    return v.wzyx;
#elif ITEM_BYTES == 8
    return v.zwxy;
#else
    return v;
#endif
}
#endif

#if defined(ROWS)
// Rows of `row_bytes` bytes, each in `vectors` vectors, the first of which begins at a multiple of `line` + 1 bytes. A work-item loads
// one vector, and stores it to `each` of `repeats` places: `repeat_step` bytes apart in other rows, or `row_step` in the same one.
KERNEL rows(global char *restrict dst, SOURCE
#ifndef FILL
    // 1 forwards, -1 backwards, 0 one element; the bytes of the source, counted from where its first row begins.
    i32 direction, i64 low, i64 high,
#endif
    u32 total, i64 row_bytes, u32 line, u32 vectors, u32 f0, u32 h0,
    u32 repeats, u32 each, u32 repeat_groups, u32 fr, u32 hr, i64 repeat_step, i64 row_step, FOUR_AXES)
{
    u32 id = GROUP_ID * LOCAL_SIZE + LOCAL_ID;
    if (id >= total)
        return;
    u32 rest = quotient(id, f0, h0);
    i64 at = (i64)(id - rest * vectors) * 16;
    u32 group = rest;
    rest = quotient(rest, fr, hr);
    u32 repeat = (group - rest * repeat_groups) * each;
    i64 to = (i64)repeat * repeat_step;
#ifndef FILL
    i64 from = 0;
#endif
    STEP_FOUR
    at -= (u32)(u64)(dst + to) & line;
    if ((at + 16 <= 0 && row_step == 0) || at >= row_bytes)
        return;
#ifdef FILL
    Vector value = __builtin_astype((u64x2)(low, high), Vector);
#else
    Vector value;
    if (direction > 0)
        value = get_vector(src, from + at, low, high);
    else if (direction < 0)
        value = reversed(get_vector(src, from - at - 16 + ITEM_BYTES, low, high));
    else
        value = splat(get(src + from));
#endif
    u32 end = repeats - repeat < each ? repeats - repeat : each;
    for (u32 row = 0; row < end; row++) {
        if (at + 16 > 0 && at < row_bytes)
            put_vector(dst + to, value, at, row_bytes);
        to += repeat_step;
        at += row_step;
    }
}
#endif

#if defined(LONG_ROWS) || defined(SHORT_ROWS)
#define LINE 128
#endif

#ifdef LONG_ROWS
// Vectors of a work-item, and how many bytes they are apart.
#define VECTORS 2

// Forwards or backwards. SPIR-V cannot choose between vectors by one condition, to which the compiler would turn an `if`.
static inline Vector turned(Vector v, i32 direction) { return v ^ ((v ^ reversed(v)) & (u32)(direction >> 31)); }

// Rows of `row_bytes` bytes, forwards (1) or backwards (-1), each in vectors of `items` work-items, the first of which begins at a
// multiple of LINE bytes. The source has the bytes from `low` to `high`, counted from where its first row begins.
KERNEL long_rows(global char *restrict dst, SOURCE i32 direction, i64 low, i64 high, u32 total, i64 row_bytes, u32 items, u32 f0,
    u32 h0, FOUR_AXES)
{
    u32 id = GROUP_ID * LOCAL_SIZE + LOCAL_ID;
    if (id >= total)
        return;
    u32 rest = quotient(id, f0, h0);
    u32 item = id - rest * items;
    // Adjacent work-items have adjacent vectors of a line.
    u32 place = item & (LINE / 16 - 1);
    i64 at = (i64)((item - place) * VECTORS + place) * 16;
    i64 to = 0, from = 0;
    STEP_FOUR
    at -= (u32)(u64)(dst + to) & (LINE - 1);
    if (at >= row_bytes)
        return;
    if (at >= 0 && at + (VECTORS - 1) * LINE + 16 <= row_bytes) {
        // For each vector two of the source, which are aligned.
        i64 first = direction > 0 ? from + at : from - at - 16 + ITEM_BYTES;
        u32 shift = (u32)(u64)(src + first) & 15;
        first -= shift;
        i64 step = direction > 0 ? LINE : -LINE, last = first + (VECTORS - 1) * step;
        if (first >= low && last >= low && first + 32 <= high && last + 32 <= high) {
            Vector values[VECTORS];
            _Pragma("unroll") for (u32 k = 0; k < VECTORS; k++)
                values[k] = *(global const Vector *)(src + first + (i64)k * step);
            if (shift) {
                Vector next[VECTORS];
                _Pragma("unroll") for (u32 k = 0; k < VECTORS; k++)
                    next[k] = *(global const Vector *)(src + first + (i64)k * step + 16);
                _Pragma("unroll") for (u32 k = 0; k < VECTORS; k++) values[k] = middle(values[k], next[k], shift);
            }
            _Pragma("unroll") for (u32 k = 0; k < VECTORS; k++)
                *(global Vector *)(dst + to + at + (i64)k * LINE) = turned(values[k], direction);
            return;
        }
    }
    // At the ends of rows and of the source.
    _Pragma("nounroll") for (u32 k = 0; k < VECTORS; k++)
    {
#if ITEM_BYTES <= 2
        if (at + 16 > 0 && at < row_bytes) {
            i64 lowest = direction > 0 ? from + at : from - at - 16 + ITEM_BYTES;
            put_vector(dst + to, turned(get_vector(src, lowest, low, high), direction), at, row_bytes);
        }
#else
        _Pragma("unroll") for (u32 e = 0; e < 16 / ITEM_BYTES; e++)
        {
            i64 byte = at + e * ITEM_BYTES;
            if (byte >= 0 && byte < row_bytes)
                put(dst + to + byte, get(src + from + (direction > 0 ? byte : -byte)));
        }
#endif
        at += LINE;
    }
}
#endif

// ---- Short rows ----

#ifdef SHORT_ROWS
// Work-items of a group, the vectors of the target that each of them has, and the bytes of the target that the group has.
#define SHORT_ITEMS 128
#define SHORT_VECTORS 2
#define SHORT_BYTES (SHORT_ITEMS * SHORT_VECTORS * 16)
// The source has at most twice as many, from row to row; parts of vectors and of words may be before and behind.
#define SHORT_LOCAL_BYTES (2 * SHORT_BYTES + 64)
#define SHORT_LOADS ((SHORT_LOCAL_BYTES / 16 + SHORT_ITEMS - 1) / SHORT_ITEMS)

// The word from a byte of local memory on.
static inline u32 word_at(local const char *memory, u32 place)
{
    local const u32 *words = (local const u32 *)(memory + (place & ~3u));
    return (u32)(((u64)words[1] << 32 | words[0]) >> (place & 3) * 8);
}

// Runs of `count` elements that are dense in the target, each in `groups` work-groups, the first of which begins at a multiple of LINE
// bytes. In the source they are rows of `m0` elements, 3 bytes or more, `pitch` bytes apart; it has the bytes from `low` to `high`,
// counted from where its first row begins.
KERNEL_OF(SHORT_ITEMS) short_rows(global char *restrict dst, SOURCE i64 low, i64 high, u32 count, u32 groups, u32 f0, u32 h0, u32 m0,
    u32 g0, u32 k0, u32 pitch, FOUR_AXES)
{
    local Vector vectors[SHORT_LOCAL_BYTES / 16];
    local char *memory = (local char *)vectors;
    u32 rest = quotient(GROUP_ID, f0, h0);
    i32 first = (i32)((GROUP_ID - rest * groups) * (SHORT_BYTES / ITEM_BYTES));
    i64 to = 0, from = 0;
    STEP_FOUR
    first -= (i32)(((u32)(u64)(dst + to) & (LINE - 1)) / ITEM_BYTES);
    i32 begin = first < 0 ? 0 : first, end = first + SHORT_BYTES / ITEM_BYTES;
    end = end < (i32)count ? end : (i32)count;
    if (begin >= end)
        return;
    // All that lies between the first element and the last one, from whole vectors on.
    u32 row = quotient((u32)begin, g0, k0), last = quotient((u32)end - 1, g0, k0);
    i64 lowest = from + (i64)row * pitch + (((u32)begin - row * m0) * ITEM_BYTES);
    i64 highest = from + (i64)last * pitch + (((u32)end - last * m0) * ITEM_BYTES);
    lowest -= (u32)(u64)(src + lowest) & 15;
    u32 held = (u32)(highest - lowest + 15) / 16;
    if (lowest >= low && lowest + (i64)held * 16 <= high) {
        Vector moved[SHORT_LOADS];
        _Pragma("unroll") for (u32 k = 0; k < SHORT_LOADS; k++)
            if (LOCAL_ID + k * SHORT_ITEMS < held)
                moved[k] = *(global const Vector *)(src + lowest + (LOCAL_ID + k * SHORT_ITEMS) * 16);
        _Pragma("unroll") for (u32 k = 0; k < SHORT_LOADS; k++)
            if (LOCAL_ID + k * SHORT_ITEMS < held)
                vectors[LOCAL_ID + k * SHORT_ITEMS] = moved[k];
    } else {
        // At the ends of the source.
        _Pragma("nounroll") for (u32 e = LOCAL_ID; e < held * (16 / ITEM_BYTES); e += SHORT_ITEMS)
        {
            i64 byte = lowest + (i64)e * ITEM_BYTES;
            if (byte >= low && byte < high)
                ((local Element *)memory)[e] = *(global const Element *)(src + byte);
        }
    }
    BARRIER();
    u32 start = (u32)(from - lowest), gap = pitch - m0 * ITEM_BYTES;
    _Pragma("unroll") for (u32 k = 0; k < SHORT_VECTORS; k++)
    {
        i32 x = first + (i32)((k * SHORT_ITEMS + LOCAL_ID) * COUNT);
        u32 at = x < 0 ? 0 : (u32)x, in_row = quotient(at, g0, k0), i = at - in_row * m0;
        u32 place = start + in_row * pitch + i * ITEM_BYTES;
        if (x >= 0 && x + COUNT <= (i32)count) {
            u32 w[4];
            _Pragma("unroll") for (u32 word = 0; word < 4; word++)
            {
                w[word] = word_at(memory, place);
                u32 left = (m0 - i) * ITEM_BYTES;
                if (left < 4) {
                    u32 mask = 0xffffffff << 8 * left;
                    w[word] = (w[word] & ~mask) | (word_at(memory, place + gap) & mask);
                }
                place += 4;
                i += 4 / ITEM_BYTES;
                // Rows of three bytes end twice.
                if (i >= m0)
                    i -= m0, place += gap;
                if (i >= m0)
                    i -= m0, place += gap;
            }
            *(global Vector *)(dst + to + (i64)x * ITEM_BYTES) = (Vector)(w[0], w[1], w[2], w[3]);
        } else {
            i32 behind = x + COUNT < (i32)count ? x + COUNT : (i32)count;
            _Pragma("nounroll") for (i32 e = (i32)at; e < behind; e++)
            {
                put(dst + to + (i64)e * ITEM_BYTES, *(local const Element *)(memory + place));
                place += ITEM_BYTES;
                if (++i == m0)
                    i = 0, place += gap;
            }
        }
    }
}
#endif

// ---- Dense rows of the target from anywhere ----

#if defined(SELECT)
#ifdef CAST
// In the target the elements of a run may have gaps, too.
#define CAST_RUN i64 step, u32 each,
#define SELECT_AXES SEVEN_AXES
#define STEP_AXES STEP_SEVEN
#else
#define CAST_RUN
#define SELECT_AXES FOUR_AXES
#define STEP_AXES STEP_FOUR
#endif

#ifdef CAST
// Bytes of a chunk in the source, and how they are aligned to be loaded as vectors.
#define SPAN (COUNT * FROM_BYTES)
#define VECTORS_AT (SPAN < 16 ? SPAN : 16)

// COUNT elements that are adjacent in the source.
static inline void get_vectors(global const char *restrict src, From *in)
{
#if COUNT == 1
#if FROM_BYTES == 16
    in[0] = *(global const u64x2 *)src;
#else
    in[0] = get(src);
#endif
#elif FROM_BYTES == 16
    _Pragma("unroll") for (u32 e = 0; e < COUNT; e++) in[e] = *(global const u64x2 *)(src + e * 16);
#elif FROM_BYTES == 8
    _Pragma("unroll") for (u32 k = 0; k < COUNT / 2; k++)
    {
        u64x2 v = *(global const u64x2 *)(src + k * 16);
        in[2 * k] = v.x, in[2 * k + 1] = v.y;
    }
#else
    u32 words[(SPAN + 3) / 4];
#if SPAN >= 16
    _Pragma("unroll") for (u32 k = 0; k < SPAN / 16; k++)
    {
        Vector v = *(global const Vector *)(src + k * 16);
        words[4 * k] = v.x, words[4 * k + 1] = v.y, words[4 * k + 2] = v.z, words[4 * k + 3] = v.w;
    }
#elif SPAN == 8
    u32x2 v = *(global const u32x2 *)src;
    words[0] = v.x, words[1] = v.y;
#elif SPAN == 4
    words[0] = *(global const u32 *)src;
#else
    words[0] = *(global const u16 *)src;
#endif
    _Pragma("unroll") for (u32 e = 0; e < COUNT; e++)
    {
        in[e] = words[e * FROM_BYTES / 4] >> e * FROM_BYTES % 4 * 8;
#if FROM_BYTES < 4
        in[e] &= (1u << 8 * FROM_BYTES) - 1;
#endif
    }
#endif
}

static inline bool is_aligned(global const char *src) { return ((u32)(u64)src & (VECTORS_AT - 1)) == 0; }
#endif

// COUNT elements that are adjacent in the target.
static inline void put_dense(global char *to, const To *out)
{
#if ITEM_BYTES == 16
    if (((u32)(u64)to & 15) == 0)
        *(global To *)to = out[0];
    else
        put(to, out[0]);
#elif ITEM_BYTES == 8 && COUNT == 2
    *(global u64x2 *)to = (u64x2)(out[0], out[1]);
#elif COUNT == 1
    put(to, out[0]);
#elif ITEM_BYTES == 4 && COUNT == 4
    *(global u32x4 *)to = (u32x4)(out[0], out[1], out[2], out[3]);
#elif ITEM_BYTES == 4
    *(global u32x2 *)to = (u32x2)(out[0], out[1]);
#elif CHUNK >= 4
    u32 w[CHUNK / 4];
    _Pragma("unroll") for (u32 k = 0; k < CHUNK / 4; k++)
    {
#if ITEM_BYTES == 2
        w[k] = (out[2 * k] & 0xffff) | out[2 * k + 1] << 16;
#else
        w[k] = (out[4 * k] & 255) | (out[4 * k + 1] & 255) << 8 | (out[4 * k + 2] & 255) << 16 | out[4 * k + 3] << 24;
#endif
    }
#if CHUNK == 16
    *(global u32x4 *)to = (u32x4)(w[0], w[1], w[2], w[3]);
#elif CHUNK == 8
    *(global u32x2 *)to = (u32x2)(w[0], w[1]);
#else
    *(global u32 *)to = w[0];
#endif
#else
    *(global u16 *)to = (u16)((out[0] & 255) | out[1] << 8);
#endif
}

// COUNT elements of a run from the place `x` on, as far as they are in it.
__attribute__((always_inline)) static inline void select_chunk(global char *restrict dst, SOURCE CAST_PAIR
#ifdef CAST
    i64 step,
#endif
    i32 x, u32 count, u32 m0, u32 g0, u32 k0, i64 t0, u32 m1, u32 g1, u32 k1, i64 t1, i64 t2)
{
    if (x + COUNT <= 0 || x >= (i32)count)
        return;
    bool whole = x >= 0 && x + COUNT <= (i32)count;
    u32 first = x < 0 ? 0 : (u32)x;
    u32 row = quotient(first, g0, k0), plane = quotient(row, g1, k1);
    u32 i = first - row * m0, j = row - plane * m1;
    i64 from = (i64)i * t0 + (i64)j * t1 + (i64)plane * t2;
    From in[COUNT];
    if (whole && i + COUNT <= m0) {
#ifdef CAST
        if (t0 == FROM_BYTES && is_aligned(src + from))
            get_vectors(src + from, in);
        else
#endif
            _Pragma("unroll") for (u32 e = 0; e < COUNT; e++) in[e] = get(src + from + (i64)e * t0);
    } else {
        i64 wrap = t1 - (i64)m0 * t0, next_plane = t2 - (i64)m1 * t1;
        _Pragma("unroll") for (u32 e = 0; e < COUNT; e++)
        {
            in[e] = (From)(0);
            if (x + (i32)e >= 0 && x + (i32)e < (i32)count) {
                in[e] = get(src + from);
                from += t0;
                if (++i == m0) {
                    i = 0;
                    from += wrap;
                    if (++j == m1) {
                        j = 0;
                        from += next_plane;
                    }
                }
            }
        }
    }
#ifdef CAST
    To out[COUNT];
    if (IS_NARROW(pair))
        convert_narrow(pair, in, out, COUNT);
    else
        convert(pair, in, out, COUNT);
#else
    To *out = in;
#endif
#ifndef CAST
    const i64 step = ITEM_BYTES;
#endif
    dst += (i64)x * step;
    if (whole && step == ITEM_BYTES) {
        put_dense(dst, out);
    } else {
        _Pragma("unroll") for (u32 e = 0; e < COUNT; e++)
            if (x + (i32)e >= 0 && x + (i32)e < (i32)count)
                put(dst + (i64)e * step, out[e]);
    }
}

// Runs of `count` elements that are dense in the target, each in `chunks` chunks; in the source, up to three loops of theirs. Of casts,
// `each` is 1 or PIECES: then the run is dense on both sides, and `chunks` are those that the first one of PIECES is among.
KERNEL select(global char *restrict dst, SOURCE CAST_PAIR CAST_RUN u32 total, u32 count, u32 line, u32 chunks, u32 f0, u32 h0,
    u32 m0, u32 g0, u32 k0, i64 t0, u32 m1, u32 g1, u32 k1, i64 t1, i64 t2, SELECT_AXES)
{
    u32 id = GROUP_ID * LOCAL_SIZE + LOCAL_ID;
    if (id >= total)
        return;
    u32 rest = quotient(id, f0, h0);
    u32 chunk = id - rest * chunks;
#if defined(CAST) && PIECES > 1
    if (each > 1)
        chunk = chunk / LANES * (LANES * PIECES) + chunk % LANES;
#endif
    i32 x = (i32)(chunk * COUNT);
    i64 to = 0, from = 0;
    STEP_AXES
    x -= (i32)(((u32)(u64)(dst + to) & line) / ITEM_BYTES);
#if defined(CAST) && PIECES > 1
#ifdef __NVPTX__
    // Only here, since all casts a second time would be a third of a module.
    bool aligned = is_aligned(src + from + (i64)x * FROM_BYTES);
    if (each > 1 && x >= 0 && x + (PIECES - 1) * LANES * COUNT + COUNT <= (i32)count && (aligned || FROM_BYTES >= 4)) {
        from += (i64)x * FROM_BYTES;
        to += (i64)x * ITEM_BYTES;
#if FROM_BYTES == 1 && ITEM_BYTES == 1
        Vector v[PIECES];
        _Pragma("unroll") for (u32 k = 0; k < PIECES; k++) v[k] = *(global const Vector *)(src + from + k * LANES * SPAN);
        _Pragma("unroll") for (u32 k = 0; k < PIECES; k++)
            *(global Vector *)(dst + to + k * LANES * CHUNK) = convert_bytes(v[k]);
#else
        From in[PIECES * COUNT];
        To out[PIECES * COUNT];
        if (aligned) {
            _Pragma("unroll") for (u32 k = 0; k < PIECES; k++) get_vectors(src + from + k * LANES * SPAN, in + k * COUNT);
        } else {
            _Pragma("unroll") for (u32 e = 0; e < PIECES * COUNT; e++)
                in[e] = get(src + from + (e / COUNT * LANES * COUNT + e % COUNT) * FROM_BYTES);
        }
        // All narrow numbers would be half of a module: those from and to binary32 come in pieces, the host gives the others one.
#if FROM_BYTES + ITEM_BYTES > 4
        if (IS_NARROW(pair))
            convert_narrow(pair, in, out, PIECES * COUNT);
        else
#endif
            convert(pair, in, out, PIECES * COUNT);
        _Pragma("unroll") for (u32 k = 0; k < PIECES; k++) put_dense(dst + to + k * LANES * CHUNK, out + k * COUNT);
#endif
        return;
    }
#endif
    u32 piece = 0;
    _Pragma("nounroll") do
    {
#else
    {
#endif
        select_chunk(dst + to, src + from,
#ifdef CAST
            pair, step,
#endif
            x, count, m0, g0, k0, t0, m1, g1, k1, t1, t2);
    }
#if defined(CAST) && PIECES > 1
    while (x += LANES * COUNT, ++piece < each);
#elif defined(CAST)
    (void)each;
#endif
}
#endif

// ---- One element after the other ----

#ifdef ELEMENTS
// Elements of a work-item: those that are adjacent in the order of the loops are at adjacent work-items.
#ifndef EACH_ITEM
#if ITEM_BYTES == 16
#define EACH_ITEM 1
#else
#define EACH_ITEM 2
#endif
#endif

#ifdef FILL
#define READ(e)
#if ITEM_BYTES == 16
#define WRITE(e)                                    \
    if (((u32)(u64)(dst + places[e]) & 15) == 0)    \
        *(global To *)(dst + places[e]) = value;    \
    else                                            \
        put(dst + places[e], value);
#else
#define WRITE(e) put(dst + places[e], value);
#endif
#else
#define READ(e) in[e] = get(src + from);
#define WRITE(e) put(dst + places[e], in[e]);
#endif

KERNEL elements(global char *restrict dst, SOURCE u32 total, u32 n0, u32 f0, u32 h0, i64 d0,
#ifndef FILL
    i64 s0,
#endif
    SEVEN_AXES)
{
    i64 places[EACH_ITEM];
#ifdef FILL
#if ITEM_BYTES == 16
    To value = (To)(low, high);
#else
    To value = (To)low;
    (void)high;
#endif
#else
    From in[EACH_ITEM];
#endif
    u32 start = GROUP_ID * (LOCAL_SIZE * EACH_ITEM) + LOCAL_ID;
    _Pragma("unroll") for (u32 e = 0; e < EACH_ITEM; e++)
    {
        u32 rest = start + e * LOCAL_SIZE;
        if (rest < total) {
            i64 to = 0;
#ifndef FILL
            i64 from = 0;
#endif
            STEP(0)
            STEP_SEVEN
            places[e] = to;
            READ(e)
        }
    }
    _Pragma("unroll") for (u32 e = 0; e < EACH_ITEM; e++)
        if (start + e * LOCAL_SIZE < total) {
            WRITE(e)
        }
}
#endif
