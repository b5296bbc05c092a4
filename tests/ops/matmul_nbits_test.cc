// MatMulNBits: widths of weights, forms of zero points, blocks that do not fill, layouts of A.
// Weights and zero points are drawn as integers; expected values are sums of their products in float64.
#include <limits>

#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

enum class Zeros { kNone, kPacked, kReal };
enum class Left {
  kPlain,
  kSpecial,  // rows with infinities and NaN, of zeros, and of large elements
  kBytes,    // a unit of the largest element of each block stands for each
};

struct Product {
  Dims a;  // [..., K]
  int64_t n = 3, block = 16, bits = 4;
  Zeros zeros = Zeros::kNone;
  bool has_bias = false, is_half = false, is_matrix = false;  // is_matrix: scales are [N, blocks]
  Left left = Left::kPlain;
  int64_t accuracy_level = 0;

  int64_t k() const { return a.back(); }
  int64_t blocks() const { return (k() + block - 1) / block; }
  double element(int64_t m, int64_t i) const {
    const double plain = static_cast<double>((m * k() + i) * 7 % 11 - 5) / 2;
    if (left == Left::kBytes)
      return i % 16 == 5 ? -127.0 : static_cast<double>((m * k() + i) * 37 % 255 - 127);
    if (left == Left::kPlain) return plain;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (m % 8) {
      case 1:
        return i == k() - 1 ? kInfinity : plain;
      case 2:
        return i == 3 ? -kInfinity : plain;
      case 4:
        return i == 0 ? std::numeric_limits<double>::quiet_NaN() : plain;
      case 5:
        return 0;
      case 6:
        return plain * 0x1p+90;
      default:
        return i < block ? plain * 0x1p-20 : plain;
    }
  }
  int weight(int64_t column, int64_t i) const {
    return static_cast<int>((column * 31 + i * 7 + i / 5) % (1 << bits));
  }
  double zero(int64_t column, int64_t at) const {
    if (zeros == Zeros::kReal) return static_cast<double>((column * 3 + at * 5) % 15) / 2;
    if (zeros == Zeros::kPacked) return static_cast<double>((column * 5 + at * 3 + 1) % (1 << bits));
    return 1 << (bits - 1);
  }
  static double scale(int64_t column, int64_t at) {
    return static_cast<double>((column + 2 * at) % 4 + 1) / 8;
  }
  static double bias(int64_t column) { return static_cast<double>(column % 7) - 3; }
};

/// Lines of `per_line` integers; each line starts a new byte, lowest bits first.
template <class Number>
Tensor packed(Dims dims, int64_t lines, int64_t per_line, int64_t bits, const Number& number) {
  const int64_t line_bytes = (per_line * bits + 7) / 8;
  std::vector<int> bytes(static_cast<size_t>(lines * line_bytes));
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t i = 0; i < per_line; ++i) {
      const auto at = static_cast<size_t>(line * line_bytes + i * bits / 8);
      bytes[at] |= static_cast<int>(number(line, i)) << (i * bits % 8);
    }
  }
  return u8(std::move(dims), bytes);
}

template <class Number>
Tensor real(const Product& p, Dims dims, int64_t lines, int64_t per_line, const Number& number) {
  std::vector<float> values;
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t i = 0; i < per_line; ++i) values.push_back(static_cast<float>(number(line, i)));
  }
  return p.is_half ? f16(std::move(dims), values) : f32(std::move(dims), values);
}

OpCase row(std::string name, const Product& p) {
  const int64_t k = p.k(), blocks = p.blocks();
  const auto element = [&](int64_t m, int64_t i) { return p.element(m, i); };
  const auto product = [&](int64_t m, int64_t column) {
    double sum = p.has_bias ? Product::bias(column) : 0;
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = i / p.block;
      sum += element(m, i) * (p.weight(column, i) - p.zero(column, at)) * Product::scale(column, at);
    }
    return sum;
  };
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < p.a.size(); ++d) rows *= p.a[d];
  Dims y = p.a;
  y.back() = p.n;
  const auto zero = [&](int64_t column, int64_t at) { return p.zero(column, at); };
  const int64_t zero_bytes = (blocks * p.bits + 7) / 8;

  OpCase out;
  out.name = std::move(name);
  out.inputs = {real(p, p.a, rows, k, element),
                packed({p.n, blocks, p.block * p.bits / 8}, p.n, blocks * p.block, p.bits,
                       [&](int64_t column, int64_t i) { return p.weight(column, i); }),
                real(p, p.is_matrix ? Dims{p.n, blocks} : Dims{p.n * blocks}, p.n, blocks, Product::scale),
                p.zeros == Zeros::kNone     ? none()
                : p.zeros == Zeros::kPacked ? packed({p.n * zero_bytes}, p.n, blocks, p.bits, zero)
                                            : real(p, {p.n, blocks}, p.n, blocks, zero)};
  if (p.has_bias) {
    out.inputs.push_back(none());  // g_idx
    out.inputs.push_back(
        real(p, {p.n}, 1, p.n, [](int64_t, int64_t column) { return Product::bias(column); }));
  }
  out.outputs = {real(p, y, rows, p.n, product)};
  out.attributes = {{"K", k}, {"N", p.n}, {"bits", p.bits}, {"block_size", p.block}};
  if (p.accuracy_level != 0) out.attributes.push_back({"accuracy_level", p.accuracy_level});
  return out;
}

OP_CASES_LOWERED_IN(
    "com.microsoft", MatMulNBits, 1,
    {row("default_zero_point", {.a = {2, 32}}),
     row("one_row", {.a = {1, 64}, .n = 70, .block = 32}),
     row("tile_less_one", {.a = {3, 32}, .n = 17}),
     row("tile_more", {.a = {5, 32}, .n = 17, .zeros = Zeros::kPacked, .has_bias = true}),
     row("packed_zero_points", {.a = {2, 32}, .zeros = Zeros::kPacked}),
     row("odd_blocks", {.a = {2, 48}, .zeros = Zeros::kPacked}),
     row("real_zero_points", {.a = {4, 48}, .zeros = Zeros::kReal, .is_matrix = true}),
     row("part_of_a_block", {.a = {2, 37}, .zeros = Zeros::kPacked}),
     row("less_than_a_block", {.a = {4, 5}, .n = 9, .block = 128}),
     row("two_bits", {.a = {2, 37}, .bits = 2}),
     row("two_bits_zero_points", {.a = {4, 80}, .bits = 2, .zeros = Zeros::kPacked}),
     row("eight_bits", {.a = {2, 37}, .n = 20, .bits = 8}),
     row("eight_bits_zero_points", {.a = {4, 48}, .bits = 8, .zeros = Zeros::kPacked}),
     row("bias", {.a = {1, 16}, .has_bias = true}),
     row("half", {.a = {2, 37}, .n = 5, .is_half = true}),
     row("half_tile", {.a = {5, 32}, .n = 19, .zeros = Zeros::kReal, .has_bias = true, .is_half = true}),
     row("many_rows", {.a = {40, 100}, .n = 70, .zeros = Zeros::kPacked, .has_bias = true}),
     row("many_rows_eight_bits", {.a = {20, 64}, .n = 33, .bits = 8, .zeros = Zeros::kReal}),
     row("nine_rows_deep", {.a = {9, 1100}, .n = 14, .block = 64, .zeros = Zeros::kPacked}),
     row("two_bits_many_rows",
         {.a = {13, 300}, .n = 25, .bits = 2, .zeros = Zeros::kPacked, .has_bias = true}),
     row("several_hundred_rows", {.a = {150, 33}, .n = 13, .block = 32, .zeros = Zeros::kReal}),
     row("large_blocks", {.a = {1, 600}, .n = 5, .block = 256, .zeros = Zeros::kPacked}),
     row("eight_bits_chunks", {.a = {3, 272}, .n = 7, .bits = 8, .zeros = Zeros::kPacked}),
     row("five_rows_of_chunks", {.a = {5, 389}, .n = 9, .zeros = Zeros::kReal}),
     row("half_many_rows", {.a = {33, 48}, .n = 70, .is_half = true}),
     row("batch", {.a = {2, 3, 32}, .n = 5, .zeros = Zeros::kPacked}),
     row("vector", {.a = {32}, .n = 5}),
     row("special_values", {.a = {9, 75}, .n = 21, .block = 32, .left = Left::kSpecial}),
     row("special_values_zero_points",
         {.a = {2, 40}, .n = 18, .zeros = Zeros::kPacked, .has_bias = true, .left = Left::kSpecial}),
     row("special_values_eight_bits",
         {.a = {7, 300}, .n = 17, .block = 64, .bits = 8, .left = Left::kSpecial}),
     row("many_rows_very_deep", {.a = {9, 9001}, .n = 36, .block = 128, .zeros = Zeros::kPacked}),
     row("special_values_very_deep", {.a = {3, 9001}, .n = 36, .block = 512, .left = Left::kSpecial}),
     row("bytes", {.a = {1, 90}, .n = 37, .block = 32, .left = Left::kBytes, .accuracy_level = 4}),
     row("bytes_zero_points", {.a = {6, 90},
                               .n = 18,
                               .zeros = Zeros::kPacked,
                               .has_bias = true,
                               .left = Left::kBytes,
                               .accuracy_level = 4}),
     row("bytes_real_zero_points", {.a = {3, 530},
                                    .n = 33,
                                    .block = 256,
                                    .zeros = Zeros::kReal,
                                    .left = Left::kBytes,
                                    .accuracy_level = 4}),
     row("bytes_of_two_bits", {.a = {5, 64},
                               .n = 16,
                               .bits = 2,
                               .zeros = Zeros::kPacked,
                               .left = Left::kBytes,
                               .accuracy_level = 4}),
     row("bytes_of_eight_bits",
         {.a = {25, 1056}, .n = 70, .block = 512, .bits = 8, .left = Left::kBytes, .accuracy_level = 4}),
     row("more_than_bytes", {.a = {2, 64}, .n = 16, .left = Left::kBytes, .accuracy_level = 3}),
     row("ones", {.a = {1, 1}, .n = 1}),
     row("no_rows", {.a = {0, 32}, .n = 5}),
     row("no_batch", {.a = {2, 0, 32}, .n = 5, .has_bias = true})})

/// The row with input `i` cut to `count` elements.
OpCase cut(std::string name, const Product& p, size_t i, int64_t count, std::string error) {
  OpCase out = row(std::move(name), p);
  Tensor& input = out.inputs[i];
  input.bytes.resize(input.bytes.size() / static_cast<size_t>(input.size()) * static_cast<size_t>(count));
  input.dims = {count};
  out.error = std::move(error);
  return out;
}

OP_FAILS_LOWERED_IN("com.microsoft", MatMulNBits, 1,
                    {cut("weights_length", {.a = {2, 32}}, 1, 47, "B of shape {47} has 47 elements"),
                     cut("scales_length", {.a = {2, 32}}, 2, 5, "scales of shape {5} has 5 elements"),
                     cut("zero_points_length", {.a = {2, 48}, .zeros = Zeros::kPacked}, 3, 5,
                         "zero_points of shape {5} has 5 elements"),
                     cut("real_zero_points_length", {.a = {2, 48}, .zeros = Zeros::kReal}, 3, 6,
                         "zero_points of shape {6} has 6 elements"),
                     cut("bias_length", {.a = {2, 32}, .has_bias = true}, 5, 2,
                         "input 5 (bias) has shape {2}")})

}  // namespace
}  // namespace tenon::test
