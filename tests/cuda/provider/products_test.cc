// Matrix products through cuBLASLt, and by the own kernels: shapes, strides, sums and types, against plain loops in double.
#include <thread>

#include "tests/cuda/provider/library_case.h"

namespace tenon::test {
namespace {

using Dims = std::vector<int64_t>;

const std::vector<std::string> kLibrary{"options.products=cublaslt"}, kOwn{"options.products=own"};
const std::vector<std::string> kSame{"precision.deterministic=true"};

/// ONNX's MatMul.
Numbers matmul(const Numbers& a, const Numbers& b) {
  Dims left = a.dims, right = b.dims;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  const int64_t rows = left[left.size() - 2], depth = left.back(), columns = right.back();
  const Dims of_a(left.begin(), left.end() - 2), of_b(right.begin(), right.end() - 2);
  Dims batch(std::max(of_a.size(), of_b.size()), 1);
  const auto dim = [&](const Dims& dims, size_t d) {
    const size_t missing = batch.size() - dims.size();
    return d < missing ? 1 : dims[d - missing];
  };
  for (size_t d = 0; d < batch.size(); ++d) batch[d] = dim(of_a, d) == 1 ? dim(of_b, d) : dim(of_a, d);
  Numbers out;
  for (size_t i = 0; i < count_of(batch); ++i) {
    size_t at_a = 0, at_b = 0, step_a = 1, step_b = 1, rest = i;
    for (size_t d = batch.size(); d-- > 0;) {
      const size_t at = rest % static_cast<size_t>(batch[d]);
      rest /= static_cast<size_t>(batch[d]);
      at_a += dim(of_a, d) == 1 ? 0 : at * step_a;
      at_b += dim(of_b, d) == 1 ? 0 : at * step_b;
      step_a *= static_cast<size_t>(dim(of_a, d));
      step_b *= static_cast<size_t>(dim(of_b, d));
    }
    const double* x = a.values.data() + at_a * static_cast<size_t>(rows * depth);
    const double* y = b.values.data() + at_b * static_cast<size_t>(depth * columns);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) sum += x[r * depth + k] * y[k * columns + c];
        out.values.push_back(sum);
      }
    }
  }
  out.dims = batch;
  if (a.dims.size() > 1) out.dims.push_back(rows);
  if (b.dims.size() > 1) out.dims.push_back(columns);
  return out;
}

struct MatMulCase {
  Dims a, b;
  int calls;  // of the library in a Run; 0: it is not asked
};
const MatMulCase kMatMuls[] = {
    {{1, 1}, {1, 1}, 1},
    {{5, 7}, {7, 3}, 1},
    {{1, 64}, {64, 33}, 1},
    {{33, 1}, {1, 65}, 1},
    {{64}, {64, 8}, 1},
    {{8, 64}, {64}, 1},
    {{7}, {7}, 1},
    {{3, 5, 7}, {7, 9}, 1},     // one product with many rows
    {{3, 5, 7}, {3, 7, 9}, 1},  // a batch
    {{1, 5, 7}, {3, 7, 9}, 1},  // the left one serves all
    {{5, 7}, {3, 7, 9}, 1},
    {{3, 1, 7}, {3, 7, 9}, 1},
    {{2, 3, 4, 5}, {2, 3, 5, 6}, 1},  // axes that are one
    {{2, 1, 4, 5}, {1, 3, 5, 6}, 2},  // axes with different strides
    {{3, 2, 1, 2, 5}, {3, 1, 4, 5, 2}, 6},
    {{17, 1, 4, 5}, {1, 18, 5, 2}, 0},  // too many calls
    {{0, 5}, {5, 3}, 0},
    {{5, 0}, {0, 3}, 0},
    {{2, 0, 5}, {5, 3}, 0},
    {{0, 2, 5}, {0, 5, 3}, 0},
};

TEST(CudaProducts, OfEveryShapeThroughTheLibraryAndWithout) {
  unsigned seed = 1;
  for (const MatMulCase& one : kMatMuls) {
    const Numbers a = drawn(TENON_FLOAT32, one.a, ++seed), b = drawn(TENON_FLOAT32, one.b, ++seed);
    const NodeModel model{TENON_FLOAT32, {a, b}, "MatMul", {}};
    const Numbers wanted = matmul(a, b);
    const std::string what = ep::cat(ep::DimsView(one.a), " x ", ep::DimsView(one.b));
    reset_cuda_calls();
    const Numbers got = run_on_cuda(model, kLibrary, kSame);
    const int calls = cuda_calls().of("cublasLtMatmul");
    if (one.calls == 0) {
      EXPECT_EQ(calls, 0) << what;
    } else {
      EXPECT_GT(calls, 0) << what;
      EXPECT_EQ(calls % one.calls, 0) << what << ": " << calls;
    }
    ASSERT_EQ(got.dims, wanted.dims) << what;
    EXPECT_LE(distance(got, wanted), tolerance_of(TENON_FLOAT32, one.a.back())) << what;
    reset_cuda_calls();
    const Numbers own = run_on_cuda(model, kOwn);
    EXPECT_EQ(cuda_calls().of("cublasLtMatmul"), 0) << what;
    ASSERT_EQ(own.dims, wanted.dims) << what;
    EXPECT_LE(distance(own, wanted), tolerance_of(TENON_FLOAT32, one.a.back())) << what;
  }
}

TEST(CudaProducts, OfEveryFloatType) {
  for (const uint32_t dtype : {TENON_FLOAT32, TENON_FLOAT64, TENON_FLOAT16, TENON_BFLOAT16}) {
    const Numbers a = drawn(dtype, {3, 17, 40}, 1), b = drawn(dtype, {3, 40, 24}, 2);
    const NodeModel model{dtype, {a, b}, "MatMul", {}};
    const Numbers wanted = matmul(a, b);
    for (const auto& options : {kLibrary, kOwn}) {
      reset_cuda_calls();
      EXPECT_LE(distance(run_on_cuda(model, options), wanted), tolerance_of(dtype, 40))
          << dtype << options[0];
      EXPECT_EQ(cuda_calls().of("cublasLtMatmul") > 0, options == kLibrary) << dtype;
    }
  }
}

/// Fewer bits only where the session allows them.
TEST(CudaProducts, AreExactUnlessThePrecisionAllowsLess) {
  const Numbers a = drawn(TENON_FLOAT32, {16, 64}, 1), b = drawn(TENON_FLOAT32, {64, 16}, 2);
  const NodeModel model{TENON_FLOAT32, {a, b}, "MatMul", {}};
  const Numbers wanted = matmul(a, b);
  EXPECT_LE(distance(run_on_cuda(model, kLibrary), wanted), tolerance_of(TENON_FLOAT32, 64));
  for (const std::string precision : {"fast", "bf16"}) {
    const double error =
        distance(run_on_cuda(model, kLibrary, {"precision.default=\"" + precision + "\""}), wanted);
    EXPECT_GT(error, tolerance_of(TENON_FLOAT32, 64)) << precision;
    EXPECT_LT(error, 0.03) << precision;
  }
}

/// Gemm of ONNX, with a clamp behind it.
struct GemmCase {
  bool a_turned, b_turned;
  float alpha, beta;
  Dims c;  // nothing: none
  std::string after;
};

Numbers gemm(const GemmCase& one, const Numbers& a, const Numbers& b, const Numbers& c) {
  const int64_t rows = a.dims[one.a_turned ? 1 : 0], depth = a.dims[one.a_turned ? 0 : 1];
  const int64_t columns = b.dims[one.b_turned ? 0 : 1];
  Numbers out{{rows, columns}, {}};
  const auto at = [](int64_t index) { return static_cast<size_t>(index); };
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < columns; ++k) {
      double sum = 0;
      for (int64_t i = 0; i < depth; ++i)
        sum += a.values[at(one.a_turned ? i * rows + r : r * depth + i)] *
               b.values[at(one.b_turned ? k * depth + i : i * columns + k)];
      sum *= one.alpha;
      if (!c.values.empty()) {
        const int64_t width = c.dims.empty() ? 1 : c.dims.back(), height = c.dims.size() < 2 ? 1 : c.dims[0];
        sum += one.beta * c.values[at((height == 1 ? 0 : r) * width + (width == 1 ? 0 : k))];
      }
      if (one.after == "Relu") sum = std::max(sum, 0.0);
      if (one.after == "Clip") sum = std::min(std::max(sum, -0.5), 0.25);
      out.values.push_back(sum);
    }
  }
  return out;
}

void expect_gemm(uint32_t dtype, const GemmCase& one, int64_t rows, int64_t depth, int64_t columns) {
  const Numbers a = drawn(dtype, one.a_turned ? Dims{depth, rows} : Dims{rows, depth}, 1),
                b = drawn(dtype, one.b_turned ? Dims{columns, depth} : Dims{depth, columns}, 2);
  Dims c_dims = one.c;  // -1 and -2 stand for rows and columns
  for (int64_t& dim : c_dims) dim = dim == -1 ? rows : dim == -2 ? columns : dim;
  const bool has_c = one.c != Dims{0};
  const Numbers c = has_c ? drawn(dtype, c_dims, 3) : Numbers{};
  NodeModel model{
      dtype,
      has_c ? std::vector<Numbers>{a, b, c} : std::vector<Numbers>{a, b},
      "Gemm",
      {ir::Attribute::of_int("transA", one.a_turned), ir::Attribute::of_int("transB", one.b_turned),
       ir::Attribute::of_float("alpha", one.alpha), ir::Attribute::of_float("beta", one.beta)},
      nullptr};
  if (one.after == "Relu") model.more = [](GraphMaker& m, GraphMaker::Id y) { return m.node("Relu", {y}); };
  if (one.after == "Clip")
    model.more = [](GraphMaker& m, GraphMaker::Id y) {
      return m.node("Clip", {y, m.constant("low", {}, {-0.5f}), m.constant("high", {}, {0.25f})});
    };
  const Numbers wanted = gemm(one, a, b, c);
  const std::string what =
      ep::cat(ep::dtype_name(dtype), ": ", rows, " x ", depth, " x ", columns, one.a_turned ? " A'" : "",
              one.b_turned ? " B'" : "", ", alpha ", one.alpha, ", beta ", one.beta, ", C ",
              ep::DimsView(c_dims), " ", one.after);
  for (const auto& options : {kLibrary, kOwn}) {
    reset_cuda_calls();
    const Numbers got = run_on_cuda(model, options, kSame);
    EXPECT_EQ(cuda_calls().of("cublasLtMatmul") > 0, options == kLibrary) << what;
    ASSERT_EQ(got.dims, wanted.dims) << what;
    EXPECT_LE(distance(got, wanted), tolerance_of(dtype, depth + 2)) << what << ", " << options[0];
  }
}

TEST(CudaProducts, OfGemmWithEveryTransposeSumAndClamp) {
  const Dims none{0};
  for (const bool a_turned : {false, true}) {
    for (const bool b_turned : {false, true}) {
      for (const Dims& c : {none, Dims{}, Dims{1}, Dims{-2}, Dims{1, -2}, Dims{-1, 1}, Dims{-1, -2}})
        expect_gemm(TENON_FLOAT32, {a_turned, b_turned, 1, 1, c, "Relu"}, 6, 8, 12);
    }
  }
  for (const Dims& c : {none, Dims{-2}, Dims{-1, 1}, Dims{-1, -2}}) {
    expect_gemm(TENON_FLOAT32, {false, false, 0.5f, -1.5f, c, ""}, 5, 9, 7);
    expect_gemm(TENON_FLOAT32, {false, true, 2, 1, c, "Clip"}, 9, 5, 8);
    expect_gemm(TENON_FLOAT32, {true, false, 1, 0, c, "Relu"}, 4, 4, 4);
    expect_gemm(TENON_FLOAT64, {true, true, 0.25f, 3, c, ""}, 5, 9, 7);
    expect_gemm(TENON_FLOAT16, {false, false, 1, 1, c, ""}, 8, 16, 8);
    expect_gemm(TENON_BFLOAT16, {false, true, 1, 0.5f, c, ""}, 8, 16, 8);
    // One row, one column, one of everything.
    expect_gemm(TENON_FLOAT32, {false, false, 1, 1, c, ""}, 1, 33, 5);
    expect_gemm(TENON_FLOAT32, {true, true, 1, 2, c, "Relu"}, 5, 33, 1);
    expect_gemm(TENON_FLOAT32, {true, false, 1, 1, c, "Relu"}, 1, 1, 1);
  }
}

struct BytesCase {
  int64_t rows, depth, columns;
  int zero = 0;  // of the right matrix
  bool is_asked = true;
};

TEST(CudaProducts, OfBytesAreExact) {
  const BytesCase cases[] = {
      {9, 32, 12}, {1, 64, 4}, {3, 8, 10, 0, false}, {3, 6, 8, 0, false}, {5, 16, 8, 3, false}};
  for (const BytesCase& one : cases) {
    const auto bytes = [](int64_t count, int factor) {
      std::vector<int8_t> out(static_cast<size_t>(count));
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<int8_t>(static_cast<int>(i) * factor % 256 - 128);
      return out;
    };
    const std::vector<int8_t> a = bytes(one.rows * one.depth, 37), b = bytes(one.depth * one.columns, 91);
    GraphMaker m;
    const auto constant = [&](const std::string& name, const Dims& dims, const std::vector<int8_t>& values) {
      std::vector<std::byte> data(values.size());
      std::memcpy(data.data(), values.data(), values.size());
      return m.graph.add_constant(name, *ir::Tensor::make(ir::ElementType::kInt8, dims, std::move(data)));
    };
    const auto x = m.input("a", GraphMaker::type(ir::ElementType::kInt8, {one.rows, one.depth}));
    const auto zero = static_cast<int8_t>(one.zero);
    m.output(m.node("MatMulInteger", {x, constant("b", {one.depth, one.columns}, b), constant("a0", {}, {0}),
                                      constant("b0", {}, {zero})}),
             "y");
    std::vector<int32_t> wanted;
    for (int64_t r = 0; r < one.rows; ++r) {
      for (int64_t c = 0; c < one.columns; ++c) {
        int32_t sum = 0;
        for (int64_t k = 0; k < one.depth; ++k)
          sum += a[static_cast<size_t>(r * one.depth + k)] *
                 (b[static_cast<size_t>(k * one.columns + c)] - zero);
        wanted.push_back(sum);
      }
    }
    for (const auto& options : {kLibrary, kOwn}) {
      const std::string what =
          ep::cat(one.rows, " x ", one.depth, " x ", one.columns, " - ", one.zero, ", ", options[0]);
      reset_cuda_calls();
      const auto session = make_session(m.bytes(), cuda_config({"cuda"}, options));
      ASSERT_NE(session, nullptr) << what;
      for (int turn = 0; turn < 2; ++turn) {
        const auto y = run(*session, {{"a", tensor(TENON_INT8, {one.rows, one.depth}, a.data())}})[0];
        EXPECT_EQ(elements<int32_t>(y), wanted) << what;
      }
      EXPECT_EQ(cuda_calls().of("cublasLtMatmul") > 0, options == kLibrary && one.is_asked) << what;
    }
  }
}

TEST(CudaProducts, OfManyThreadsAtOnce) {
  const Numbers a = drawn(TENON_FLOAT32, {24, 32}, 1), b = drawn(TENON_FLOAT32, {32, 16}, 2);
  const NodeModel model{TENON_FLOAT32, {a, b}, "MatMul", {}};
  const auto session = make_session(model.bytes(), cuda_config({"cuda"}, kLibrary));
  ASSERT_NE(session, nullptr);
  const Numbers wanted = matmul(a, b);
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
  for (const double error : errors) EXPECT_LE(error, tolerance_of(TENON_FLOAT32, 32));
}

}  // namespace
}  // namespace tenon::test
