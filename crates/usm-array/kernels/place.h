// The place along an axis of so many places that an integer names.

#ifndef USM_PLACE_H
#define USM_PLACE_H

#include "elements.h"

// What becomes of integers outside of their axis.
#define RAISE 0
#define WRAP 1
#define CLIP 2

// -1 if it names none.
static inline i64 place_of(u64 bits, u32 dtype, u32 mode, i64 size)
{
    u64 index = widen(bits, dtype);
    bool is_negative = KIND_OF(dtype) == SIGNED && (i64)index < 0;
    if (!is_negative && index < (u64)size)
        return (i64)index;
    if (mode == CLIP)
        return is_negative && size ? 0 : size - 1;
    if (mode == RAISE || !size) {
        i64 place = (i64)index + size;
        return is_negative && place >= 0 && size ? place : -1;
    }
    // No overflow: what is negated is at most the size.
    i64 rest = is_negative ? (i64)index % size : (i64)(index % (u64)size);
    return rest < 0 ? rest + size : rest;
}

#endif
