// What the kernels share: the dialect of OpenCL C that one clang compiles to SPIR-V, for SYCL devices, and to PTX, for GPUs of NVIDIA.
//
// Kernels have one dimension. Their arguments are `global` pointers, and numbers of 32 or 64 bits.

#ifndef USM_DIALECT_H
#define USM_DIALECT_H

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef u64 u64x2 __attribute__((ext_vector_type(2)));

// Not `kernel`: of that the compiler would keep a second copy, as a function that other kernels could call.
#define KERNEL __attribute__((device_kernel)) void
// A kernel whose work-groups always have so many work-items.
#define KERNEL_OF(items) __attribute__((device_kernel)) __attribute__((reqd_work_group_size(items, 1, 1))) void

#ifdef __NVPTX__
#define LOCAL_ID ((u32)__nvvm_read_ptx_sreg_tid_x())
#define LOCAL_SIZE ((u32)__nvvm_read_ptx_sreg_ntid_x())
#define GROUP_ID ((u32)__nvvm_read_ptx_sreg_ctaid_x())
#define NUM_GROUPS ((u32)__nvvm_read_ptx_sreg_nctaid_x())
#define BARRIER() __syncthreads()
#else
// Declared here, since the compiler's own header is not part of every installation.
__attribute__((overloadable, const)) unsigned long get_group_id(unsigned int dimension);
__attribute__((overloadable, const)) unsigned long get_num_groups(unsigned int dimension);
__attribute__((overloadable, const)) unsigned long get_local_id(unsigned int dimension);
__attribute__((overloadable, const)) unsigned long get_local_size(unsigned int dimension);
__attribute__((overloadable, convergent)) void barrier(unsigned int flags);
#define LOCAL_ID ((u32)get_local_id(0))
#define LOCAL_SIZE ((u32)get_local_size(0))
#define GROUP_ID ((u32)get_group_id(0))
#define NUM_GROUPS ((u32)get_num_groups(0))
// The flag of local memory.
#define BARRIER() barrier(1)
#endif

// The bits of an element of ITEM_BYTES bytes.
#ifdef ITEM_BYTES
#if ITEM_BYTES == 1
typedef u8 Element;
#elif ITEM_BYTES == 2
typedef u16 Element;
#elif ITEM_BYTES == 4
typedef u32 Element;
#elif ITEM_BYTES == 8
typedef u64 Element;
#else
// Two halves, since complex numbers of 16 bytes are aligned to 8.
typedef struct {
    u64 low, high;
} Element;
#endif
#endif

#endif
