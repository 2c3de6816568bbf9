// What all kernels share before their block function: the element, and the names the language needs.
//
// The compiler's command line defines ITEM_BYTES. Elements are moved as bits: of the dtypes only their size matters.

// Declared here, since the compiler's own header is not part of every installation.
__attribute__((overloadable, const)) unsigned long get_group_id(unsigned int dimension);
__attribute__((overloadable, const)) unsigned long get_local_id(unsigned int dimension);
__attribute__((overloadable, const)) unsigned long get_local_size(unsigned int dimension);

#if ITEM_BYTES == 1
typedef unsigned char Element;
#elif ITEM_BYTES == 2
typedef unsigned short Element;
#elif ITEM_BYTES == 4
typedef unsigned int Element;
#elif ITEM_BYTES == 8
typedef unsigned long Element;
#else
// Two halves, since complex numbers of 16 bytes are aligned to 8.
typedef struct { unsigned long low, high; } Element;
#endif

typedef global Element *restrict Target;

#ifdef FILL
// The element's bytes, then zeros.
typedef struct { unsigned long low, high; } Source;
#else
typedef global const Element *restrict Source;
#endif

// A part of the plane of the two innermost loops, and how far one step goes on either side, in elements.
typedef struct {
    long cols, col_dst, col_src;
    long rows, row_dst, row_src;
} Plane;
