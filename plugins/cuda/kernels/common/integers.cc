#include "kernels/common/integers.h"

namespace tenon::cuda {

Lines lines_of(std::string_view what, int64_t count, int64_t lines, int64_t matrices) {
  if (count == 1) return Lines::kOne;
  if (count == lines) return Lines::kEach;
  require(count == product_of(lines, matrices), TENON_INVALID_ARGUMENT, what, " has ", count,
          " elements for ", matrices, " matrices of ", lines, " rows or columns");
  return Lines::kOfMatrix;
}

Size3 integer_blocks(int64_t rows, int64_t columns, int64_t batches) {
  constexpr int64_t kSide = 64;
  const auto tiles = [](int64_t count) { return static_cast<size_t>((count + kSide - 1) / kSide); };
  return {tiles(rows) * tiles(columns), 1, static_cast<size_t>(batches)};
}

Settings integer_settings(uint32_t a, uint32_t b, uint32_t y, uint32_t scale, Rounding rounding) {
  return {computes_in(a, "A"), computes_in(b, "B"), computes_in(y, "Y"), computes_in(scale, "R"),
          number("ROUNDS", static_cast<int64_t>(rounding))};
}

}  // namespace tenon::cuda
