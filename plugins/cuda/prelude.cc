#include "prelude.h"

namespace tenon::cuda {
namespace {

constexpr std::string_view kPrelude = R"CUDA(
typedef signed char int8;
typedef unsigned char uint8;
typedef short int16;
typedef unsigned short uint16;
typedef int int32;
typedef unsigned int uint32;
typedef long long int64;
typedef unsigned long long uint64;

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

// Arguments. A missing tensor is a null pointer.
#define KERNEL extern "C" __global__ void
#define IN(type, x) const type* __restrict__ x
#define OUT(type, x) type* __restrict__ x

// Loops over all of n, with the threads of the launch along one axis; EACH_BLOCK with its blocks.
#define EACH_OF(i, n, axis)                                                               \
  for (int64 i = (int64)blockIdx.axis * blockDim.axis + threadIdx.axis; i < (int64)(n); \
       i += (int64)gridDim.axis * blockDim.axis)
#define EACH(i, n) EACH_OF(i, n, x)
#define EACH_Y(i, n) EACH_OF(i, n, y)
#define EACH_Z(i, n) EACH_OF(i, n, z)
#define EACH_BLOCK(i, n) for (int64 i = blockIdx.x; i < (int64)(n); i += gridDim.x)

// 16-bit floats are stored and converted, never computed with. Conversions round to nearest even and keep NaN.
__device__ inline float float_of_half(uint16 bits) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(bits));
  return out;
}
__device__ inline uint16 half_of_float(float value) {
  uint16 out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(value));
  return out;
}
__device__ inline float float_of_bfloat(uint16 bits) { return __int_as_float((int)((uint32)bits << 16)); }
__device__ inline uint16 bfloat_of_float(float value) {
#if __CUDA_ARCH__ >= 800
  uint16 out;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out) : "f"(value));
  return out;
#else
  const uint32 bits = (uint32)__float_as_int(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16)(bits >> 16 | 0x40);
  return (uint16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}

struct half {
  uint16 bits;
  half() = default;
  __device__ half(float value) : bits(half_of_float(value)) {}
  __device__ operator float() const { return float_of_half(bits); }
};
struct bfloat {
  uint16 bits;
  bfloat() = default;
  __device__ bfloat(float value) : bits(bfloat_of_float(value)) {}
  __device__ operator float() const { return float_of_bfloat(bits); }
};

// Keeps the first index out of range. The host checks for it after it has waited.
__device__ inline void flag_index(int* flag, int64 index, int size) {
  if (atomicCAS(flag, 0, 1) != 0) return;
  flag[1] = size;
  flag[2] = (int)index;
  flag[3] = (int)(index >> 32);
}
// The place of an index; negative ones count from the end. Out of range: returns 0 and sets the flag.
__device__ inline int place_of(int64 index, int size, int* flag) {
  const int64 at = index < 0 ? index + size : index;
  if (at >= 0 && at < size) return (int)at;
  flag_index(flag, index, size);
  return 0;
}

#define MAX_RANK 8
struct Walk {
  int rank;
  int inner;
  int outer;
  int zero;
  int size[MAX_RANK];
  int stride[4][MAX_RANK];
  int step[4];
};
struct Window {
  int in[3];
  int out[3];
  int size[3];
  int stride[3];
  int dilation[3];
  int pad[3];
};
// Declare the offsets of a row for one operand or two.
#define WALK1(w, row, a)                                         \
  int64 a = 0;                                                   \
  for (int d_ = (w).rank - 1, r_ = (int)(row); d_ >= 0; --d_) {  \
    const int q_ = r_ / (w).size[d_], at_ = r_ - q_ * (w).size[d_]; \
    a += (int64)at_ * (w).stride[0][d_];                         \
    r_ = q_;                                                     \
  }
#define WALK2(w, row, a, b)                                      \
  int64 a = 0, b = 0;                                            \
  for (int d_ = (w).rank - 1, r_ = (int)(row); d_ >= 0; --d_) {  \
    const int q_ = r_ / (w).size[d_], at_ = r_ - q_ * (w).size[d_]; \
    a += (int64)at_ * (w).stride[0][d_];                         \
    b += (int64)at_ * (w).stride[1][d_];                         \
    r_ = q_;                                                     \
  }

// A value of another thread of the warp. __shfl_xor_sync knows the numbers of 32 and 64 bits.
template <class V>
__device__ inline V lane_xor(V value, int lanes) {
  return __shfl_xor_sync(0xffffffffu, value, lanes);
}

// Combines a value of each thread of a block along x, which has whole warps; all threads get the result. `combine(a, b)` takes
// them in any order, `neutral` changes nothing. All threads of the block call it.
template <class V, class Combine>
__device__ inline V block_combine(V value, V neutral, Combine combine) {
  __shared__ V parts[32];
  for (int lanes = 16; lanes > 0; lanes /= 2) value = combine(value, lane_xor(value, lanes));
  const int warps = (int)blockDim.x / 32;
  if (warps == 1) return value;
  __syncthreads();  // what the call before left is read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = (int)threadIdx.x % 32 < warps ? parts[threadIdx.x % 32] : neutral;
  for (int lanes = 16; lanes > 0; lanes /= 2) value = combine(value, lane_xor(value, lanes));
  return value;
}
template <class V>
struct SumOf {
  __device__ V operator()(V a, V b) const { return a + b; }
};
// NaN wins.
template <class V>
struct MaxOf {
  __device__ V operator()(V a, V b) const { return a > b || a != a ? a : b; }
};
template <class V>
struct MinOf {
  __device__ V operator()(V a, V b) const { return a < b || a != a ? a : b; }
};
)CUDA";

}  // namespace

std::string_view prelude() { return kPrelude; }

}  // namespace tenon::cuda
