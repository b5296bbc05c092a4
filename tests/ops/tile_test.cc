// Sizes around the tiles that products and convolutions are cut into, against sums written out.
#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

/// Small integers, so that sums are exact in any order.
Tensor numbers(Dims dims, int seed) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>((i * 7 + seed * 13) % 11 - 5));
  return f32(std::move(dims), std::move(values));
}

float at(const Tensor& tensor, int64_t i) { return ep::load_element<float>(tensor.bytes.data(), i); }

Tensor product(const Tensor& a, const Tensor& b, int64_t rows, int64_t depth, int64_t columns, Dims dims) {
  std::vector<float> out;
  const int64_t batches = a.size() / std::max<int64_t>(1, rows * depth);
  const bool shared = b.size() == depth * columns;
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t i = 0; i < rows * columns; ++i) {
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        sum += at(a, (batch * rows + i / columns) * depth + k) *
               at(b, ((shared ? 0 : batch) * depth + k) * columns + i % columns);
      }
      out.push_back(sum);
    }
  }
  return f32(std::move(dims), std::move(out));
}

OpCase matmul(std::string name, int64_t rows, int64_t depth, int64_t columns) {
  const Tensor a = numbers({rows, depth}, 1), b = numbers({depth, columns}, 2);
  return {std::move(name), {a, b}, {product(a, b, rows, depth, columns, {rows, columns})}};
}

OpCase batched(std::string name, int64_t batches, int64_t rows, int64_t depth, int64_t columns, bool shared) {
  const Tensor a = numbers({batches, rows, depth}, 3);
  const Tensor b = shared ? numbers({depth, columns}, 4) : numbers({batches, depth, columns}, 4);
  return {std::move(name), {a, b}, {product(a, b, rows, depth, columns, {batches, rows, columns})}};
}

struct Image {
  int64_t images, channels, height, width, filters, taps, stride, pad, groups;
};

OpCase convolution(std::string name, const Image& c) {
  const Tensor x = numbers({c.images, c.channels, c.height, c.width}, 5);
  const Tensor f = numbers({c.filters, c.channels / c.groups, c.taps, c.taps}, 6);
  const Tensor bias = numbers({c.filters}, 7);
  const int64_t oh = (c.height + 2 * c.pad - c.taps) / c.stride + 1,
                ow = (c.width + 2 * c.pad - c.taps) / c.stride + 1;
  const int64_t depth = c.channels / c.groups, per_group = c.filters / c.groups;
  std::vector<float> out;
  for (int64_t i = 0; i < c.images * c.filters * oh * ow; ++i) {
    const int64_t w = i % ow, h = i / ow % oh, filter = i / ow / oh % c.filters,
                  image = i / ow / oh / c.filters;
    float sum = at(bias, filter);
    for (int64_t k = 0; k < depth * c.taps * c.taps; ++k) {
      const int64_t kw = k % c.taps, kh = k / c.taps % c.taps,
                    channel = filter / per_group * depth + k / c.taps / c.taps;
      const int64_t y = h * c.stride + kh - c.pad, z = w * c.stride + kw - c.pad;
      if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
      sum += at(x, ((image * c.channels + channel) * c.height + y) * c.width + z) *
             at(f, filter * depth * c.taps * c.taps + k);
    }
    out.push_back(sum);
  }
  return {std::move(name),
          {x, f, bias},
          {f32({c.images, c.filters, oh, ow}, std::move(out))},
          {{"pads", std::vector<int64_t>{c.pad, c.pad, c.pad, c.pad}},
           {"strides", std::vector<int64_t>{c.stride, c.stride}},
           {"group", c.groups}}};
}

OpCase turned(std::string name, int64_t rows, int64_t depth, int64_t columns) {
  const Tensor a = numbers({rows, depth}, 1), b = numbers({depth, columns}, 2);
  std::vector<float> by_columns;
  for (int64_t i = 0; i < depth * columns; ++i) by_columns.push_back(at(b, i % depth * columns + i / depth));
  return {std::move(name),
          {a, f32({columns, depth}, std::move(by_columns))},
          {product(a, b, rows, depth, columns, {rows, columns})},
          {{"transB", int64_t{1}}}};
}

/// The same in float64: for providers whose float32 has a way of its own.
OpCase doubled(OpCase row) {
  const auto convert = [](Tensor& tensor) {
    std::vector<double> values;
    for (int64_t i = 0; i < tensor.size(); ++i) values.push_back(at(tensor, i));
    std::vector<float> rounded(values.begin(), values.end());
    tensor = make_tensor<double>(tensor.dims, rounded);
  };
  for (Tensor& tensor : row.inputs) convert(tensor);
  for (Tensor& tensor : row.outputs) convert(tensor);
  row.name += "_double";
  return row;
}

/// Greatest of each window.
OpCase maximum(std::string name, const Image& c) {
  const Tensor x = numbers({c.images, c.channels, c.height, c.width}, 5);
  const int64_t oh = (c.height + 2 * c.pad - c.taps) / c.stride + 1,
                ow = (c.width + 2 * c.pad - c.taps) / c.stride + 1;
  std::vector<float> out;
  for (int64_t i = 0; i < c.images * c.channels * oh * ow; ++i) {
    const int64_t w = i % ow, h = i / ow % oh, plane = i / ow / oh;
    float top = -kInf;
    for (int64_t k = 0; k < c.taps * c.taps; ++k) {
      const int64_t y = h * c.stride + k / c.taps - c.pad, z = w * c.stride + k % c.taps - c.pad;
      if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
      top = std::max(top, at(x, (plane * c.height + y) * c.width + z));
    }
    out.push_back(top);
  }
  return {std::move(name),
          {x},
          {f32({c.images, c.channels, oh, ow}, std::move(out))},
          {{"kernel_shape", std::vector<int64_t>{c.taps, c.taps}},
           {"pads", std::vector<int64_t>{c.pad, c.pad, c.pad, c.pad}},
           {"strides", std::vector<int64_t>{c.stride, c.stride}}}};
}

constexpr Image kStrided{1, 4, 11, 13, 9, 3, 2, 1, 1}, kThird{1, 3, 20, 50, 5, 3, 3, 1, 1};
constexpr Image kDepthwise{2, 6, 9, 35, 6, 3, 1, 1, 6};

}  // namespace

OP_CASES(MatMul, 13,
         {matmul("tile_exact", 8, 16, 32), matmul("tile_less_one", 7, 5, 31), matmul("tile_more", 9, 3, 33),
          matmul("groups_of_tiles", 41, 17, 161), matmul("one_row", 1, 64, 70),
          matmul("one_column", 70, 64, 1), matmul("depth_one", 12, 1, 40),
          batched("batches", 3, 10, 6, 35, false), batched("shared_right_side", 3, 5, 6, 35, true),
          batched("no_rows", 2, 0, 4, 40, false), matmul("packed", 70, 600, 400),
          doubled(matmul("packed_rows", 400, 600, 70))})
OP_CASES(Gemm, 13,
         {turned("turned_tile", 10, 12, 40), turned("turned_row", 2, 50, 33),
          turned("turned_packed", 60, 600, 400)})
OP_CASES(Conv, 11,
         {convolution("three_by_three", {2, 3, 9, 10, 12, 3, 1, 1, 1}), convolution("strided", kStrided),
          convolution("points", {2, 6, 7, 7, 16, 1, 1, 0, 1}),
          convolution("points_strided", {1, 6, 8, 8, 8, 1, 2, 0, 1}),
          convolution("in_groups", {2, 8, 6, 6, 24, 3, 1, 1, 2}), convolution("depthwise", kDepthwise),
          doubled(convolution("depthwise", kDepthwise)), doubled(convolution("strided", kStrided)),
          convolution("strided_by_three", kThird),
          convolution("depthwise_doubled", {1, 4, 8, 8, 8, 3, 2, 1, 4}),
          convolution("packed", {1, 64, 8, 8, 300, 3, 1, 1, 1}),
          convolution("seven_by_seven", {1, 3, 20, 21, 8, 7, 2, 3, 1})})

OP_CASES(MaxPool, 12,
         {maximum("lines", {2, 3, 9, 40, 0, 3, 1, 1, 1}), maximum("strided", {1, 2, 21, 37, 0, 3, 2, 1, 1}),
          maximum("strided_by_three", kThird), doubled(maximum("strided", kStrided))})

}  // namespace tenon::test
