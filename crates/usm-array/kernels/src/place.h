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
    u32 unused = 64 - 8 * SIZE_OF(dtype);
    bool is_signed = KIND_OF(dtype) == SIGNED;
    u64 index = is_signed ? (u64)((i64)(bits << unused) >> unused) : bits;
    bool is_negative = is_signed && (i64)index < 0;
    if (!is_negative && index < (u64)size)
        return (i64)index;
    if (mode == CLIP)
        return is_negative && size ? 0 : size - 1;
    if (mode == RAISE || !size) {
        i64 place = (i64)index + size;
        return is_negative && place >= 0 && size ? place : -1;
    }
    // What is negative counts from the end: -1 is 0 from there.
    u64 rest = (is_negative ? ~index : index) % (u64)size;
    return is_negative ? size - 1 - (i64)rest : (i64)rest;
}

#endif
