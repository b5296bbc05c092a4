// Products of float32 with constant weights, computed in bfloat16: pairs of factors, sums in float32.
#pragma once

#include <memory>
#include <vector>

#include "isa/attention.h"
#include "packed.h"

namespace tenon::cpu::islands {

/// c[rows, n] += a[rows, k] * weights. Immutable once made.
class PairProduct {
 public:
  /// `weights` are [n, k], with a row for each column of c. `isa` is isa_attention_bf16().
  PairProduct(const isa::Attention& isa, const float* weights, int64_t k, int64_t n);

  /// Floats that hold a packed row of a.
  int64_t words() const { return (k_ + isa_.pair - 1) / isa_.pair; }
  /// Parts of the columns, which workers may divide.
  int64_t pieces() const { return static_cast<int64_t>(weights_.size()); }
  /// Columns of c with padding: its rows are at least so far apart.
  int64_t columns() const { return isa_.padded(n_); }

  /// Rows of a, `lda` apart, to rows words() apart.
  void pack(const float* a, int64_t lda, int64_t rows, float* out) const;
  /// `a` are packed rows. All columns of the pieces change, also the padding.
  void add(const float* a, int64_t rows, int64_t piece_begin, int64_t piece_end, float* c, int64_t ldc) const;

 private:
  const isa::Attention& isa_;
  int64_t k_, n_;
  std::vector<std::shared_ptr<const Packed>> weights_;  // of each piece
};

/// Columns of a piece: those of one panel with the widest registers.
inline constexpr int64_t kPieceColumns = 64;

}  // namespace tenon::cpu::islands
