// Matrix products too large for packing on the stack. They pack into the caller's memory and allocate
// nothing.
#pragma once

#include "isa/table.h"

namespace tenon::cpu::isa {

/// How a product is split so that its blocks stay in the caches.
struct Blocks {
  int64_t m = 0, n = 0, k = 0;
  int64_t bytes = 0;  // of packing memory; 0: none needed, use Table::gemm_f32
};

struct Packing {
  /// Blocks for products of up to [m, k] by [k, n].
  Blocks (*blocks_f32)(int64_t m, int64_t n, int64_t k);
  Blocks (*blocks_f64)(int64_t m, int64_t n, int64_t k);
  /// As Table::gemm_f32, for m, n > 1. `room`: blocks.bytes bytes, 64-byte aligned.
  void (*gemm_f32)(const Gemm<float>& gemm, const Blocks& blocks, void* room);
  void (*gemm_f64)(const Gemm<double>& gemm, const Blocks& blocks, void* room);
};

const Packing& packing_generic();
const Packing& packing_avx2();
const Packing& packing_avx512();

}  // namespace tenon::cpu::isa

namespace tenon::cpu {

/// The packing functions for the instruction set of isa_table().
const isa::Packing& isa_packing();

}  // namespace tenon::cpu
