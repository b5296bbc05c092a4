// MatMulInteger and QLinearMatMul.
#include "byte_products.h"
#include "kernels/common/integers.h"

namespace tenon::cuda {
namespace {

// A thread reads four bytes of four rows of b, and turns them into words along the depth.
constexpr std::string_view kColumns = R"CU(
#define PRODUCT MatMulInteger
#define SHAPE Walk w
#define BATCHES w.outer
#define FIND_INPUTS(batch)                                               \
  WALK2(w, batch, a_matrix, b_matrix)                                    \
  const int64 a_at = a_matrix * g.rows * g.depth, b_at = b_matrix * g.depth * g.columns;
#define Y_PLACES \
  const auto y_at = [&](int m, int n) { return ((int64)batch * g.rows + m) * g.columns + n; };
#define B_SOURCE                                                         \
  const int b_n = thread % 16 * 4, b_k = thread / 16 * 4;                \
  const B* b_from = b + b_at + (int64)b_k * g.columns + n0 + b_n;        \
  uint32 lines_b[4];                                                     \
  int b_sum[4] = {};                                                     \
  const auto find_b = [](int) {};                                        \
  const auto load_b = [&](int k) {                                       \
    _Pragma("unroll") for (int e = 0; e < 4; ++e)                        \
      lines_b[e] = load_word(b_from + (int64)(k + e) * g.columns, k + b_k + e < g.depth ? g.columns - n0 - b_n : 0); \
  };                                                                     \
  const auto store_b = [&](int buffer) {                                 \
    Words words;                                                         \
    _Pragma("unroll") for (int j = 0; j < 4; ++j) {                      \
      words.at[j] = (int)((lines_b[0] >> 8 * j & 255) | (lines_b[1] >> 8 * j & 255) << 8 | \
                          (lines_b[2] >> 8 * j & 255) << 16 | (lines_b[3] >> 8 * j) << 24); \
      b_sum[j] += sum_of_bytes(words.at[j]);                             \
    }                                                                    \
    bs[buffer][b_k / 4][b_n / 4] = words;                                \
  };                                                                     \
  const auto add_b = [&]() {                                             \
    _Pragma("unroll") for (int j = 0; j < 4; ++j) atomicAdd(&b_sums[b_n + j], b_sum[j]); \
  };
)CU";
constexpr Source kSource{"matmul_integer", kJoined<kColumns, kIntegerTile>};

struct IntegerProduct {
  IntegerNumbers numbers;
  Walk batches{};  // operands: matrices of a and b
  GemmArgs library;
};

/// Where the inputs of the two operators are; -1: there is none.
struct Places {
  int a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero;
};
constexpr Places kInteger{0, -1, 2, 1, -1, 3, -1, -1}, kLinear{0, 1, 2, 3, 4, 5, 6, 7};

/// A vector is a matrix of one row or column.
Dims matrix_dims(DimsView given, bool is_left) {
  if (given.size() != 1) return {given.begin(), given.end()};
  return is_left ? Dims{1, given[0]} : Dims{given[0], 1};
}

template <const Places& kPlaces>
class MatMulInteger {
  static constexpr bool kScales = kPlaces.a_scale >= 0;

 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(kPlaces.a, kByteTypes).input(kPlaces.b, kByteTypes);
    if (!kScales) return check;
    return check.input(kPlaces.a_scale, TypeList<float, Float16, BFloat16>())
        .output(0, kByteTypes)
        .that(n.input(kPlaces.a_scale).dtype() == n.input(kPlaces.b_scale).dtype() &&
                  n.input(kPlaces.a_scale).dtype() == n.input(kPlaces.y_scale).dtype(),
              TENON_REJECT_TYPE, "scales of several element types");
  }
  explicit MatMulInteger(const NodeView& n)
      : kernel_(load_kernel(n, kSource,
                            defines_of(integer_settings(
                                n.input(kPlaces.a).dtype(), n.input(kPlaces.b).dtype(), n.output(0).dtype(),
                                kScales ? n.input(kPlaces.a_scale).dtype() : uint32_t{TENON_FLOAT32},
                                kScales ? Rounding::kProduct : Rounding::kNone)),
                            "MatMulInteger")) {
    if (!kScales) library_ = ByteProducts(n, {kPlaces.a, kPlaces.b, kPlaces.a_zero, kPlaces.b_zero});
  }

  IntegerProduct prepare(PrepareContext& p) const {
    const DimsView given_a = p.input(kPlaces.a).dims(), given_b = p.input(kPlaces.b).dims();
    const Dims a = matrix_dims(given_a, true), b = matrix_dims(given_b, false);
    const int64_t rows = a[a.size() - 2], depth = a.back(), columns = b.back();
    require(depth == b[b.size() - 2], TENON_INVALID_ARGUMENT, "the shapes ", given_a, " and ", given_b,
            " do not fit");
    const Dims batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
    const Dims batch = broadcast_dims(batch_a, batch_b);
    Dims dims = batch;
    if (given_a.size() > 1) dims.push_back(rows);
    if (given_b.size() > 1) dims.push_back(columns);
    p.set_output(0, dims);

    IntegerProduct out;
    IntegerNumbers& n = out.numbers;
    const int64_t matrices_a = element_count(batch_a), matrices_b = element_count(batch_b);
    const auto lines = [&](int input, int64_t count, int64_t matrices) {
      return input < 0 || !p.has_input(input)
                 ? Lines::kOne
                 : lines_of(cat("input ", input), p.input(input).size(), count, matrices);
    };
    n.a_zero = lines(kPlaces.a_zero, rows, matrices_a);
    n.a_scale = lines(kPlaces.a_scale, rows, matrices_a);
    n.b_zero = lines(kPlaces.b_zero, columns, matrices_b);
    n.b_scale = lines(kPlaces.b_scale, columns, matrices_b);
    const Dims stride_a = broadcast_strides(batch_a, batch), stride_b = broadcast_strides(batch_b, batch);
    Dims batches = batch;
    int64_t all_rows = rows;
    // If one matrix on the right serves all on the left, they are one product with many rows.
    if (matrices_b == 1 && matrices_a == element_count(batch) && n.a_zero != Lines::kEach &&
        n.a_scale != Lines::kEach) {
      all_rows = product_of(rows, matrices_a);
      batches.assign(batch.size(), 1);
      if (n.a_zero == Lines::kOfMatrix) n.a_zero = Lines::kEach;
      if (n.a_scale == Lines::kOfMatrix) n.a_scale = Lines::kEach;
    }
    narrow(element_count(given_a)), narrow(element_count(given_b)), narrow(element_count(dims));
    n.rows = narrow(all_rows), n.columns = narrow(columns), n.depth = narrow(depth);
    out.batches = make_walk(batches, {stride_a, stride_b}, true);
    if (out.batches.outer == 1) out.library = library_.prepare(p, all_rows, columns, depth);
    return out;
  }

  void record(Recorder& ctx, const IntegerProduct& product) const {
    const IntegerNumbers& n = product.numbers;
    const auto input = [&](int i) { return i < 0 ? TensorArg{&kNoTensor} : in(ctx.input(i)); };
    const auto multiply = [&](Recorder& to, const auto& a, const auto& b, const auto& y) {
      launch_blocks(to, kernel_, integer_blocks(n.rows, n.columns, product.batches.outer), kIntegerThreads, a,
                    b, input(kPlaces.a_zero), input(kPlaces.b_zero), input(kPlaces.a_scale),
                    input(kPlaces.b_scale), input(kPlaces.y_scale), input(kPlaces.y_zero),
                    TensorArg{&kNoTensor}, y, product.batches, n);
    };
    if (library_.record(ctx, product.library, ctx.input(kPlaces.a), ctx.input(kPlaces.b), ctx.output(0),
                        multiply))
      return;
    multiply(ctx, input(kPlaces.a), input(kPlaces.b), out(ctx.output(0)));
  }

 private:
  KernelRef kernel_;
  ByteProducts library_;
};

TENON_KERNEL(MatMulInteger<kInteger>, .op_type = "MatMulInteger", .since = 10,
             .contract =
                 "A: [K] | [L..., M, K]; B: [K] | [R..., K, N]; a_zero_point?: one | [M] | [L..., M, 1]; "
                 "b_zero_point?: one | [N] | [R..., 1, N]")
TENON_KERNEL(MatMulInteger<kLinear>, .op_type = "QLinearMatMul", .since = 10,
             .contract =
                 "a: [K] | [L..., M, K]; a_scale: one | [M] | [L..., M, 1]; a_zero_point: one | [M] | [L..., "
                 "M, 1]; b: [K] | [R..., K, N]; b_scale: one | [N] | [R..., 1, N]; b_zero_point: one | [N] | "
                 "[R..., 1, N]; y_scale: one; y_zero_point: one")

}  // namespace
}  // namespace tenon::cuda
