// What NVRTC declares without any #include, for g++. Put before each text that the stand-in compiles, after that has been
// translated (translate.h), so nothing of the C++ library is here.
#pragma once

#define __device__
#define __constant__
#define __host__
#define __global__ inline __attribute__((always_inline))
#define __shared__ static __thread
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define FAKE_CUDA inline __attribute__((always_inline))

typedef decltype(sizeof(0)) size_t;
typedef decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr)) ptrdiff_t;
#ifndef NULL
#define NULL 0
#endif

#include "abi.h"
#include "atomics.h"
#include "float_math.h"
#include "integer_math.h"
#include "intrinsics.h"
#include "memory.h"
#include "vectors.h"
#include "warp.h"
