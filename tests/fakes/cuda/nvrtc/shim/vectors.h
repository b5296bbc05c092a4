// Vector types, with the sizes and alignments of CUDA.
#pragma once

#define FAKE_CUDA_VECTORS(type, name, align1, align2, align4)                    \
  struct __attribute__((aligned(align1))) name##1 {                              \
    type x;                                                                      \
  };                                                                             \
  struct __attribute__((aligned(align2))) name##2 {                              \
    type x, y;                                                                   \
  };                                                                             \
  struct __attribute__((aligned(align1))) name##3 {                              \
    type x, y, z;                                                                \
  };                                                                             \
  struct __attribute__((aligned(align4))) name##4 {                              \
    type x, y, z, w;                                                             \
  };                                                                             \
  FAKE_CUDA name##1 make_##name##1(type x) { return {x}; }                       \
  FAKE_CUDA name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  FAKE_CUDA name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  FAKE_CUDA name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
FAKE_CUDA_VECTORS(signed char, char, 1, 2, 4)
FAKE_CUDA_VECTORS(unsigned char, uchar, 1, 2, 4)
FAKE_CUDA_VECTORS(short, short, 2, 4, 8)
FAKE_CUDA_VECTORS(unsigned short, ushort, 2, 4, 8)
FAKE_CUDA_VECTORS(int, int, 4, 8, 16)
FAKE_CUDA_VECTORS(long, long, 8, 16, 16)
FAKE_CUDA_VECTORS(unsigned long, ulong, 8, 16, 16)
FAKE_CUDA_VECTORS(long long, longlong, 8, 16, 16)
FAKE_CUDA_VECTORS(unsigned long long, ulonglong, 8, 16, 16)
FAKE_CUDA_VECTORS(float, float, 4, 8, 16)
FAKE_CUDA_VECTORS(double, double, 8, 16, 16)
// uint3 is in abi.h.
struct uint1 {
  unsigned x;
};
struct __attribute__((aligned(8))) uint2 {
  unsigned x, y;
};
struct __attribute__((aligned(16))) uint4 {
  unsigned x, y, z, w;
};
FAKE_CUDA uint1 make_uint1(unsigned x) { return {x}; }
FAKE_CUDA uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
FAKE_CUDA uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
FAKE_CUDA uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
