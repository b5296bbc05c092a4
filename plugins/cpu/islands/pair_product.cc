#include "islands/pair_product.h"

#include <algorithm>

#include "isa/move.h"
#include "isa/table.h"
#include "islands/tasks.h"

namespace tenon::cpu::islands {

PairProduct::PairProduct(const isa::Attention& isa, const float* weights, int64_t k, int64_t n)
    : isa_(isa), k_(k), n_(n) {
  std::vector<float> columns(static_cast<size_t>(k * kPieceColumns));
  for (int64_t at = 0; at < n; at += kPieceColumns) {
    const int64_t size = std::min(kPieceColumns, n - at);
    transpose(weights + at * k, k, size, k, columns.data(), kPieceColumns);
    auto out = std::make_shared<Packed>(words() * isa_.padded(size));
    isa_.pack_values(columns.data(), kPieceColumns, k, size, out->data());
    weights_.push_back(shared(std::move(out)));
  }
}

void PairProduct::pack(const float* a, int64_t lda, int64_t rows, float* out) const {
  for (int64_t r = 0; r < rows; ++r) isa_.pack_row(a + r * lda, k_, out + r * words());
}

void PairProduct::add(const float* a, int64_t rows, int64_t piece_begin, int64_t piece_end, float* c,
                      int64_t ldc) const {
  if (k_ == 0 || rows == 0) return;
  for (int64_t p = piece_begin; p < piece_end; ++p) {
    const int64_t at = p * kPieceColumns, size = std::min(kPieceColumns, n_ - at);
    isa_.gather(a, words(), rows, weights_[static_cast<size_t>(p)]->data(), k_, size, 0, k_, true, c + at,
                ldc);
  }
}

}  // namespace tenon::cpu::islands
