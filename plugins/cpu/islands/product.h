// Products with packed weights, which convolutions, Gemm and MatMul share.
#pragma once

#include "device.h"
#include "islands/tasks.h"

namespace tenon::cpu::islands {

/// Which loop of isa::Compute multiplies, for which the weights are packed.
enum class Loop : uint8_t {
  kPanels,
  kDots,   // few columns; one group
  kGroups  // all groups at once: `n` counts the columns of all, `k` the factors of one, and `groups` is 1
};

/// The factors of one product, or of one per group of columns.
struct Factors {
  Tensor x;  // its rows, or with `places` its pixels, are `groups` times `k` elements
  int64_t rows = 0, taps = 1, k = 0, n = 0, groups = 1;  // k and n per group
  std::shared_ptr<const std::vector<int32_t>> places;    // of isa::Product; or null
  std::shared_ptr<const Packed> weights;                 // per group
  std::shared_ptr<const Packed> bias;                    // per group, padded; or null
  Loop loop = Loop::kPanels;
};

/// `n` rounded up as for a bias.
int64_t padded_columns(int64_t n);
/// `bias`, padded with zeros to `padded` elements; null for null.
std::shared_ptr<Packed> padded(const float* bias, int64_t n, int64_t padded);

/// Computes `value`, which has `rows` rows in `form`, and the elementwise nodes behind it.
void add_product(Builder& b, const Factors& factors, uint32_t value, Form form);
/// Computes y, which has `rows` rows, with these steps.
void add_product(Builder& b, const Factors& factors, const Tensor& y, const Steps& steps);

}  // namespace tenon::cpu::islands
