// Convolutions through cuDNN, and by the own kernels: axes, groups, steps, pads, sums and types, against plain loops in double.
#include <thread>

#include "tests/cuda/provider/library_case.h"

#if TENON_CUDA_HAS_CUDNN

namespace tenon::test {
namespace {

using Dims = std::vector<int64_t>;

const std::vector<std::string> kLibrary{"options.convolutions=cudnn"}, kOwn{"options.convolutions=own"};
const std::vector<std::string> kSame{"precision.deterministic=true"};
constexpr const char* kExecute = "cudnnBackendExecute";

struct ConvCase {
  Dims x, w;
  int64_t group = 1;
  Dims strides = {}, dilations = {}, pads = {};  // empty: ONNX's default
  bool has_bias = false, has_addend = false;
  std::string after = {};  // "Relu", "Clip6", "Clip" or nothing
};

int64_t at_or(const Dims& list, size_t d, int64_t otherwise) { return list.empty() ? otherwise : list[d]; }

Dims result_dims(const ConvCase& one) {
  Dims out{one.x[0], one.w[0]};
  const size_t axes = one.x.size() - 2;
  for (size_t d = 0; d < axes; ++d) {
    const int64_t room = one.x[d + 2] + at_or(one.pads, d, 0) + at_or(one.pads, axes + d, 0) -
                         (one.w[d + 2] - 1) * at_or(one.dilations, d, 1) - 1;
    out.push_back(room / at_or(one.strides, d, 1) + 1);
  }
  return out;
}

/// The three numbers of a list for axes of which the first may be missing.
std::array<int64_t, 3> three(const Dims& list, size_t axes, int64_t otherwise) {
  std::array<int64_t, 3> out{otherwise, otherwise, otherwise};
  for (size_t d = 0; d < axes; ++d) out[3 - axes + d] = at_or(list, d, otherwise);
  return out;
}

double clamped(double value, const std::string& after) {
  if (after == "Relu") return std::isnan(value) ? value : std::max(value, 0.0);
  if (after == "Clip6") return std::min(std::max(value, 0.0), 1.5);
  if (after == "Clip") return std::min(std::max(value, -0.75), 0.5);
  return value;
}

Numbers convolve(const ConvCase& one, const Numbers& x, const Numbers& w, const Numbers* bias,
                 const Numbers* addend) {
  const size_t axes = one.x.size() - 2;
  Numbers y{result_dims(one), {}};
  const auto spatial = [&](const Dims& dims) { return three(Dims(dims.begin() + 2, dims.end()), axes, 1); };
  const auto in = spatial(x.dims), size = spatial(w.dims), out = spatial(y.dims);
  const auto step = three(one.strides, axes, 1), dilation = three(one.dilations, axes, 1),
             pad = three(one.pads, axes, 0);
  const int64_t channels = w.dims[1], filters = w.dims[0], per_group = filters / one.group;
  const auto count = [](const std::array<int64_t, 3>& sizes) { return sizes[0] * sizes[1] * sizes[2]; };
  for (int64_t image = 0; image < x.dims[0]; ++image) {
    for (int64_t filter = 0; filter < filters; ++filter) {
      for (int64_t place = 0; place < count(out); ++place) {
        const int64_t places[3] = {place / (out[1] * out[2]), place / out[2] % out[1], place % out[2]};
        double sum = 0;
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t plane = image * x.dims[1] + filter / per_group * channels + c;
          for (int64_t k = 0; k < count(size); ++k) {
            const int64_t ks[3] = {k / (size[1] * size[2]), k / size[2] % size[1], k % size[2]};
            int64_t at = 0;
            bool inside = true;
            for (size_t d = 0; d < 3; ++d) {
              const int64_t i = places[d] * step[d] + ks[d] * dilation[d] - pad[d];
              inside = inside && i >= 0 && i < in[d];
              at = at * in[d] + i;
            }
            if (inside)
              sum += x.values[static_cast<size_t>(plane * count(in) + at)] *
                     w.values[static_cast<size_t>((filter * channels + c) * count(size) + k)];
          }
        }
        if (bias != nullptr) sum += bias->values[static_cast<size_t>(filter)];
        if (addend != nullptr) sum += addend->values[y.values.size()];
        y.values.push_back(clamped(sum, one.after));
      }
    }
  }
  return y;
}

NodeModel model_of(const ConvCase& one, uint32_t dtype, const Numbers& x, const Numbers& w,
                   const Numbers* bias) {
  NodeModel model{dtype, {x, w}, "Conv", {ir::Attribute::of_int("group", one.group)}};
  model.opset = 22;
  if (bias != nullptr) model.inputs.push_back(*bias);
  if (!one.strides.empty()) model.attributes.push_back(ir::Attribute::of_ints("strides", one.strides));
  if (!one.dilations.empty()) model.attributes.push_back(ir::Attribute::of_ints("dilations", one.dilations));
  if (!one.pads.empty()) model.attributes.push_back(ir::Attribute::of_ints("pads", one.pads));
  return model;
}

/// Expects `executes` of the library in every Run, if it shall do it.
void expect_convolution(const ConvCase& one, uint32_t dtype = TENON_FLOAT32, bool is_asked = true) {
  const Numbers x = drawn(dtype, one.x, 1), w = drawn(dtype, one.w, 2), bias = drawn(dtype, {one.w[0]}, 3);
  const Dims y_dims = result_dims(one);
  const Numbers addend = drawn(dtype, y_dims, 4);
  NodeModel model = model_of(one, dtype, x, w, one.has_bias ? &bias : nullptr);
  std::vector<float> added(addend.values.begin(), addend.values.end());
  model.more = [&](GraphMaker& m, GraphMaker::Id y) {
    if (one.has_addend) y = m.node("Add", {y, m.constant("addend", y_dims, added)});
    if (one.after == "Relu") return m.node("Relu", {y});
    if (one.after == "Clip6")
      return m.node("Clip", {y, m.constant("l", {}, {0}), m.constant("h", {}, {1.5f})});
    if (one.after == "Clip")
      return m.node("Clip", {y, m.constant("l", {}, {-0.75f}), m.constant("h", {}, {0.5f})});
    return y;
  };
  const Numbers wanted =
      convolve(one, x, w, one.has_bias ? &bias : nullptr, one.has_addend ? &addend : nullptr);
  const std::string what = ep::cat(
      ep::dtype_name(dtype), ": ", ep::DimsView(one.x), " * ", ep::DimsView(one.w), " in ", one.group,
      ", steps ", ep::DimsView(one.strides), ", dilations ", ep::DimsView(one.dilations), ", pads ",
      ep::DimsView(one.pads), one.has_bias ? ", bias" : "", one.has_addend ? ", addend " : " ", one.after);
  const auto depth = static_cast<int64_t>(count_of(one.w) / static_cast<size_t>(one.w[0]));
  for (const auto& options : {kLibrary, kOwn}) {
    reset_cuda_calls();
    const Numbers got = run_on_cuda(model, options, kSame);
    const CudaCalls calls = cuda_calls();
    EXPECT_EQ(calls.of(kExecute) > 0, options == kLibrary && is_asked) << what;
    // With a bias, one call also adds and clamps.
    if (options == kLibrary && is_asked && one.has_bias && one.after != "Clip") {
      EXPECT_EQ(calls.of("cuLaunchKernel"), 0) << what;
    }
    ASSERT_EQ(got.dims, wanted.dims) << what;
    EXPECT_LE(distance(got, wanted), tolerance_of(dtype, depth + 2)) << what << ", " << options[0];
  }
}

TEST(CudaConvolutions, OfOneToThreeAxes) {
  expect_convolution({{1, 3, 9}, {4, 3, 3}});
  expect_convolution({{2, 3, 9}, {4, 3, 3}, 1, {2}, {2}, {1, 3}});
  expect_convolution({{1, 3, 7, 8}, {5, 3, 3, 2}});
  expect_convolution({{2, 4, 7, 8}, {6, 4, 3, 3}, 1, {2, 1}, {1, 2}, {1, 2, 1, 2}});
  expect_convolution({{1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}});
  expect_convolution({{2, 2, 4, 5, 6}, {3, 2, 2, 2, 2}, 1, {1, 2, 2}, {2, 1, 1}, {1, 0, 2, 1, 1, 0}});
}

TEST(CudaConvolutions, OfPadsThatDiffer) {
  expect_convolution({{1, 2, 6, 6}, {3, 2, 3, 3}, 1, {}, {}, {0, 2, 1, 0}});
  expect_convolution({{1, 2, 6, 6}, {3, 2, 3, 3}, 1, {3, 2}, {}, {2, 0, 0, 1}});
  // The last window ends before the image does, and before the padding does.
  expect_convolution({{1, 2, 8, 8}, {3, 2, 3, 3}, 1, {4, 4}, {}, {}});
  expect_convolution({{1, 2, 5, 5}, {3, 2, 2, 2}, 1, {3, 3}, {}, {0, 0, 2, 2}});
}

TEST(CudaConvolutions, OfGroups) {
  expect_convolution({{2, 4, 5, 5}, {6, 2, 3, 3}, 2, {}, {}, {1, 1, 1, 1}});
  expect_convolution({{1, 6, 5, 5}, {6, 1, 3, 3}, 6, {}, {}, {1, 1, 1, 1}, true});
  expect_convolution({{1, 3, 5, 5}, {6, 1, 3, 3}, 3, {2, 2}, {}, {1, 1, 1, 1}, true, true, "Relu"});
}

TEST(CudaConvolutions, OfSingleElements) {
  expect_convolution({{1, 1, 1, 1}, {1, 1, 1, 1}});
  expect_convolution({{3, 1, 1}, {2, 1, 1}, 1, {}, {}, {}, true});
  expect_convolution({{1, 5, 4, 4}, {7, 5, 1, 1}, 1, {}, {}, {}, true, false, "Relu"});
  expect_convolution({{1, 1, 3, 3}, {1, 1, 3, 3}});
}

TEST(CudaConvolutions, OfNoImages) {
  expect_convolution({{0, 3, 5, 5}, {4, 3, 3, 3}, 1, {}, {}, {}, true}, TENON_FLOAT32, false);
}

TEST(CudaConvolutions, WithSumsAndClampsBehind) {
  for (const bool has_bias : {false, true}) {
    for (const bool has_addend : {false, true}) {
      for (const std::string after : {"", "Relu", "Clip6", "Clip"})
        expect_convolution(
            {{2, 3, 5, 6}, {4, 3, 3, 3}, 1, {}, {}, {1, 1, 1, 1}, has_bias, has_addend, after});
    }
  }
}

TEST(CudaConvolutions, OfEveryFloatType) {
  for (const uint32_t dtype : {TENON_FLOAT16, TENON_BFLOAT16})
    expect_convolution({{2, 4, 6, 6}, {8, 4, 3, 3}, 1, {}, {}, {1, 1, 1, 1}, true}, dtype);
  expect_convolution({{2, 4, 6, 6}, {8, 4, 3, 3}, 1, {}, {}, {1, 1, 1, 1}, true}, TENON_FLOAT64, false);
}

TEST(CudaConvolutions, AreExactUnlessThePrecisionAllowsLess) {
  const ConvCase one{{1, 16, 6, 6}, {8, 16, 3, 3}};
  const Numbers x = drawn(TENON_FLOAT32, one.x, 1), w = drawn(TENON_FLOAT32, one.w, 2);
  const NodeModel model = model_of(one, TENON_FLOAT32, x, w, nullptr);
  const Numbers wanted = convolve(one, x, w, nullptr, nullptr);
  EXPECT_LE(distance(run_on_cuda(model, kLibrary), wanted), tolerance_of(TENON_FLOAT32, 144));
  EXPECT_LT(distance(run_on_cuda(model, kLibrary, {"precision.default=\"fast\""}), wanted), 0.03);
}

TEST(CudaConvolutions, OfShapesThatAreKnownLate) {
  GraphMaker m;
  const Numbers w = drawn(TENON_FLOAT32, {4, 3, 3, 3}, 2);
  const std::vector<float> filters(w.values.begin(), w.values.end());
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 3, ir::Dim("h"), ir::Dim("w")}));
  m.output(m.node("Conv", {x, m.constant("w", w.dims, filters)}), "y");
  const auto session = make_session(m.bytes(), cuda_config({"cuda"}, kLibrary));
  ASSERT_NE(session, nullptr);
  for (int turn = 0; turn < 2; ++turn) {
    for (const Dims& dims : {Dims{1, 3, 5, 6}, Dims{2, 3, 9, 4}, Dims{3, 3, 3, 3}}) {
      const Numbers image = drawn(TENON_FLOAT32, dims, 5);
      reset_cuda_calls();
      const Numbers y = numbers_of(run(*session, {{"x", value_of(TENON_FLOAT32, image)}})[0]);
      const ConvCase one{dims, w.dims};
      const Numbers wanted = convolve(one, image, w, nullptr, nullptr);
      ASSERT_EQ(y.dims, wanted.dims);
      EXPECT_LE(distance(y, wanted), tolerance_of(TENON_FLOAT32, 27));
      if (turn == 0) {
        EXPECT_GT(cuda_calls().of(kExecute), 0);
      } else {
        EXPECT_EQ(cuda_calls().of("cudnnBackendGetAttribute"), 0) << "the plan is kept";
      }
    }
  }
}

TEST(CudaConvolutions, OfManyThreadsAtOnce) {
  const ConvCase one{{1, 4, 8, 8}, {4, 4, 3, 3}, 1, {}, {}, {1, 1, 1, 1}, true};
  const Numbers x = drawn(TENON_FLOAT32, one.x, 1), w = drawn(TENON_FLOAT32, one.w, 2),
                bias = drawn(TENON_FLOAT32, {4}, 3);
  const NodeModel model = model_of(one, TENON_FLOAT32, x, w, &bias);
  const auto session = make_session(model.bytes(), cuda_config({"cuda"}, kLibrary));
  ASSERT_NE(session, nullptr);
  const Numbers wanted = convolve(one, x, w, &bias, nullptr);
  std::vector<double> errors(4, NAN);
  std::vector<std::thread> threads;
  for (double& error : errors) {
    threads.emplace_back([&] {
      double worst = 0;
      for (int turn = 0; turn < 4; ++turn)
        worst = std::max(worst, distance(numbers_of(run(*session, model.values())[0]), wanted));
      error = worst;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const double error : errors) EXPECT_LE(error, tolerance_of(TENON_FLOAT32, 38));
}

}  // namespace
}  // namespace tenon::test
#endif
