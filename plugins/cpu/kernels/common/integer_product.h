// Products of int8 and uint8 matrices with zero points and 32-bit sums, which wrap around.
#pragma once

#include <memory>
#include <new>

#include "device.h"
#include "isa/integer.h"
#include "kernels/common/checked.h"
#include "kernels/common/consume.h"
#include "kernels/common/matmul_shape.h"
#include "kernels/common/scratch.h"
#include "packed.h"

namespace tenon::cpu {

inline constexpr TypeList<int8_t, uint8_t> kByteTypes{};

/// isa::Integer takes a left factor without sign and a right one with sign. Toggling these bits gives it.
inline uint8_t left_toggle(uint32_t dtype) { return dtype == TENON_INT8 ? 0x80 : 0; }
inline uint8_t right_toggle(uint32_t dtype) { return dtype == TENON_UINT8 ? 0x80 : 0; }
inline int64_t in_quads(int64_t depth) { return ceil_div(depth, isa::kQuad) * isa::kQuad; }

/// Element `i` of an int8 or uint8 tensor.
inline int32_t byte_at(TensorView tensor, int64_t i) {
  return tensor.dtype() == TENON_INT8 ? int32_t{tensor.data<int8_t>()[i]}
                                      : int32_t{tensor.data<uint8_t>()[i]};
}

/// Arithmetic modulo 2^32.
inline int32_t wrapping_multiply(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}
inline int32_t wrapping_add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
inline int32_t wrapping_subtract(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

/// Memory of a kernel, 64-byte aligned, zeroed.
template <class T>
class AlignedList {
 public:
  AlignedList() = default;
  explicit AlignedList(int64_t n) {
    require(n >= 0 && n <= std::numeric_limits<int64_t>::max() / kMostBytes, TENON_RESOURCE_EXHAUSTED, n,
            " elements do not fit into memory");
    memory_.reset(static_cast<T*>(::operator new(static_cast<size_t>(n) * sizeof(T), kAlignment)));
    std::fill_n(memory_.get(), n, T{});
  }
  T* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr int64_t kMostBytes = 64;  // of an element; far more than any has
  struct Free {
    void operator()(T* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<T, Free> memory_;
};

/// Right factors [k, n] as isa::Integer reads them, with the sums of their columns. `transposed`: the tensor has them as
/// [n, k].
struct PackedFactors {
  int64_t k = 0, n = 0, count = 0;
  bool transposed = false;
  int8_t* bytes = nullptr;  // count * matrix_bytes(), 64-byte aligned
  int32_t* sums = nullptr;  // count * n

  int64_t panels() const { return ceil_div(n, isa::kPanel); }
  int64_t panel_bytes() const { return in_quads(k) * isa::kPanel; }
  int64_t matrix_bytes() const { return panels() * panel_bytes(); }
  /// Of columns [first, first + columns) of a matrix; `first` begins a panel. The sums must be 0.
  void pack(const uint8_t* from, uint8_t toggle, int64_t matrix, int64_t first, int64_t columns) const {
    const int64_t k_step = transposed ? 1 : n, n_step = transposed ? k : 1;
    isa_integer().pack(from + matrix * k * n + first * n_step, k, k_step, columns, n_step, toggle,
                       bytes + matrix * matrix_bytes() + first / isa::kPanel * panel_bytes(), panel_bytes(),
                       sums + matrix * n + first);
  }
};

/// Packed once, when the kernel is made; kernels with the same weights share them, and the given ones are released. Empty unless the
/// input is a constant of bytes.
class ConstantFactors {
 public:
  ConstantFactors() = default;
  ConstantFactors(const NodeView& n, int input, bool transposed = false) {
    if (!n.input(input).is_constant()) return;
    const TensorView b = n.input(input).constant();
    if (!kByteTypes.contains(b.dtype()) || b.rank() == 0 || b.size() == 0) return;
    factors_.n = b.rank() == 1 ? 1 : b.dims().back();
    factors_.k = b.rank() == 1 ? b.dim(0) : b.dim(b.rank() - 2);
    factors_.transposed = transposed;
    if (transposed) std::swap(factors_.n, factors_.k);
    factors_.count = b.size() / factors_.n / factors_.k;
    const int64_t words = factors_.count * factors_.matrix_bytes() / kWord,
                  sums = factors_.count * factors_.n;
    auto packed = std::make_shared<Packed>(words + sums);
    place(packed->data(), words);
    std::fill_n(factors_.bytes, words * kWord, int8_t{0});
    std::fill_n(factors_.sums, sums, 0);
    for (int64_t i = 0; i < factors_.count; ++i)
      factors_.pack(b.data<uint8_t>(), right_toggle(b.dtype()), i, 0, factors_.n);
    packed_ = shared(std::move(packed));
    place(const_cast<float*>(packed_->data()), words);  // only read from here on
    consume_packed(n, input);
  }
  const PackedFactors* get() const { return factors_.bytes != nullptr ? &factors_ : nullptr; }

 private:
  static constexpr int64_t kWord = sizeof(float);
  static_assert(isa::kPanel * isa::kQuad % 64 == 0, "sums begin at a line of the cache");
  void place(float* memory, int64_t words) {
    factors_.bytes = reinterpret_cast<int8_t*>(memory);
    factors_.sums = reinterpret_cast<int32_t*>(memory + words);
  }
  PackedFactors factors_;
  std::shared_ptr<const Packed> packed_;
};

/// Packs the right factors of a Run.
inline PackedFactors pack_factors(const Context& ctx, TensorView b, int64_t k, int64_t n,
                                  bool transposed = false) {
  PackedFactors out{k, n, k > 0 && n > 0 ? b.size() / n / k : 1, transposed};
  out.bytes = ctx.scratch<int8_t>(std::max<int64_t>(1, out.count * out.matrix_bytes()));
  out.sums = ctx.scratch<int32_t>(std::max<int64_t>(1, out.count * n));
  std::fill_n(out.sums, out.count * n, 0);
  if (k == 0) return out;
  const int64_t pieces = ceil_div(n, isa::kTileColumns);
  const int64_t grain = std::max<int64_t>(1, kGrainCheap / (k * isa::kTileColumns));
  ctx.parallel_for(out.count * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * isa::kTileColumns;
      out.pack(b.data<uint8_t>(), right_toggle(b.dtype()), i / pieces, first,
               std::min(isa::kTileColumns, n - first));
    }
  });
  return out;
}

/// Throws an Error unless input `i` has one element, one per line (row or column) of the matrices of `factor`, or
/// one per line of each of them.
inline void check_lines(PrepareContext& p, int i, int64_t lines, DimsView factor) {
  if (!p.has_input(i)) return;
  const int64_t n = p.input(i).size();
  const int64_t matrices = element_count(factor.first(factor.size() < 2 ? 0 : factor.size() - 2));
  int64_t all = 0;
  require(n == 1 || n == lines || (!multiply_overflows(lines, matrices, &all) && n == all),
          TENON_INVALID_ARGUMENT, "input ", i, " has shape ", p.input(i).dims(), " for ", matrices,
          " matrices of ", lines, " rows or columns");
}
/// Which element of such an input belongs to a line of a matrix.
inline int64_t line_element(int64_t size, int64_t lines, int64_t matrix, int64_t line) {
  return size == 1 ? 0 : size == lines ? line : matrix * lines + line;
}

/// Places in the output and in the factors, of a part of a row of a product.
struct ProductPart {
  int64_t row = 0;                     // of the output [rows, n]
  int64_t left = 0, right = 0;         // the matrices
  int64_t line = 0;                    // the row within the left matrix
  int64_t column = 0, count = 0;       // the part of the row
  const int32_t* constants = nullptr;  // to be added to the sums
};

/// The products of a node: sum over k of (a - a_zero) * (b - b_zero).
class IntegerProducts {
 public:
  /// `a_zero` and `b_zero` may be missing. `constant`: the packed right factors; NULL: packs those of this Run.
  IntegerProducts(const Context& ctx, const MatMulShape& shape, TensorView a, TensorView a_zero, TensorView b,
                  TensorView b_zero, const PackedFactors* constant)
      : ctx_(ctx),
        s_(shape),
        right_(constant != nullptr ? *constant : pack_factors(ctx, b, shape.k, shape.n)) {
    left_count_ = s_.k > 0 ? a.size() / s_.k / s_.m : 1;
    read_left_zeros(a, a_zero);
    read_right_zeros(b, b_zero);
    read_left(a);
  }

  int64_t right_count() const { return right_.count; }  // matrices

  /// Calls store(part, sums) for parts of rows that make up the output, on several threads. At most
  /// isa::kTileColumns sums.
  template <class Store>
  void run(Store&& store) const {
    const bool folded = all_rows_in_one();
    const int64_t products = folded ? 1 : s_.count(), rows = folded ? s_.m * s_.count() : s_.m;
    const int64_t row_blocks = ceil_div(rows, kRows), column_blocks = ceil_div(s_.n, isa::kTileColumns);
    const int64_t work =
        std::min(rows, kRows) * std::min(s_.n, isa::kTileColumns) * std::max<int64_t>(1, s_.k);
    ctx_.parallel_for(products * row_blocks * column_blocks, std::max<int64_t>(1, kGrainBytes / work),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) {
                          ctx_.check_cancelled();
                          const int64_t block = i / column_blocks;
                          const int64_t first = block % row_blocks * kRows;
                          tile(block / row_blocks, first, std::min(kRows, rows - first),
                               i % column_blocks * isa::kTileColumns, store);
                        }
                      });
  }

 private:
  static constexpr int32_t kNothing[isa::kTileColumns] = {};
  static constexpr int64_t kRows = 96;  // of a tile
  static constexpr int64_t kGrainBytes =
      kGrainFlops * 4;  // products of bytes are faster than those of floats

  void read_left_zeros(TensorView a, TensorView zero) {
    zeros_ = zero.present() ? zero.size() : 1;
    const int32_t shift = left_toggle(a.dtype()) != 0 ? 128 : 0;
    left_zeros_ = scratch_list<int32_t>(ctx_, zeros_);
    for (int64_t i = 0; i < zeros_; ++i) {
      const int32_t value = (zero.present() ? byte_at(zero, i) : 0) + shift;
      left_zeros_[static_cast<size_t>(i)] = value;
    }
  }

  void read_right_zeros(TensorView b, TensorView zero) {
    const int32_t shift = right_toggle(b.dtype()) != 0 ? -128 : 0;
    right_zeros_ = scratch_list<int32_t>(ctx_, right_.count * s_.n);
    offsets_ = scratch_list<int32_t>(ctx_, right_.count * s_.n);
    const int64_t zeros = zero.present() ? zero.size() : 1;
    const int32_t left_zero = zeros_ == 1 ? left_zeros_[0] : 1;
    for (int64_t i = 0; i < right_.count * s_.n; ++i) {
      const int64_t at = line_element(zeros, s_.n, i / s_.n, i % s_.n);
      const int32_t value = (zero.present() ? byte_at(zero, at) : 0) + shift;
      right_zeros_[static_cast<size_t>(i)] = value;
      right_shifted_ = right_shifted_ || value != 0;
      const int32_t offset =
          wrapping_subtract(wrapping_multiply(static_cast<int32_t>(s_.k), value), right_.sums[i]);
      offsets_[static_cast<size_t>(i)] = wrapping_multiply(left_zero, offset);
    }
  }

  void read_left(TensorView a) {
    const uint8_t toggle = left_toggle(a.dtype());
    const int64_t rows = left_count_ * s_.m;
    left_ = a.data<uint8_t>();
    step_ = in_quads(s_.k);
    const bool copies = toggle != 0 || step_ != s_.k;
    if (s_.k == 0 || (!copies && !right_shifted_)) return;
    auto* copy = copies ? ctx_.scratch<uint8_t>(rows * step_) : nullptr;
    if (right_shifted_) row_sums_ = scratch_list<int32_t>(ctx_, rows);
    const auto& isa = isa_integer();
    ctx_.parallel_for(rows, std::max<int64_t>(1, kGrainCheap / s_.k), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const uint8_t* from = left_ + row * s_.k;
        if (copies) {
          isa.copy(from, s_.k, toggle, copy + row * step_);
          from = copy + row * step_;
        }
        if (right_shifted_) row_sums_[static_cast<size_t>(row)] = isa.sum(from, s_.k);
      }
    });
    if (copies) left_ = copy;
  }

  int64_t left_of(int64_t product) const {
    return s_.k > 0 ? s_.left[static_cast<size_t>(product)] / s_.k / s_.m : 0;
  }
  int64_t right_of(int64_t product) const {
    return s_.k > 0 ? s_.right[static_cast<size_t>(product)] / s_.k / s_.n : 0;
  }

  /// Whether all products are the rows of the left tensor, in order, by one right matrix.
  bool all_rows_in_one() const {
    for (int64_t i = 0; i < s_.count(); ++i) {
      if (right_of(i) != right_of(0) || left_of(i) != (s_.k > 0 ? i : 0)) return false;
    }
    return true;
  }

  /// Rows [first, first + rows) of a product, counted on into the next one, and a tile's columns from `column`
  /// on.
  template <class Store>
  void tile(int64_t product, int64_t first, int64_t rows, int64_t column, Store& store) const {
    const int64_t columns = std::min(isa::kTileColumns, s_.n - column);
    const int64_t left = left_of(product), right = right_of(product);
    const uint8_t* addresses[kRows];
    for (int64_t i = 0; i < rows; ++i) addresses[i] = left_ + (left * s_.m + first + i) * step_;
    alignas(64) int32_t sums[kRows * isa::kTileColumns];
    isa::IntegerProduct g;
    g.m = rows;
    g.depth = step_;
    g.panels = ceil_div(columns, isa::kPanel);
    g.rows = addresses;
    g.panel_bytes = right_.panel_bytes();
    g.b = right_.bytes + right * right_.matrix_bytes() + column / isa::kPanel * g.panel_bytes;
    g.c = sums;
    g.ldc = isa::kTileColumns;
    const auto& isa = isa_integer();
    isa.product(g);
    const int32_t* zeros = right_zeros_.data() + right * s_.n + column;
    const int32_t* offsets = offsets_.data() + right * s_.n + column;
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t row = first + i;  // of the product, or of all of them
      const int64_t matrix = left + row / s_.m, line = row % s_.m;
      int32_t* const c = sums + i * isa::kTileColumns;
      const int32_t row_sum = right_shifted_ && s_.k > 0
                                  ? wrapping_subtract(0, row_sums_[static_cast<size_t>(left * s_.m + row)])
                                  : 0;
      if (zeros_ > 1) {
        const int32_t zero = left_zeros_[static_cast<size_t>(line_element(zeros_, s_.m, matrix, line))];
        isa.correct(c, columns, zero, offsets, row_sum, zeros);
      } else if (row_sum != 0) {
        isa.correct_row(c, columns, row_sum, zeros);
      }
      store(ProductPart{product * s_.m + row, matrix, right, line, column, columns,
                        zeros_ > 1 ? kNothing : offsets},
            c);
    }
  }

  const Context& ctx_;
  const MatMulShape& s_;
  PackedFactors right_;
  int64_t left_count_ = 0;  // matrices
  const uint8_t* left_ = nullptr;
  int64_t step_ = 0;            // bytes from row to row
  int64_t zeros_ = 1;           // elements of left_zeros_
  bool right_shifted_ = false;  // whether a zero point of the right factor is not 0
  // Zero points, moved with the bytes; sums of the rows of the left factor; what a left zero point is multiplied
  // with, or already is if there is one for all.
  std::span<int32_t> left_zeros_, right_zeros_, row_sums_, offsets_;
};

}  // namespace tenon::cpu
