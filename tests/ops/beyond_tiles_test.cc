// Shapes of several tiles and parts, of operators that devices cut up in ways of their own: products of bytes, and products
// that are thin or deep. Against sums written out.
#include <cmath>

#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

int64_t count_of(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

/// Numbers from `low` on, as many different ones as `range`.
template <class T>
Tensor numbers(Dims dims, int seed, int low, int range) {
  std::vector<float> values;
  for (int64_t i = 0; i < count_of(dims); ++i)
    values.push_back(static_cast<float>(low + static_cast<int>((i * i * 3 + i * 7 + seed * 13) % range)));
  return make_tensor<T>(std::move(dims), values);
}

double at(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype) {
    case TENON_INT8:
      return ep::load_element<int8_t>(tensor.bytes.data(), i);
    case TENON_UINT8:
      return ep::load_element<uint8_t>(tensor.bytes.data(), i);
    case TENON_INT32:
      return ep::load_element<int32_t>(tensor.bytes.data(), i);
    default:
      return static_cast<double>(ep::load_element<float>(tensor.bytes.data(), i));
  }
}
template <class T>
Tensor scalar(float value) {
  return make_tensor<T>({}, std::vector<float>{value});
}

float rounded(double value, double zero, bool is_signed) {
  const double low = is_signed ? -128 : 0;
  return static_cast<float>(std::min(low + 255, std::max(low, std::nearbyint(value) + zero)));
}

// Products.

OpCase matmul(std::string name, int64_t rows, int64_t depth, int64_t columns, bool turned = false) {
  const Tensor a = numbers<float>({rows, depth}, 1, -5, 11);
  const Tensor b = numbers<float>(turned ? Dims{columns, depth} : Dims{depth, columns}, 2, -5, 11);
  std::vector<float> out;
  for (int64_t i = 0; i < rows * columns; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += at(a, i / columns * depth + k) *
             at(b, turned ? i % columns * depth + k : k * columns + i % columns);
    out.push_back(static_cast<float>(sum));
  }
  return {std::move(name),
          {a, b},
          {f32({rows, columns}, out)},
          turned ? std::vector<Attribute>{{"transB", int64_t{1}}} : std::vector<Attribute>{}};
}

/// A batch of two left matrices, one on the right; zero points by row and by column.
struct Bytes {
  Tensor a, a_zero, b, b_zero;
  int64_t rows, depth, columns;

  template <class A, class B>
  static Bytes make(int64_t rows, int64_t depth, int64_t columns) {
    return {numbers<A>({2, rows, depth}, 1, std::is_signed_v<A> ? -128 : 0, 251),
            numbers<A>({2, rows, 1}, 2, 0, 97),
            numbers<B>({depth, columns}, 3, std::is_signed_v<B> ? -128 : 0, 241),
            numbers<B>({columns}, 4, 0, 89),
            rows,
            depth,
            columns};
  }
  std::vector<double> sums() const {
    std::vector<double> out;
    for (int64_t row = 0; row < 2 * rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum +=
              (at(a, row * depth + k) - at(a_zero, row)) * (at(b, k * columns + column) - at(b_zero, column));
        out.push_back(sum);
      }
    }
    return out;
  }
};

OpCase matmul_integer(std::string name, const Bytes& p) {
  const std::vector<double> sums = p.sums();
  return {std::move(name),
          {p.a, p.b, p.a_zero, p.b_zero},
          {make_tensor<int32_t>({2, p.rows, p.columns}, std::vector<float>(sums.begin(), sums.end()))}};
}

OpCase qlinear_matmul(std::string name, const Bytes& p) {
  const bool is_signed = p.a.dtype == TENON_INT8;
  const Tensor a_scale = f32({}, {0.25f}), y_scale = f32({}, {64});
  const Tensor b_scale = make_tensor<float>({p.columns}, [&] {
    std::vector<float> out;
    for (int64_t i = 0; i < p.columns; ++i) out.push_back(0.125f * static_cast<float>(1 + i % 3));
    return out;
  }());
  std::vector<float> out;
  const std::vector<double> sums = p.sums();
  for (size_t i = 0; i < sums.size(); ++i)
    out.push_back(
        rounded(sums[i] * 0.25 * at(b_scale, static_cast<int64_t>(i) % p.columns) / 64, 9, is_signed));
  const Tensor y_zero = is_signed ? scalar<int8_t>(9) : scalar<uint8_t>(9);
  const Dims y{2, p.rows, p.columns};
  return {std::move(name),
          {p.a, a_scale, p.a_zero, p.b, b_scale, p.b_zero, y_scale, y_zero},
          {is_signed ? make_tensor<int8_t>(y, out) : make_tensor<uint8_t>(y, out)}};
}

// Convolutions of bytes.

struct Image {
  int64_t images, channels, height, width, filters, taps, stride, pad, groups;
};

struct ByteConv {
  Image c;
  Tensor x, x_zero, f, f_zero;
  int64_t oh, ow;

  template <class X, class F>
  static ByteConv make(const Image& c) {
    return {c,
            numbers<X>({c.images, c.channels, c.height, c.width}, 1, std::is_signed_v<X> ? -128 : 0, 251),
            scalar<X>(17),
            numbers<F>({c.filters, c.channels / c.groups, c.taps, c.taps}, 3, std::is_signed_v<F> ? -128 : 0,
                       241),
            numbers<F>({c.filters}, 4, 0, 89),
            (c.height + 2 * c.pad - c.taps) / c.stride + 1,
            (c.width + 2 * c.pad - c.taps) / c.stride + 1};
  }
  Dims dims() const { return {c.images, c.filters, oh, ow}; }
  std::vector<Attribute> attributes() const {
    return {{"pads", Ints{c.pad, c.pad, c.pad, c.pad}},
            {"strides", Ints{c.stride, c.stride}},
            {"group", c.groups}};
  }
  double sum(int64_t i) const {
    const int64_t w = i % ow, h = i / ow % oh, filter = i / ow / oh % c.filters,
                  image = i / ow / oh / c.filters;
    const int64_t depth = c.channels / c.groups, first = filter / (c.filters / c.groups) * depth;
    double out = 0;
    for (int64_t k = 0; k < depth * c.taps * c.taps; ++k) {
      const int64_t y = h * c.stride + k / c.taps % c.taps - c.pad, z = w * c.stride + k % c.taps - c.pad;
      if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
      const int64_t channel = first + k / c.taps / c.taps;
      out += (at(x, ((image * c.channels + channel) * c.height + y) * c.width + z) - 17) *
             (at(f, filter * depth * c.taps * c.taps + k) - at(f_zero, filter));
    }
    return out;
  }
};

OpCase conv_integer(std::string name, const ByteConv& p) {
  std::vector<float> out;
  for (int64_t i = 0; i < count_of(p.dims()); ++i) out.push_back(static_cast<float>(p.sum(i)));
  return {
      std::move(name), {p.x, p.f, p.x_zero, p.f_zero}, {make_tensor<int32_t>(p.dims(), out)}, p.attributes()};
}

OpCase qlinear_conv(std::string name, const ByteConv& p) {
  const bool is_signed = p.x.dtype == TENON_INT8;
  const Tensor bias = numbers<int32_t>({p.c.filters}, 5, -1000, 2001);
  std::vector<float> scales, out;
  for (int64_t i = 0; i < p.c.filters; ++i) scales.push_back(0.125f * static_cast<float>(1 + i % 3));
  for (int64_t i = 0; i < count_of(p.dims()); ++i) {
    const int64_t filter = i / p.ow / p.oh % p.c.filters;
    const double scale = 0.25 * static_cast<double>(scales[static_cast<size_t>(filter)]) / 32;
    out.push_back(rounded((p.sum(i) + at(bias, filter)) * scale, 100, is_signed));
  }
  const Tensor y_zero = is_signed ? scalar<int8_t>(100) : scalar<uint8_t>(100);
  return {std::move(name),
          {p.x, f32({}, {0.25f}), p.x_zero, p.f, f32({p.c.filters}, scales), p.f_zero, f32({}, {32}), y_zero,
           bias},
          {is_signed ? make_tensor<int8_t>(p.dims(), out) : make_tensor<uint8_t>(p.dims(), out)},
          p.attributes()};
}

}  // namespace

OP_CASES(MatMul, 13,
         {matmul("few_rows_deep", 3, 600, 70), matmul("few_columns_deep", 70, 600, 3),
          matmul("deep", 40, 1300, 40), matmul("eight_rows", 8, 130, 67)})
OP_CASES(Gemm, 13,
         {matmul("turned_row", 1, 300, 67, true), matmul("turned_few_rows", 5, 130, 67, true),
          matmul("turned_tiles", 70, 70, 70, true)})
OP_CASES(MatMulInteger, 10,
         {matmul_integer("tiles", Bytes::make<uint8_t, int8_t>(70, 130, 67)),
          matmul_integer("tiles_signed", Bytes::make<int8_t, int8_t>(33, 64, 128)),
          matmul_integer("tiles_unsigned", Bytes::make<uint8_t, uint8_t>(5, 257, 65)),
          matmul_integer("tiles_mixed", Bytes::make<int8_t, uint8_t>(65, 63, 4))})
OP_CASES(QLinearMatMul, 10,
         {qlinear_matmul("tiles", Bytes::make<uint8_t, int8_t>(70, 130, 67)),
          qlinear_matmul("tiles_signed", Bytes::make<int8_t, int8_t>(33, 64, 128))})
OP_CASES(ConvInteger, 10,
         {conv_integer("tiles", ByteConv::make<uint8_t, int8_t>({2, 16, 9, 7, 70, 3, 1, 1, 1})),
          conv_integer("groups", ByteConv::make<uint8_t, uint8_t>({3, 8, 9, 9, 12, 3, 2, 2, 2})),
          conv_integer("deep", ByteConv::make<int8_t, uint8_t>({1, 30, 5, 5, 66, 3, 1, 1, 1}))})
OP_CASES(QLinearConv, 10,
         {qlinear_conv("tiles", ByteConv::make<uint8_t, int8_t>({2, 16, 9, 7, 70, 3, 1, 1, 1})),
          qlinear_conv("groups", ByteConv::make<int8_t, int8_t>({3, 8, 9, 9, 12, 3, 2, 2, 2})),
          qlinear_conv("points", ByteConv::make<uint8_t, uint8_t>({2, 12, 8, 8, 24, 1, 2, 0, 1}))})

}  // namespace tenon::test
