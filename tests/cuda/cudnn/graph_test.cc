// Graphs of other operations: pointwise ones, products, reductions, attention.
#include "graphs.h"

namespace cudnn_tests {
namespace {

class CudnnGraph : public Fixture {
 public:
  Descriptor tensor(int64_t uid, const Dims& dims, bool is_virtual = false,
                    cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return c.tensor(uid, type, dims, ask::packed(dims), is_virtual);
  }
  /// The first engine's result.
  void run(Descriptor graph, const std::map<int64_t, void*>& tensors) {
    ASSERT_EQ(c.status, 0);
    const std::vector<Choice> engines = choices(c, graph);
    ASSERT_FALSE(engines.empty());
    ASSERT_EQ(execute(c, handle, engines[0].configuration, tensors), CUDNN_STATUS_SUCCESS);
  }
};

TEST_F(CudnnGraph, PointwiseOperations) {
  const std::pair<cudnnPointwiseMode_t, std::function<double(double, double)>> modes[] = {
      {CUDNN_POINTWISE_ADD, [](double x, double b) { return x + b; }},
      {CUDNN_POINTWISE_SUB, [](double x, double b) { return x - b; }},
      {CUDNN_POINTWISE_MUL, [](double x, double b) { return x * b; }},
      {CUDNN_POINTWISE_DIV, [](double x, double b) { return x / b; }},
      {CUDNN_POINTWISE_MAX, [](double x, double b) { return std::max(x, b); }},
      {CUDNN_POINTWISE_MIN, [](double x, double b) { return std::min(x, b); }},
      {CUDNN_POINTWISE_ADD_SQUARE, [](double x, double b) { return x + b * b; }},
      {CUDNN_POINTWISE_CMP_GT, [](double x, double b) { return x > b ? 1 : 0; }},
      {CUDNN_POINTWISE_IDENTITY, [](double x, double) { return x; }},
      {CUDNN_POINTWISE_ABS, [](double x, double) { return std::abs(x); }},
      {CUDNN_POINTWISE_NEG, [](double x, double) { return -x; }},
      {CUDNN_POINTWISE_EXP, [](double x, double) { return std::exp(x); }},
      {CUDNN_POINTWISE_ERF, [](double x, double) { return std::erf(x); }},
      {CUDNN_POINTWISE_TANH_FWD, [](double x, double) { return std::tanh(x); }},
      {CUDNN_POINTWISE_SIGMOID_FWD, [](double x, double) { return 1 / (1 + std::exp(-x)); }},
      {CUDNN_POINTWISE_RELU_FWD, [](double x, double) { return std::max(x, 0.0); }},
      {CUDNN_POINTWISE_ELU_FWD, [](double x, double) { return x > 0 ? x : std::exp(x) - 1; }},
      {CUDNN_POINTWISE_GELU_FWD,
       [](double x, double) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {CUDNN_POINTWISE_GELU_APPROX_TANH_FWD, [](double x, double) { return fake_cuda::gelu_tanh(x); }},
      {CUDNN_POINTWISE_SOFTPLUS_FWD, [](double x, double) { return std::log1p(std::exp(x)); }},
      {CUDNN_POINTWISE_SWISH_FWD, [](double x, double) { return x / (1 + std::exp(-x)); }},
  };
  const Dims dims{3, 8, 5}, row{1, 1, 5};
  for (const auto& [mode, expected] : modes) {
    Memory x(CUDNN_DATA_FLOAT, dims, ask::packed(dims), 3), b(CUDNN_DATA_FLOAT, row, ask::packed(row), 5),
        y(CUDNN_DATA_FLOAT, dims, ask::packed(dims));
    const bool has_b = mode < CUDNN_POINTWISE_ABS || mode >= CUDNN_POINTWISE_CMP_EQ;
    c.status = 0;
    const Descriptor operation =
        c.apply(c.pointwise(mode), tensor(1, dims), has_b ? tensor(2, row) : nullptr, tensor(3, dims));
    std::map<int64_t, void*> tensors = {{1, x.pointer()}, {3, y.pointer()}};
    if (has_b) tensors[2] = b.pointer();
    run(c.graph({operation}, handle), tensors);
    for_each_index(dims, [&, mode = mode, &expected = expected](const Dims& at) {
      const double wanted = expected(x.at(at), b.at(at));
      EXPECT_NEAR(y.at(at), wanted, 1e-6 * std::max(1.0, std::abs(wanted))) << mode;
    });
  }
}

TEST_F(CudnnGraph, ReluHasTwoClipsAndASlope) {
  const Dims dims{1, 64};
  Memory x(CUDNN_DATA_FLOAT, dims, ask::packed(dims), 3), y(CUDNN_DATA_FLOAT, dims, ask::packed(dims));
  c.status = 0;
  const Descriptor relu =
      c.pointwise(CUDNN_POINTWISE_RELU_FWD, {{CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, -0.5},
                                             {CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 0.75},
                                             {CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0.1}});
  run(c.graph({c.apply(relu, tensor(1, dims), nullptr, tensor(2, dims))}, handle),
      {{1, x.pointer()}, {2, y.pointer()}});
  for_each_index(dims, [&](const Dims& at) {
    const double v = x.at(at);
    EXPECT_NEAR(y.at(at), v < -0.5 ? -0.5 + 0.1 * (v + 0.5) : std::min(v, 0.75), 1e-6);
  });
}

TEST_F(CudnnGraph, ScaledSumsAndValuesOfTheHost) {
  const Dims dims{1, 4, 8}, one{1, 1, 1};
  Memory x(CUDNN_DATA_FLOAT, dims, ask::packed(dims), 3), y(CUDNN_DATA_FLOAT, dims, ask::packed(dims));
  float value = 2.5F;
  c.status = 0;
  const Descriptor by_value = c.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  c.put(by_value, CUDNN_ATTR_TENSOR_UNIQUE_ID, Dims{2});
  c.put(by_value, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  c.put(by_value, CUDNN_ATTR_TENSOR_DIMENSIONS, one);
  c.put(by_value, CUDNN_ATTR_TENSOR_STRIDES, one);
  c.put(by_value, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Dims{4});
  c.put(by_value, CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  c.finished(by_value);
  run(c.graph({c.apply(c.pointwise(CUDNN_POINTWISE_MUL), tensor(1, dims), by_value, tensor(3, dims))},
              handle),
      {{1, x.pointer()}, {2, &value}, {3, y.pointer()}});
  for_each_index(dims, [&](const Dims& at) {
    EXPECT_FLOAT_EQ(static_cast<float>(y.at(at)), static_cast<float>(x.at(at) * 2.5));
  });
}

TEST_F(CudnnGraph, ProductsRoundFloatToWhatTensorCoresTake) {
  const Dims a{2, 5, 12}, b{2, 12, 7}, d{2, 5, 7}, row{1, 1, 7};
  for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF}) {
    Memory ma(type, a, ask::packed(a), 3), mb(type, b, ask::packed(b), 5), md(type, d, ask::packed(d)),
        bias(type, row, ask::packed(row), 7);
    c.status = 0;
    const Descriptor sum = tensor(10, d, true),
                     product = c.multiply(tensor(1, a, false, type), tensor(2, b, false, type), sum);
    run(c.graph({product, c.apply(c.pointwise(CUDNN_POINTWISE_ADD), sum, tensor(4, row, false, type),
                                  tensor(3, d, false, type))},
                handle),
        {{1, ma.pointer()}, {2, mb.pointer()}, {3, md.pointer()}, {4, bias.pointer()}});
    const auto taken = [&](double value) {
      return type == CUDNN_DATA_FLOAT ? fake_cuda::tf32_value(static_cast<float>(value)) : value;
    };
    for_each_index(d, [&](const Dims& at) {
      double wanted = bias.at(at);
      for (int64_t k = 0; k < 12; ++k)
        wanted += taken(ma.at({at[0], at[1], k})) * taken(mb.at({at[0], k, at[2]}));
      EXPECT_NEAR(md.at(at), wanted, tolerance_of(type) * std::max(1.0, std::abs(wanted)));
    });
  }
}

TEST_F(CudnnGraph, Reductions) {
  const Dims dims{4, 8, 3, 5};
  for (const Dims& to : {Dims{1, 8, 1, 1}, Dims{4, 1, 3, 5}, Dims{1, 1, 1, 1}}) {
    for (const auto mode : {CUDNN_REDUCE_TENSOR_ADD, CUDNN_REDUCE_TENSOR_MAX, CUDNN_REDUCE_TENSOR_MIN,
                            CUDNN_REDUCE_TENSOR_AMAX}) {
      Memory x(CUDNN_DATA_HALF, dims, ask::channels_last(dims), 3),
          y(CUDNN_DATA_FLOAT, to, ask::channels_last(to));
      c.status = 0;
      const Descriptor operation =
          c.reduce(mode, c.tensor(1, CUDNN_DATA_HALF, dims, ask::channels_last(dims)),
                   c.tensor(2, CUDNN_DATA_FLOAT, to, ask::channels_last(to)));
      run(c.graph({operation}, handle), {{1, x.pointer()}, {2, y.pointer()}});
      for_each_index(to, [&](const Dims& at) {
        double wanted = mode == CUDNN_REDUCE_TENSOR_MAX ? -1e9 : mode == CUDNN_REDUCE_TENSOR_MIN ? 1e9 : 0;
        for_each_index(dims, [&](const Dims& from) {
          for (size_t d = 0; d < 4; ++d) {
            if (to[d] != 1 && from[d] != at[d]) return;
          }
          const double v = x.at(from);
          wanted = mode == CUDNN_REDUCE_TENSOR_ADD   ? wanted + v
                   : mode == CUDNN_REDUCE_TENSOR_MAX ? std::max(wanted, v)
                   : mode == CUDNN_REDUCE_TENSOR_MIN ? std::min(wanted, v)
                                                     : std::max(wanted, std::abs(v));
        });
        EXPECT_NEAR(y.at(at), wanted, 1e-5 * std::max(1.0, std::abs(wanted)));
      });
    }
  }
}

TEST_F(CudnnGraph, Attention) {
  const Dims q{1, 2, 5, 64}, k{1, 2, 64, 7}, v{1, 2, 7, 64}, s{1, 2, 5, 7}, r{1, 2, 5, 1}, mask{1, 1, 5, 7};
  const cudnnDataType_t half = CUDNN_DATA_HALF;
  Memory mq(half, q, ask::packed(q), 3), mk(half, k, {2 * 7 * 64, 7 * 64, 1, 64}, 5),
      mv(half, v, ask::packed(v), 7), mm(half, mask, ask::packed(mask), 2), out(half, q, ask::packed(q));
  c.status = 0;
  const Descriptor scores = tensor(10, s, true), masked = tensor(11, s, true), highest = tensor(12, r, true),
                   less = tensor(13, s, true), powers = tensor(14, s, true), sums = tensor(15, r, true),
                   weights = tensor(16, s, true, half);
  const Descriptor graph =
      c.graph({c.multiply(tensor(1, q, false, half), c.tensor(2, half, k, mk.strides), scores),
               c.apply(c.pointwise(CUDNN_POINTWISE_ADD), scores, tensor(5, mask, false, half), masked),
               c.reduce(CUDNN_REDUCE_TENSOR_MAX, masked, highest),
               c.apply(c.pointwise(CUDNN_POINTWISE_SUB), masked, highest, less),
               c.apply(c.pointwise(CUDNN_POINTWISE_EXP), less, nullptr, powers),
               c.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sums),
               c.apply(c.pointwise(CUDNN_POINTWISE_DIV), powers, sums, weights),
               c.multiply(weights, tensor(3, v, false, half), tensor(4, q, false, half))},
              handle);
  run(graph,
      {{1, mq.pointer()}, {2, mk.pointer()}, {3, mv.pointer()}, {4, out.pointer()}, {5, mm.pointer()}});
  for_each_index(q, [&](const Dims& at) {
    std::vector<double> score(7);
    for (int64_t j = 0; j < 7; ++j) {
      double sum = mm.at({0, 0, at[2], j});
      for (int64_t d = 0; d < 64; ++d) sum += mq.at({0, at[1], at[2], d}) * mk.at({0, at[1], d, j});
      score[static_cast<size_t>(j)] = sum;
    }
    const double most = *std::max_element(score.begin(), score.end());
    double total = 0, wanted = 0;
    for (double& value : score) total += value = std::exp(value - most);
    for (int64_t j = 0; j < 7; ++j)
      wanted += score[static_cast<size_t>(j)] / total * mv.at({0, at[1], j, at[3]});
    EXPECT_NEAR(out.at(at), wanted, 4e-3);
  });
}

/// In one operation, several heads of queries share one of keys; the tensors are interleaved by heads.
TEST_F(CudnnGraph, UnifiedAttention) {
  for (const cudnnDataType_t type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
    const Dims q{2, 4, 5, 16}, k{2, 2, 7, 16}, v{2, 2, 7, 24}, o{2, 4, 5, 24};
    const auto interleaved = [](const Dims& d) { return Dims{d[2] * d[1] * d[3], d[3], d[1] * d[3], 1}; };
    Memory mq(type, q, interleaved(q), 3), mk(type, k, interleaved(k), 5), mv(type, v, interleaved(v), 7),
        out(type, o, interleaved(o));
    c.status = 0;
    const Descriptor attention = c.make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR),
                     scale = c.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const auto put = [&](cudnnBackendAttributeName_t name, int64_t uid, Memory& m) {
      c.put(attention, name, c.tensor(uid, type, m.dims, m.strides));
    };
    c.put(scale, CUDNN_ATTR_TENSOR_UNIQUE_ID, Dims{5});
    c.put(scale, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
    c.put(scale, CUDNN_ATTR_TENSOR_DIMENSIONS, Dims{1, 1, 1, 1});
    c.put(scale, CUDNN_ATTR_TENSOR_STRIDES, Dims{1, 1, 1, 1});
    c.put(scale, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Dims{4});
    c.put(scale, CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
    c.put(attention, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, c.finished(scale));
    put(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, 1, mq);
    put(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, 2, mk);
    put(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, 3, mv);
    put(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, 4, out);
    float factor = 0.25F;
    run(c.graph({c.finished(attention)}, handle),
        {{1, mq.pointer()}, {2, mk.pointer()}, {3, mv.pointer()}, {4, out.pointer()}, {5, &factor}});
    for_each_index(o, [&](const Dims& at) {
      std::vector<double> score(7);
      for (int64_t j = 0; j < 7; ++j) {
        for (int64_t d = 0; d < 16; ++d)
          score[static_cast<size_t>(j)] +=
              mq.at({at[0], at[1], at[2], d}) * mk.at({at[0], at[1] / 2, j, d}) * 0.25;
      }
      const double most = *std::max_element(score.begin(), score.end());
      double total = 0, wanted = 0;
      for (double& value : score) total += value = std::exp(value - most);
      for (int64_t j = 0; j < 7; ++j)
        wanted += score[static_cast<size_t>(j)] / total * mv.at({at[0], at[1] / 2, j, at[3]});
      EXPECT_NEAR(out.at(at), wanted, 2 * tolerance_of(type));
    });
  }
}

}  // namespace
}  // namespace cudnn_tests
