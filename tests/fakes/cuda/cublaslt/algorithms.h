// The algorithms that the stand-in plays: they compute the same, but differ in what they need.
#pragma once

#include <cublasLt.h>

#include "problem.h"

namespace fake_cublaslt {

enum AlgorithmId : int32_t { kSimt = 0, kSimtSplit = 20, kTensorCore = 66, kTensorCoreStream = 67 };

/// What a cublasLtMatmulAlgo_t holds: the algorithm, how it is set up, and for which types.
struct Algorithm {
  uint32_t magic;
  int32_t id, splits;
  uint32_t tile, reduction, swizzle, custom, stages;
  uint16_t inner_shape, cluster_shape;
  int16_t compute, scale;
  int16_t a, b, c, d;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

inline constexpr uint32_t kAlgorithmMagic = 0x416c676f;

inline const Algorithm* algorithm_of(const cublasLtMatmulAlgo_t* handle) {
  const auto* const out = reinterpret_cast<const Algorithm*>(handle);
  return out != nullptr && out->magic == kAlgorithmMagic ? out : nullptr;
}

/// Whether the algorithm as it is set up does the product: NOT_SUPPORTED if not, INVALID_VALUE for settings it does not have.
cublasStatus_t check_algorithm(const Algorithm& algorithm, const Problem& problem);

uint64_t workspace_of(const Algorithm& algorithm, const Problem& problem);

/// The alignment of the four matrices that the algorithm needs, in bytes.
uint32_t alignment_of(const Algorithm& algorithm);

/// Those for a product, the fastest first.
int algorithms_for(const Problem& problem, Algorithm (&out)[4]);

/// Whether strides of a matrix are multiples of an alignment: an algorithm needs them as well as the pointer.
bool is_aligned(const Problem& problem, const Layout& layout, uint32_t alignment);

}  // namespace fake_cublaslt
