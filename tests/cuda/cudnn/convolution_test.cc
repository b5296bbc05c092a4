// Convolutions and what comes after them, beside ones that are computed plainly.
#include <array>

#include "graphs.h"

namespace cudnn_tests {
namespace {

struct Shape {
  Dims x, w;
  Cudnn::Window window;

  Dims y() const {
    Dims out = {x[0], w[0]};
    for (size_t i = 0; i < window.stride.size(); ++i) {
      const int64_t room =
          x[2 + i] + window.pre[i] + window.post[i] - (w[2 + i] - 1) * window.dilation[i] - 1;
      out.push_back(room / window.stride[i] + 1);
    }
    return out;
  }
};

double at(const Shape& s, Memory& x, Memory& w, const Dims& index, fake_cuda::Rounding rounding) {
  const int64_t channels = s.w[1], of_group = s.w[0] / (s.x[1] / channels), group = index[1] / of_group;
  Dims window(s.w.begin() + 1, s.w.end());
  double sum = 0;
  for_each_index(window, [&](const Dims& at) {
    Dims from = {index[0], group * channels + at[0]}, filter = {index[1], at[0]};
    for (size_t i = 0; i + 1 < at.size(); ++i) {
      const int64_t k = s.window.mode == CUDNN_CONVOLUTION ? s.w[2 + i] - 1 - at[i + 1] : at[i + 1];
      from.push_back(index[2 + i] * s.window.stride[i] - s.window.pre[i] + k * s.window.dilation[i]);
      filter.push_back(at[i + 1]);
      if (from.back() < 0 || from.back() >= s.x[2 + i]) return;
    }
    const auto taken = [&](double value) {
      return rounding == fake_cuda::Rounding::kNone ? value
                                                    : fake_cuda::rounded(static_cast<float>(value), rounding);
    };
    sum += taken(x.at(from)) * taken(w.at(filter));
  });
  return sum;
}

using Strides = Dims (*)(const Dims&);

class CudnnConvolution : public Fixture {
 public:
  /// Every engine of the graph, with a bias, an addend and relu if wanted.
  void expect_all(const Shape& s, cudnnDataType_t type, Strides strides, bool has_addend, bool has_bias,
                  bool has_relu, bool bias_is_first = false) {
    const Dims dims = s.y(), vector = [&] {
      Dims out(dims.size(), 1);
      out[1] = dims[1];
      return out;
    }();
    Memory x(type, s.x, strides(s.x), 3), w(type, s.w, strides(s.w), 5), z(type, dims, strides(dims), 7),
        b(type, vector, strides(vector), 9);
    const bool has_tail = has_addend || has_bias || has_relu;
    c.status = 0;
    const auto tensor = [&](int64_t uid, Memory& m) { return c.tensor(uid, type, m.dims, m.strides); };
    int64_t between = 10;
    const auto next = [&](bool is_last) {
      return is_last ? c.tensor(9, type, dims, strides(dims))
                     : c.tensor(++between, CUDNN_DATA_FLOAT, dims, strides(dims), true);
    };
    int steps = has_addend + has_bias + has_relu;
    Descriptor last = next(!has_tail);
    std::vector<Descriptor> operations = {
        c.convolve(c.convolution(s.window), tensor(1, x), tensor(2, w), last)};
    const auto apply = [&](cudnnPointwiseMode_t mode, Descriptor operand) {
      const Descriptor to = next(--steps == 0);
      operations.push_back(c.apply(c.pointwise(mode), last, operand, to));
      last = to;
    };
    const auto add_bias = [&] {
      if (has_bias) apply(CUDNN_POINTWISE_ADD, tensor(4, b));
    };
    if (bias_is_first) add_bias();
    if (has_addend) apply(CUDNN_POINTWISE_ADD, tensor(3, z));
    if (!bias_is_first) add_bias();
    if (has_relu) apply(CUDNN_POINTWISE_RELU_FWD, nullptr);
    const Descriptor graph = c.graph(operations, handle);
    ASSERT_EQ(c.status, 0);
    const std::vector<Choice> engines = choices(c, graph);
    ASSERT_FALSE(engines.empty());
    for (const Choice& engine : engines) {
      Memory y(type, dims, strides(dims), 1);
      std::map<int64_t, void*> tensors = {{1, x.pointer()}, {2, w.pointer()}, {9, y.pointer()}};
      if (has_addend) tensors[3] = z.pointer();
      if (has_bias) tensors[4] = b.pointer();
      ASSERT_EQ(execute(c, handle, engine.configuration, tensors), CUDNN_STATUS_SUCCESS);
      const auto rounding = engine.is_tensor_core() && type == CUDNN_DATA_FLOAT ? fake_cuda::Rounding::kTf32
                                                                                : fake_cuda::Rounding::kNone;
      for_each_index(dims, [&](const Dims& index) {
        double wanted = at(s, x, w, index, rounding);
        if (has_addend) wanted += z.at(index);
        if (has_bias) wanted += b.at(index);
        if (has_relu) wanted = std::max(wanted, 0.0);
        EXPECT_NEAR(y.at(index), wanted, tolerance_of(type) * std::max(1.0, std::abs(wanted)))
            << engine.index;
      });
      if (HasFailure()) return;
    }
  }
};

const Cudnn::Window kSame{{1, 1}, {1, 1}, {1, 1}, {1, 1}};
const Shape kShapes[] = {
    {{2, 4, 7, 6}, {8, 4, 3, 3}, kSame},
    {{1, 3, 5, 9}, {4, 3, 1, 1}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}}},
    {{1, 8, 9, 9}, {8, 4, 3, 3}, kSame},                              // two groups
    {{1, 8, 9, 9}, {16, 1, 3, 3}, kSame},                             // depthwise, two filters each
    {{1, 4, 11, 8}, {8, 4, 3, 2}, {{2, 0}, {1, 3}, {2, 3}, {2, 1}}},  // asymmetric, strided, dilated
    {{1, 4, 300, 3}, {4, 4, 5, 1}, {{2, 0}, {2, 0}, {1, 1}, {1, 1}}},
    {{1, 4, 20}, {8, 4, 3}, {{1}, {0}, {2}, {1}}},                                     // one axis
    {{1, 4, 4, 5, 6}, {8, 4, 2, 3, 1}, {{1, 1, 0}, {0, 1, 0}, {1, 2, 1}, {1, 1, 1}}},  // three
};

TEST_F(CudnnConvolution, AloneInEachLayoutAndType) {
  for (const Shape& shape : kShapes) {
    for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
      for (const Strides strides : {ask::packed, ask::channels_last})
        expect_all(shape, type, strides, false, false, false);
    }
  }
}

TEST_F(CudnnConvolution, WithAddendBiasAndRelu) {
  for (const Shape& shape : kShapes) {
    for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF}) {
      for (const Strides strides : {ask::packed, ask::channels_last}) {
        for (const bool has_addend : {false, true}) {
          for (const bool has_relu : {false, true})
            expect_all(shape, type, strides, has_addend, true, has_relu);
        }
      }
    }
  }
}

TEST_F(CudnnConvolution, WithOtherTailsOnChannelsLast) {
  for (const Shape& shape : {kShapes[0], kShapes[2], kShapes[4]}) {
    expect_all(shape, CUDNN_DATA_FLOAT, ask::channels_last, false, false, true);
    expect_all(shape, CUDNN_DATA_HALF, ask::channels_last, true, false, true);
    expect_all(shape, CUDNN_DATA_FLOAT, ask::channels_last, true, true, true, true);
  }
}

TEST_F(CudnnConvolution, TurnsItsFiltersInModeConvolution) {
  Shape shape = kShapes[4];
  shape.window.mode = CUDNN_CONVOLUTION;
  expect_all(shape, CUDNN_DATA_FLOAT, ask::packed, false, false, false);
}

TEST_F(CudnnConvolution, InFloatHasEnginesThatRoundAndOthers) {
  const Dims x{1, 16, 8, 8}, w{16, 16, 3, 3};
  c.status = 0;
  const Descriptor graph =
      c.graph({c.convolve(c.convolution(kSame), c.tensor(1, CUDNN_DATA_FLOAT, x, ask::packed(x)),
                          c.tensor(2, CUDNN_DATA_FLOAT, w, ask::packed(w)),
                          c.tensor(3, CUDNN_DATA_FLOAT, x, ask::packed(x)))},
              handle);
  int rounding = 0, exact = 0;
  for (const Choice& engine : choices(c, graph)) ++(engine.is_tensor_core() ? rounding : exact);
  EXPECT_GE(rounding, 2);
  EXPECT_GE(exact, 2);
  for (const Choice& engine : choices(c, graph, CUDNN_HEUR_MODE_FALLBACK))
    EXPECT_FALSE(engine.is_tensor_core());
  setenv("TENON_FAKE_CUDA_CC", "7.5", 1);
  for (const Choice& engine : choices(c, graph)) EXPECT_FALSE(engine.is_tensor_core()) << engine.index;
  unsetenv("TENON_FAKE_CUDA_CC");
}

}  // namespace
}  // namespace cudnn_tests
