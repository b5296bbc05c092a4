// Products of bytes with constant weights, which quantised convolutions, Gemm and MatMul share.
#pragma once

#include "isa/integer.h"
#include "islands/tasks.h"
#include "kernels/common/integer_product.h"
#include "packed.h"

namespace tenon::cpu::islands {

/// Where the weights lie: element (tap t, row k, column n) of group g is w[g * group + t * tap + k * row + n * column].
struct ByteLayout {
  int64_t taps = 1, k = 0, n = 0, groups = 1;  // k and n per group
  int64_t group = 0, tap = 0, row = 0, column = 0;
};

/// Weights of int8 or uint8 in packed form, and what is constant beside them. Immutable once made.
class ByteWeights {
 public:
  /// `x_zero`: the zero point of the other factor, in 0 to 255 (Scaling). `w_zero`: none, one or one per column. `bias`: one per
  /// column, or NULL. `factors`: of the finished sums, one per column.
  ByteWeights(const ByteLayout& layout, const uint8_t* w, uint32_t w_dtype, int32_t x_zero,
              const std::optional<ep::TensorView>& w_zero, const int32_t* bias, std::vector<double> factors);

  const ByteLayout& layout() const { return layout_; }
  /// One channel in and out per group: a depthwise convolution.
  bool depthwise() const { return layout_.groups > 1 && layout_.k == 1 && layout_.n == 1; }
  /// Columns of all groups, which lie side by side.
  int64_t columns() const { return layout_.groups * layout_.n; }

 private:
  friend class ByteProduct;
  int64_t panel_bytes() const { return layout_.taps * in_quads(layout_.k) * isa::kPanel; }
  int64_t group_bytes() const { return ceil_div(layout_.n, isa::kPanel) * panel_bytes(); }
  const int8_t* bytes() const { return reinterpret_cast<const int8_t*>(bytes_->data()); }
  void pack(const uint8_t* w, uint8_t toggle, int32_t* sums);

  ByteLayout layout_;
  std::shared_ptr<const Packed> bytes_;
  AlignedList<int8_t> ones_;                // of a depthwise convolution whose weights have zero points
  std::vector<int32_t> zeros_, constants_;  // per column: the weights' zero point; what is added to the sums
  std::vector<double> factors_;
  std::vector<float> factors_f32_;
  bool shifted_ = false;  // whether a zero point of the weights is not 0
  uint8_t outside_ = 0;   // a byte of the padding
};

/// What becomes of the sums.
struct ByteResult {
  enum class Kind : uint8_t {
    kFloats,   // sum * factor in float32
    kBytes,    // sum * factor in float32, rounded
    kBytes64,  // sum * factor in float64, rounded from float32
  };
  Kind kind = Kind::kBytes;
  float zero = 0;  // as in Scaling
};

/// Computes `value`, whose `rows` rows have weights->columns() elements, in `form`. A row of `x` has `groups` times `k` bytes;
/// `places` are those of isa::Product, or null.
void add_byte_product(Builder& b, const Tensor& x, int64_t rows,
                      std::shared_ptr<const std::vector<int32_t>> places,
                      std::shared_ptr<const ByteWeights> weights, const ByteResult& result, uint32_t value,
                      Form form);

}  // namespace tenon::cpu::islands
