// Source of kernels.ptx, which clang 22 made:
// clang --target=nvptx64-nvidia-cuda -march=sm_70 -Xclang -target-feature -Xclang +ptx63 -x cl -cl-std=CL2.0 -cl-no-stdinc -O2 -S
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned long ulong;
typedef uint uint4 __attribute__((ext_vector_type(4)));
#define K __attribute__((device_kernel))
#define TX __nvvm_read_ptx_sreg_tid_x()
#define TY __nvvm_read_ptx_sreg_tid_y()
#define BX __nvvm_read_ptx_sreg_ctaid_x()
#define BY __nvvm_read_ptx_sreg_ctaid_y()
#define NX __nvvm_read_ptx_sreg_ntid_x()
#define BAR() __syncthreads()
// tiles of 32x33 words through shared memory
K void transpose(global uint *restrict to, global const uint *restrict from, uint rows, uint columns) {
  local uint tile[32][33];
  uint x = BX * 32 + TX;
  for (uint k = 0; k < 32; k += 8) { uint y = BY * 32 + TY + k; if (x < columns && y < rows) tile[TY + k][TX] = from[(ulong)y * columns + x]; }
  BAR();
  uint y = BX * 32; x = BY * 32 + TX;
  for (uint k = 0; k < 32; k += 8) { uint r = y + TY + k; if (x < rows && r < columns) to[(ulong)r * rows + x] = tile[TX][TY + k]; }
}
// reversed bytes, 16 a thread
K void reverse(global uint4 *to, global const uint4 *from, uint n) {
  uint i = BX * NX + TX; if (i >= n) return;
  uint4 v = from[i];
  uint4 r = (uint4)(__nvvm_prmt(v.w, 0, 0x0123), __nvvm_prmt(v.z, 0, 0x0123), __nvvm_prmt(v.y, 0, 0x0123), __nvvm_prmt(v.x, 0, 0x0123));
  to[n - 1 - i] = r;
}
// casts by a number of the pair
K void casts(global char *to, global const char *from, uint kind, uint n) {
  uint i = BX * NX + TX; if (i >= n) return;
  switch (kind) {
    case 0: ((global float *)to)[i] = ((global const int *)from)[i]; break;
    case 1: ((global double *)to)[i] = ((global const float *)from)[i]; break;
    case 2: ((global float *)to)[i] = ((global const double *)from)[i]; break;
    case 3: ((global short *)to)[i] = ((global const long *)from)[i]; break;
    case 4: ((global ulong *)to)[i] = ((global const signed char *)from)[i]; break;
    case 5: ((global int *)to)[i] = ((global const float *)from)[i]; break;
    case 6: ((global uchar *)to)[i] = ((global const double *)from)[i] != 0.0; break;
    case 7: { ushort r; __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(((global const float *)from)[i])); ((global ushort *)to)[i] = r; break; }
    case 8: ((global float *)to)[i] = ((global const ulong *)from)[i]; break;
    case 9: { float r; __asm__("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(((global const ushort *)from)[i])); ((global float *)to)[i] = r; break; }
  }
}
// index arithmetic of a strided gather with three axes
K void gather(global ulong *to, global const ulong *from, uint a, uint b, uint c, long sa, long sb, long sc) {
  uint i = BX * NX + TX; if (i >= a * b * c) return;
  uint q = i / c, z = i % c, p = q / b, y = q % b;
  to[i] = from[p * sa + y * sb + z * sc] + i / 7u + i % 10u;
}
K void sum(global ulong *to, global const uint *from, uint n) {
  local uint part[8];
  uint i = BX * NX + TX, v = i < n ? from[i] : 0;
  for (int k = 16; k > 0; k >>= 1) v += __nvvm_shfl_sync_bfly_i32(-1, v, k, 31);
  if (TX % 32 == 0) part[TX / 32] = v;
  BAR();
  if (TX == 0) { uint s = 0; for (uint k = 0; k < NX / 32; ++k) s += part[k]; __atomic_fetch_add(to, (ulong)s, __ATOMIC_RELAXED); }
}
K void bits(global uint *to, global const uint *from) {
  uint i = TX, v = from[i];
  uint m = __nvvm_vote_ballot_sync(-1, v & 1);
  to[4*i] = __builtin_popcount(v) + (__builtin_clz(v | 1) << 8) + (__builtin_popcount(m) << 16);
  to[4*i+1] = (v << 7) | (v >> 25);
  to[4*i+2] = (v >> 5) & 0x3f;
  to[4*i+3] = __builtin_bitreverse32(v) ^ (uint)((ulong)v * 0x9e3779b97f4a7c15ul >> 32);
}
__constant uint table[5] = {2, 3, 5, 7, 11};
K void look(global uint *to, uint n) { uint i = TX; uint mem[8]; for (uint k = 0; k < 8; ++k) mem[k] = table[(i + k) % 5]; uint s = 0; for (uint k = 0; k < n; ++k) s = s * 31 + mem[(k * i) & 7]; to[i] = s; }
K void numbers(global float *to, global const float *from, global double *dto) {
  uint i = TX; float a = from[2*i], b = from[2*i+1];
  to[8*i] = a * b + 1.5f; to[8*i+1] = a / b; to[8*i+2] = __nvvm_fmin_f(a, b); to[8*i+3] = __nvvm_fmax_f(a, b);
  to[8*i+4] = __nvvm_sqrt_rn_f(a); to[8*i+5] = a < b ? a : -b; to[8*i+6] = !(a >= b) ? 1 : 2; to[8*i+7] = __builtin_fabsf(a) - b;
  dto[i] = (double)a * b / 3.0;
}
K void divide(global long *to, global const long *from) { uint i = TX; long a = from[2*i], b = from[2*i+1]; to[4*i] = a / b; to[4*i+1] = a % b; to[4*i+2] = (ulong)a / (ulong)b; to[4*i+3] = (int)a / (int)(b | 1); }
