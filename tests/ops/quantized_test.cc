// Products and convolutions of bytes around the sizes of tiles and panels, with every pair of types, all forms of zero points and the
// extreme bytes; rounding of whole vectors. Against sums written out.
#include <cmath>

#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

int64_t count_of(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

/// Bytes of a type: their numbers, and the tensor.
struct Bytes {
  bool is_signed = false;
  Dims dims;
  std::vector<int> values;

  Tensor tensor() const { return is_signed ? i8(dims, values) : u8(dims, values); }
  int64_t at(int64_t i) const { return values[static_cast<size_t>(i)]; }
};

/// Of the whole range, or only its two ends.
Bytes bytes(bool is_signed, Dims dims, int64_t seed, bool is_extreme = false) {
  Bytes out{is_signed, std::move(dims), {}};
  uint32_t state = static_cast<uint32_t>(seed) * 2654435761u + 1;
  for (int64_t i = 0; i < count_of(out.dims); ++i) {
    state = state * 1664525u + 1013904223u;
    const int number = is_extreme ? (state >> 29 != 0 ? 255 : 0) : static_cast<int>(state >> 24);
    out.values.push_back(number - (is_signed ? 128 : 0));
  }
  return out;
}

enum class Zeros { kNone, kOne, kLines, kMatrices };

struct Product {
  bool a_signed = false, b_signed = true;
  Dims a, b;
  Zeros a_zeros = Zeros::kOne, b_zeros = Zeros::kNone;
  bool is_extreme = false;
};

struct ProductParts {
  Bytes a, b, a_zero, b_zero;
  Dims y;
  std::vector<int64_t> sums, rows,
      columns;  // rows and columns: which element of a list of lines belongs to an output
};

/// Of numpy's matmul. A batch index of `b` is that of `a` modulo its own count, so leading dims of b are those of a, or its last ones.
ProductParts parts_of(const Product& p) {
  const int64_t m = p.a.size() > 1 ? p.a[p.a.size() - 2] : 1, k = p.a.back(),
                n = p.b.size() > 1 ? p.b.back() : 1;
  const Dims lead(p.a.begin(), p.a.end() - static_cast<int64_t>(std::min<size_t>(2, p.a.size())));
  const Dims b_lead(p.b.begin(), p.b.end() - static_cast<int64_t>(std::min<size_t>(2, p.b.size())));
  const auto zeros_of = [](Zeros zeros, bool is_signed, const Dims& dims, int64_t lines, bool by_row,
                           int64_t seed) {
    Dims shape = {};
    if (zeros == Zeros::kLines) shape = {lines};
    if (zeros == Zeros::kMatrices) {
      shape = dims;
      shape[shape.size() - (by_row ? 1 : 2)] = 1;
    }
    return bytes(is_signed, shape, seed);
  };
  ProductParts out{bytes(p.a_signed, p.a, 1, p.is_extreme),
                   bytes(p.b_signed, p.b, 2, p.is_extreme),
                   zeros_of(p.a_zeros, p.a_signed, p.a, m, true, 3),
                   zeros_of(p.b_zeros, p.b_signed, p.b, n, false, 4),
                   lead,
                   {},
                   {},
                   {}};
  if (p.a.size() > 1) out.y.push_back(m);
  if (p.b.size() > 1) out.y.push_back(n);
  for (int64_t i = 0; i < count_of(lead) * m * n; ++i) {
    const int64_t batch = i / n / m, row = i / n % m, column = i % n, right = batch % count_of(b_lead);
    const auto pick = [](Zeros zeros, int64_t line, int64_t line_of_all) {
      return zeros == Zeros::kLines ? line : zeros == Zeros::kMatrices ? line_of_all : 0;
    };
    out.rows.push_back(pick(p.a_zeros, row, batch * m + row));
    out.columns.push_back(pick(p.b_zeros, column, right * n + column));
    const int64_t a_zero = p.a_zeros == Zeros::kNone ? 0 : out.a_zero.at(out.rows.back());
    const int64_t b_zero = p.b_zeros == Zeros::kNone ? 0 : out.b_zero.at(out.columns.back());
    int64_t sum = 0;
    for (int64_t t = 0; t < k; ++t)
      sum +=
          (out.a.at((batch * m + row) * k + t) - a_zero) * (out.b.at((right * k + t) * n + column) - b_zero);
    out.sums.push_back(sum);
  }
  return out;
}

OpCase product(std::string name, const Product& p) {
  const ProductParts parts = parts_of(p);
  return {std::move(name),
          {parts.a.tensor(), parts.b.tensor(), p.a_zeros == Zeros::kNone ? none() : parts.a_zero.tensor(),
           p.b_zeros == Zeros::kNone ? none() : parts.b_zero.tensor()},
          {i32(parts.y, parts.sums)}};
}

/// The nearest integer plus `zero`, in the range of a byte.
int saturated(float x, int zero, bool is_signed) {
  const double low = is_signed ? -128 : 0;
  return static_cast<int>(std::min(low + 255, std::max(low, std::nearbyint(static_cast<double>(x)) + zero)));
}

/// Scales in the same form as the zero points.
OpCase quantized_product(std::string name, const Product& p, bool y_signed, float y_scale) {
  const ProductParts parts = parts_of(p);
  const auto scales = [](const Bytes& like) {
    std::vector<float> out;
    for (int64_t i = 0; i < count_of(like.dims); ++i)
      out.push_back(0.01f + 0.003f * static_cast<float>(i % 7));
    return f32(like.dims, out);
  };
  const auto scale = [](int64_t i) { return 0.01f + 0.003f * static_cast<float>(i % 7); };
  std::vector<int> y;
  for (size_t i = 0; i < parts.sums.size(); ++i) {
    const double by = static_cast<double>(scale(parts.rows[i])) *
                      static_cast<double>(scale(parts.columns[i])) / static_cast<double>(y_scale);
    y.push_back(saturated(static_cast<float>(static_cast<double>(parts.sums[i]) * by), y_signed ? -3 : 100,
                          y_signed));
  }
  return {
      std::move(name),
      {parts.a.tensor(), scales(parts.a_zero), parts.a_zero.tensor(), parts.b.tensor(), scales(parts.b_zero),
       parts.b_zero.tensor(), f32({}, {y_scale}), y_signed ? i8({}, {-3}) : u8({}, {100})},
      {y_signed ? i8(parts.y, y) : u8(parts.y, y)}};
}

constexpr Zeros kNone = Zeros::kNone, kOne = Zeros::kOne, kLines = Zeros::kLines,
                kMatrices = Zeros::kMatrices;

OP_CASES(MatMulInteger, 10,
         {product("one_sum", {false, false, {1, 1}, {1, 1}, kNone}),
          product("column", {true, true, {7, 33}, {33, 1}, kOne, kOne}),
          product("row", {false, true, {1, 70}, {70, 130}, kOne}),
          product("row_signed", {true, false, {1, 69}, {69, 65}, kLines, kLines}),
          product("below_a_panel", {false, false, {3, 3}, {3, 15}, kOne, kOne}),
          product("above_a_panel", {true, true, {5, 5}, {5, 17}, kNone, kNone}),
          product("three_panels", {true, false, {9, 8}, {8, 48}, kNone, kLines}),
          product("below_a_tile", {false, true, {95, 7}, {7, 63}, kLines, kLines}),
          product("above_a_tile", {false, false, {97, 12}, {12, 81}, kOne, kOne}),
          product("deep_row", {false, true, {2, 1030}, {1030, 18}, kOne, kLines}),
          product("a_block_deep", {true, true, {6, 512}, {512, 34}, kLines, kNone}),
          product("a_byte_deeper", {true, false, {6, 513}, {513, 34}, kOne, kOne}),
          product("extreme", {false, true, {4, 700}, {700, 20}, kNone, kNone, true}),
          product("extreme_signed", {true, true, {4, 700}, {700, 20}, kNone, kNone, true}),
          product("extreme_unsigned", {false, false, {4, 700}, {700, 20}, kNone, kOne, true}),
          product("extreme_mixed", {true, false, {4, 700}, {700, 20}, kOne, kNone, true}),
          product("batches", {false, true, {3, 5, 9}, {3, 9, 20}, kMatrices, kMatrices}),
          product("batches_of_one", {true, false, {2, 3, 5, 6}, {6, 20}, kMatrices, kOne}),
          product("batches_broadcast", {true, true, {2, 3, 4, 8}, {3, 8, 17}, kLines, kMatrices}),
          product("vectors", {false, true, {37}, {37}, kOne}),
          product("vector_by_matrix", {false, false, {9}, {9, 20}, kOne, kLines}),
          product("matrix_by_vector", {true, true, {20, 10}, {10}, kLines, kOne}),
          product("no_depth", {false, true, {2, 0}, {0, 3}, kOne, kOne}),
          product("no_rows", {false, true, {0, 4}, {4, 3}, kOne}),
          product("no_columns", {true, true, {2, 4}, {4, 0}, kOne})})

OP_CASES(
    QLinearMatMul, 10,
    {quantized_product("row", {false, true, {1, 70}, {70, 130}, kOne, kLines}, false, 0.03f),
     quantized_product("signed", {true, true, {7, 33}, {33, 17}, kOne, kOne}, true, 0.05f),
     quantized_product("mixed", {true, false, {9, 12}, {12, 65}, kLines, kLines}, true, 0.011f),
     quantized_product("unsigned", {false, false, {97, 5}, {5, 16}, kLines, kOne}, false, 0.02f),
     quantized_product("saturated", {false, true, {5, 40}, {40, 20}, kOne, kOne, true}, true, 0.001f),
     quantized_product("batches", {true, false, {2, 3, 5}, {2, 5, 18}, kMatrices, kMatrices}, false, 0.02f),
     quantized_product("vectors", {false, true, {37}, {37}, kOne, kOne}, false, 0.05f),
     quantized_product("no_depth", {false, true, {2, 0}, {0, 3}, kOne, kOne}, true, 0.05f),
     // The sum does not fit into 32 bits.
     {"longer_than_32_bits",
      {u8({1, 40000}, std::vector<int>(40000, 255)), f32({}, {1}), u8({}, {0}),
       u8({40000, 1}, std::vector<int>(40000, 255)), f32({}, {1}), u8({}, {0}), f32({}, {2e7f}), u8({}, {0})},
      {u8({1, 1}, {130})}}})

// Convolutions.

struct Conv {
  bool x_signed = false, w_signed = true;
  Dims x, w;  // [N, C, ...] and [M, C / groups, ...]
  int64_t groups = 1;
  Ints strides = {}, dilations = {}, pads = {};
  bool has_zeros = true, is_extreme = false;  // of the weights; one per channel
};

struct ConvParts {
  Bytes x, w, x_zero, w_zero;
  Dims y;
  std::vector<int64_t> sums;
  std::vector<Attribute> attributes;
};

ConvParts parts_of(const Conv& c) {
  const size_t rank = c.x.size() - 2;
  const Ints strides = c.strides.empty() ? Ints(rank, 1) : c.strides;
  const Ints dilations = c.dilations.empty() ? Ints(rank, 1) : c.dilations;
  const Ints pads = c.pads.empty() ? Ints(2 * rank, 0) : c.pads;
  ConvParts out{bytes(c.x_signed, c.x, 1, c.is_extreme),
                bytes(c.w_signed, c.w, 2, c.is_extreme),
                bytes(c.x_signed, {}, 3),
                bytes(c.w_signed, {c.w[0]}, 5),
                {c.x[0], c.w[0]},
                {},
                {{"group", c.groups}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}}};
  int64_t taps = 1, in_plane = 1;
  for (size_t d = 0; d < rank; ++d) {
    taps *= c.w[d + 2], in_plane *= c.x[d + 2];
    out.y.push_back(
        (c.x[d + 2] + pads[d] + pads[d + rank] - dilations[d] * (c.w[d + 2] - 1) - 1) / strides[d] + 1);
  }
  const int64_t depth = c.w[1];
  for (int64_t i = 0; i < count_of(out.y); ++i) {
    Ints at(rank);
    int64_t rest = i;
    for (size_t d = rank; d-- > 0;) at[d] = rest % out.y[d + 2], rest /= out.y[d + 2];
    const int64_t filter = rest % c.w[0], image = rest / c.w[0], group = filter / (c.w[0] / c.groups);
    const int64_t w_zero = c.has_zeros ? out.w_zero.at(filter) : 0;
    int64_t sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      int64_t tap = t, offset = 0, stride = 1;
      bool is_inside = true;
      for (size_t d = rank; d-- > 0;) {
        const int64_t place = at[d] * strides[d] + tap % c.w[d + 2] * dilations[d] - pads[d];
        is_inside = is_inside && place >= 0 && place < c.x[d + 2];
        offset += place * stride, stride *= c.x[d + 2], tap /= c.w[d + 2];
      }
      if (!is_inside) continue;
      for (int64_t k = 0; k < depth; ++k)
        sum += (out.x.at((image * c.x[1] + group * depth + k) * in_plane + offset) - out.x_zero.at(0)) *
               (out.w.at((filter * depth + k) * taps + t) - w_zero);
    }
    out.sums.push_back(sum);
  }
  return out;
}

OpCase conv(std::string name, const Conv& c) {
  const ConvParts p = parts_of(c);
  OpCase out{
      std::move(name), {p.x.tensor(), p.w.tensor(), p.x_zero.tensor()}, {i32(p.y, p.sums)}, p.attributes};
  if (c.has_zeros) out.inputs.push_back(p.w_zero.tensor());
  return out;
}

OpCase quantized_conv(std::string name, const Conv& c, bool y_signed) {
  const ConvParts p = parts_of(c);
  const float x_scale = 0.02f, y_scale = 0.3f;
  std::vector<float> scales;
  std::vector<int64_t> bias;
  for (int64_t m = 0; m < c.w[0]; ++m)
    scales.push_back(0.01f + 0.002f * static_cast<float>(m % 5)), bias.push_back(m * 37 % 1001 - 500);
  std::vector<int> y;
  int64_t plane = 1;
  for (size_t d = 2; d < p.y.size(); ++d) plane *= p.y[d];
  for (size_t i = 0; i < p.sums.size(); ++i) {
    const auto filter = static_cast<size_t>(static_cast<int64_t>(i) / plane % c.w[0]);
    const float by = x_scale * scales[filter] / y_scale;
    y.push_back(saturated(static_cast<float>(p.sums[i] + bias[filter]) * by, y_signed ? -20 : 90, y_signed));
  }
  const Tensor w_zero = c.has_zeros ? p.w_zero.tensor() : c.w_signed ? i8({}, {0}) : u8({}, {0});
  return {std::move(name),
          {p.x.tensor(), f32({}, {x_scale}), p.x_zero.tensor(), p.w.tensor(), f32({c.w[0]}, scales), w_zero,
           f32({}, {y_scale}), y_signed ? i8({}, {-20}) : u8({}, {90}), i32({c.w[0]}, bias)},
          {y_signed ? i8(p.y, y) : u8(p.y, y)},
          p.attributes};
}

/// Shapes for both operators.
std::vector<std::pair<std::string, Conv>> convolutions() {
  return {
      {"points", {false, true, {1, 5, 11, 13}, {70, 5, 1, 1}, 1, {}, {}, {}, false}},
      {"points_apart", {true, false, {2, 17, 9, 9}, {16, 17, 1, 1}, 1, {2, 2}}},
      {"one_channel", {false, false, {1, 1, 12, 12}, {3, 1, 5, 5}, 1, {2, 1}, {}, {2, 1, 1, 2}}},
      {"line", {true, true, {2, 6, 230}, {33, 6, 3}, 1, {}, {2}, {3, 1}}},
      {"cube", {false, true, {1, 4, 4, 5, 6}, {5, 4, 2, 3, 2}, 1, {1, 2, 1}, {1, 1, 2}, {1, 0, 1, 0, 1, 1}}},
      {"deep", {true, true, {1, 66, 5, 5}, {17, 66, 3, 3}, 1, {}, {}, {1, 1, 1, 1}, false}},
      {"extreme", {false, false, {1, 40, 4, 4}, {4, 40, 3, 3}, 1, {}, {}, {1, 1, 1, 1}, false, true}},
      {"groups_of_odd", {true, false, {2, 9, 6, 6}, {12, 3, 3, 3}, 3, {}, {}, {1, 1, 1, 1}}},
      {"depthwise", {false, true, {2, 70, 9, 14}, {70, 1, 3, 3}, 70, {}, {}, {1, 1, 1, 1}, false}},
      {"depthwise_apart", {true, false, {1, 35, 9, 9}, {35, 1, 5, 3}, 35, {2, 3}, {1, 2}, {2, 0, 1, 3}}},
      {"depthwise_extreme",
       {false, false, {1, 33, 4, 4}, {33, 1, 3, 3}, 33, {}, {}, {1, 1, 1, 1}, true, true}},
      {"depthwise_twice", {true, true, {1, 10, 5, 5}, {20, 1, 3, 3}, 10, {}, {}, {1, 1, 1, 1}}},
      {"only_padding", {false, true, {1, 2, 2, 2}, {3, 2, 1, 1}, 1, {5, 5}, {}, {1, 1, 6, 6}}},
  };
}

OP_CASES(ConvInteger, 10, [] {
  std::vector<OpCase> out;
  for (const auto& [name, c] : convolutions()) out.push_back(conv(name, c));
  return out;
}())
OP_CASES(QLinearConv, 10, [] {
  std::vector<OpCase> out;
  bool is_signed = false;
  for (const auto& [name, c] : convolutions()) out.push_back(quantized_conv(name, c, is_signed = !is_signed));
  return out;
}())

// Quantising: ties, ends of the range and beyond, in whole vectors and their rests.

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float number(int64_t i) {
  constexpr float kEnds[] = {-3e38f,         3e38f,         -kInfinity, kInfinity,
                             -2147483648.0f, 2147483648.0f, -0.0f,      1e-30f};
  return i % 11 == 0 ? kEnds[i / 11 % 8] : static_cast<float>(i % 1111 - 555) / 4;
}

/// `Y` has `low` to `high`. The scale is one number, one per slice of `axis`, or one per `block` along it.
template <class Y>
OpCase quantizing(std::string name, Dims dims, int64_t axis = -1, int64_t block = 0) {
  Dims scale_dims = {};
  const auto at = static_cast<size_t>(axis);
  if (axis >= 0) scale_dims = {dims[at]};
  if (block > 0) scale_dims = dims, scale_dims[at] = (dims[at] + block - 1) / block;
  constexpr double kLow = std::numeric_limits<Y>::lowest(), kHigh = std::numeric_limits<Y>::max();
  std::vector<float> x, scales;
  std::vector<int> zeros, y;
  for (int64_t i = 0; i < count_of(scale_dims); ++i) {
    scales.push_back(0.5f + 0.25f * static_cast<float>(i % 3) - (i % 5 == 4 ? 2.0f : 0.0f));
    zeros.push_back(static_cast<int>(kLow + (kHigh - kLow) * static_cast<double>(i % 4) / 3));
  }
  int64_t inner = 1;
  for (size_t d = at + 1; axis >= 0 && d < dims.size(); ++d) inner *= dims[d];
  for (int64_t i = 0; i < count_of(dims); ++i) {
    x.push_back(number(i));
    int64_t s = 0;
    if (axis >= 0) s = i / inner % dims[at];
    if (block > 0) s = (i / inner / dims[at] * scale_dims[at] + s / block) * inner + i % inner;
    const double rounded = std::nearbyint(static_cast<double>(x.back() / scales[static_cast<size_t>(s)])) +
                           zeros[static_cast<size_t>(s)];
    y.push_back(static_cast<int>(std::min(kHigh, std::max(kLow, rounded))));
  }
  OpCase out{std::move(name),
             {f32(dims, x), f32(scale_dims, scales), make_tensor<Y>(scale_dims, zeros)},
             {make_tensor<Y>(dims, y)}};
  if (axis >= 0) out.attributes.push_back({"axis", axis});
  if (block > 0) out.attributes.push_back({"block_size", block});
  return out;
}

OP_CASES(QuantizeLinear, 21,
         {quantizing<uint8_t>("vectors", {5, 33}), quantizing<int8_t>("vectors_signed", {1111}),
          quantizing<uint16_t>("vectors_wide", {333}), quantizing<int16_t>("vectors_wide_signed", {333}),
          quantizing<int8_t>("slices", {3, 7, 19}, 1), quantizing<uint8_t>("last_axis", {9, 37}, 1),
          quantizing<uint16_t>("last_axis_wide", {5, 37}, 1),
          quantizing<int8_t>("blocks_of_the_last_axis", {4, 37}, 1, 8),
          quantizing<int16_t>("blocks_of_the_first_axis", {7, 35}, 0, 3),
          quantizing<uint8_t>("several_pieces", {1, 40000})})

template <class X>
OpCase dequantizing(std::string name, Dims dims, int64_t axis, int64_t block = 0) {
  const auto at = static_cast<size_t>(axis);
  Dims scale_dims = {dims[at]};
  if (block > 0) scale_dims = dims, scale_dims[at] = (dims[at] + block - 1) / block;
  constexpr int64_t kLow = std::numeric_limits<X>::lowest(),
                    kRange = int64_t{std::numeric_limits<X>::max()} - kLow + 1;
  std::vector<float> scales, y;
  std::vector<int64_t> zeros, x;
  for (int64_t i = 0; i < count_of(scale_dims); ++i) {
    scales.push_back(0.3f + 0.1f * static_cast<float>(i % 6));
    zeros.push_back(kLow + i * 7919 % kRange);
  }
  int64_t inner = 1;
  for (size_t d = at + 1; d < dims.size(); ++d) inner *= dims[d];
  for (int64_t i = 0; i < count_of(dims); ++i) {
    x.push_back(kLow + i * 104729 % kRange);
    int64_t s = i / inner % dims[at];
    if (block > 0) s = (i / inner / dims[at] * scale_dims[at] + s / block) * inner + i % inner;
    y.push_back(static_cast<float>(x.back() - zeros[static_cast<size_t>(s)]) *
                scales[static_cast<size_t>(s)]);
  }
  OpCase out{std::move(name),
             {make_tensor<X>(dims, x), f32(scale_dims, scales), make_tensor<X>(scale_dims, zeros)},
             {f32(dims, y)}};
  out.attributes.push_back({"axis", axis});
  if (block > 0) out.attributes.push_back({"block_size", block});
  return out;
}

OP_CASES(DequantizeLinear, 21,
         {dequantizing<uint8_t>("slices", {3, 7, 19}, 1), dequantizing<int8_t>("slices_signed", {5, 40}, 0),
          dequantizing<uint16_t>("slices_wide", {5, 40}, 0), dequantizing<int16_t>("last_axis", {5, 37}, 1),
          dequantizing<uint8_t>("blocks_of_the_last_axis", {4, 37}, 1, 16),
          dequantizing<int8_t>("blocks_of_the_first_axis", {7, 20}, 0, 2)})

// Integers times scales, from bytes and from floats that are quantised first.

OpCase to_float(std::string name, const Product& p, bool has_bias) {
  const ProductParts parts = parts_of(p);
  const int64_t n = p.b.back();
  std::vector<float> scales, bias, y;
  for (int64_t j = 0; j < n; ++j)
    scales.push_back(0.125f * static_cast<float>(1 + j % 3)), bias.push_back(static_cast<float>(j % 5) - 2);
  const bool per_column = p.b_zeros == Zeros::kLines;
  for (size_t i = 0; i < parts.sums.size(); ++i) {
    const auto j = static_cast<size_t>(static_cast<int64_t>(i) % n);
    y.push_back(static_cast<float>(parts.sums[i]) * (0.25f * scales[per_column ? j : 0]) +
                (has_bias ? bias[j] : 0.0f));
  }
  if (!per_column) scales.resize(1);
  return {
      std::move(name),
      {parts.a.tensor(), parts.b.tensor(), f32({}, {0.25f}), per_column ? f32({n}, scales) : f32({}, scales),
       p.a_zeros == Zeros::kNone ? none() : parts.a_zero.tensor(),
       p.b_zeros == Zeros::kNone ? none() : parts.b_zero.tensor(), has_bias ? f32({n}, bias) : none()},
      {f32(parts.y, y)}};
}

OP_CASES_LOWERED_IN("com.microsoft", MatMulIntegerToFloat, 1,
                    {to_float("columns", {false, true, {5, 20}, {20, 19}, kOne, kLines}, true),
                     to_float("signed", {true, true, {3, 9}, {9, 70}, kOne, kOne}, false),
                     to_float("no_zero_points", {false, false, {2, 4}, {4, 3}, kNone, kNone}, true),
                     to_float("batches", {true, false, {2, 3, 6}, {6, 17}, kOne, kLines}, true),
                     to_float("matrices", {false, true, {2, 3, 6}, {2, 6, 17}, kOne, kOne}, true),
                     to_float("one_column", {false, true, {3, 5}, {5, 1}, kOne, kLines}, true),
                     to_float("extremes", {false, true, {3, 70}, {70, 33}, kNone, kNone, true}, true),
                     to_float("signed_left", {true, false, {1, 33}, {33, 16}, kNone, kLines}, false),
                     to_float("no_depth", {false, true, {2, 0}, {0, 3}, kOne, kOne}, true)})

/// [rows, columns] as [columns, rows].
Bytes turned(const Bytes& matrix) {
  Bytes out{matrix.is_signed, {matrix.dims[1], matrix.dims[0]}, {}};
  for (int64_t j = 0; j < matrix.dims[1]; ++j) {
    for (int64_t i = 0; i < matrix.dims[0]; ++i)
      out.values.push_back(static_cast<int>(matrix.at(i * matrix.dims[1] + j)));
  }
  return out;
}

struct GemmForm {
  bool turn_a = false, turn_b = false;
  Dims c = {};  // of C
  bool has_c = false, is_quantized = true, y_signed = false;
  float alpha = 1;
};

/// `p` has matrices; its scales have the form of the zero points.
OpCase gemm(std::string name, const Product& p, const GemmForm& form) {
  const ProductParts parts = parts_of(p);
  const int64_t n = p.b.back();
  const float a_scale = 0.25f, y_scale = 40.0f;
  std::vector<float> scales;
  for (int64_t j = 0; j < count_of(parts.b_zero.dims); ++j)
    scales.push_back(0.125f * static_cast<float>(1 + j % 3));
  std::vector<int64_t> c;
  for (int64_t i = 0; i < count_of(form.c); ++i) c.push_back(i * 977 % 2001 - 1000);
  const int y_zero = form.y_signed ? -3 : 100;
  std::vector<float> y;
  std::vector<int> bytes;
  for (size_t i = 0; i < parts.sums.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / n, column = static_cast<int64_t>(i) % n;
    int64_t at = 0;
    if (!form.c.empty() && form.c.back() != 1) at = column;
    if (form.c.size() == 2 && form.c[0] != 1) at += row * form.c[1];
    const int64_t sum = parts.sums[i] + (form.has_c ? c[static_cast<size_t>(at)] : 0);
    const float by = a_scale * form.alpha * scales[static_cast<size_t>(parts.columns[i])];
    y.push_back(static_cast<float>(sum) * by);
    bytes.push_back(saturated(static_cast<float>(sum) * (by / y_scale), y_zero, form.y_signed));
  }
  OpCase out{std::move(name),
             {(form.turn_a ? turned(parts.a) : parts.a).tensor(), f32({}, {a_scale}), parts.a_zero.tensor(),
              (form.turn_b ? turned(parts.b) : parts.b).tensor(), f32(parts.b_zero.dims, scales),
              parts.b_zero.tensor()},
             {form.is_quantized ? form.y_signed ? i8(parts.y, bytes) : u8(parts.y, bytes) : f32(parts.y, y)},
             {{"transA", int64_t{form.turn_a ? 1 : 0}},
              {"transB", int64_t{form.turn_b ? 1 : 0}},
              {"alpha", form.alpha}}};
  if (form.has_c || form.is_quantized) out.inputs.push_back(form.has_c ? i32(form.c, c) : none());
  if (!form.is_quantized) return out;
  out.inputs.push_back(f32({}, {y_scale}));
  out.inputs.push_back(form.y_signed ? i8({}, {y_zero}) : u8({}, {y_zero}));
  return out;
}

OP_CASES_LOWERED_IN(
    "com.microsoft", QGemm, 1,
    {gemm("columns", {false, true, {5, 20}, {20, 19}, kOne, kLines}, {false, false, {19}, true}),
     gemm("signed", {true, true, {3, 9}, {9, 70}, kOne, kOne}, {false, false, {}, false, true, true}),
     gemm("turned", {true, false, {7, 33}, {33, 66}, kOne, kLines}, {true, true, {66}, true, true, true}),
     gemm("left_turned", {false, false, {98, 6}, {6, 5}, kOne, kOne}, {true, false, {98, 1}, true}),
     gemm("right_turned", {false, true, {1, 70}, {70, 130}, kOne, kLines}, {false, true, {1, 130}, true}),
     gemm("matrix_added", {false, true, {4, 8}, {8, 70}, kOne, kOne}, {false, false, {4, 70}, true}),
     gemm("number_added", {true, true, {4, 8}, {8, 7}, kOne, kOne}, {false, true, {}, true, true, true}),
     gemm("one_added", {true, true, {4, 8}, {8, 1}, kOne, kOne}, {false, true, {1}, true}),
     gemm("alpha", {false, true, {4, 8}, {8, 7}, kOne, kLines}, {false, true, {7}, true, true, false, -0.5f}),
     gemm("floats", {false, true, {4, 8}, {8, 70}, kOne, kLines}, {false, true, {70}, true, false}),
     gemm("floats_without_c", {true, false, {2, 5}, {5, 3}, kOne, kOne},
          {false, false, {}, false, false, false, 2}),
     gemm("no_depth", {false, true, {2, 0}, {0, 3}, kOne, kOne}, {false, false, {3}, true}),
     gemm("no_rows", {false, true, {0, 4}, {4, 3}, kOne, kOne}, {true, true, {3}, true}),
     gemm("no_columns", {true, true, {2, 4}, {4, 0}, kOne, kOne}, {false, true, {0}, true})})

OP_FAILS_LOWERED_IN("com.microsoft", QGemm, 1,
                    {{"depth",
                      {u8({2, 3}, {1, 2, 3, 4, 5, 6}), f32({}, {1}), u8({}, {0}), u8({2, 2}, {1, 2, 3, 4}),
                       f32({}, {1}), u8({}, {0})},
                      {f32({2, 2}, {})},
                      {},
                      "do not multiply"},
                     {"added",
                      {u8({1, 1}, {1}), f32({}, {1}), u8({}, {0}), u8({1, 2}, {3, 4}), f32({}, {1}),
                       u8({}, {0}), i32({2, 2}, {1, 2, 3, 4})},
                      {f32({1, 2}, {})},
                      {},
                      "input C has shape"},
                     {"scales",
                      {u8({2, 1}, {1, 2}), f32({}, {1}), u8({}, {0}), u8({1, 2}, {3, 4}), f32({3}, {1, 2, 3}),
                       u8({3}, {0, 0, 0})},
                      {f32({2, 2}, {})},
                      {},
                      "for 1 matrices of 2 rows or columns"}})

/// Numbers from 0 to 255 keep their values when they are quantised.
OpCase from_float(std::string name, const Product& p, bool has_bias) {
  Product whole = p;
  whole.a_signed = false, whole.a_zeros = Zeros::kNone;
  ProductParts parts = parts_of(whole);
  OpCase out = to_float(std::move(name), whole, has_bias);
  std::vector<float> a(parts.a.values.begin(), parts.a.values.end());
  for (Tensor* const y : {&out.outputs[0]}) {  // the scale of A is 1 and not 0.25
    std::vector<float> values;
    const int64_t n = p.b.back();
    for (int64_t i = 0; i < y->size(); ++i) {
      const float bias = has_bias ? static_cast<float>(i % n % 5) - 2 : 0;
      values.push_back((ep::load_element<float>(y->bytes.data(), i) - bias) * 4 + bias);
    }
    *y = f32(y->dims, values);
  }
  out.inputs = {f32(p.a, a), out.inputs[1], out.inputs[3], out.inputs[5], out.inputs[6]};
  return out;
}

OP_CASES_LOWERED_IN("com.microsoft", DynamicQuantizeMatMul, 1,
                    {from_float("columns", {false, true, {25, 40}, {40, 19}, kNone, kLines}, true),
                     from_float("unsigned", {false, false, {2, 500}, {500, 70}, kNone, kOne}, false),
                     from_float("batches", {false, true, {2, 30, 16}, {16, 17}, kNone, kNone}, true)})

}  // namespace
}  // namespace tenon::test
