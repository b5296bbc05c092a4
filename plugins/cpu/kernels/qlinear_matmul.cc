#include "kernels/common/integer_product.h"
#include "kernels/common/quantize.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kByteTypes + kFloat8Types;

// Sums of products of bytes fit into 32 bits up to this length.
constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max() / (255 * 255);

// Scales and zero points of `a`: one, or one per row; of `b`: one, or one per column; with more dims a set
// per matrix.
class QLinearMatMul {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kTypes).input(3, kTypes).output(0, kTypes);
  }
  explicit QLinearMatMul(const NodeView& n) {
    const bool has_bytes =
        kByteTypes.contains(n.input(0).dtype()) && kByteTypes.contains(n.output(0).dtype());
    if (!has_bytes || !n.input(3).is_constant()) return;  // else a Run may read the given ones
    const DimsView b = n.input(3).dims();
    if (!b.empty() && b[b.size() == 1 ? 0 : b.size() - 2] <= kMostBytes) weights_ = ConstantFactors(n, 3);
  }

  using State = MatMulShape;
  State prepare(PrepareContext& p) const {
    State s = matmul_shape(p, false, 3);
    for (const int i : {1, 2}) check_lines(p, i, s.m, p.input(0).dims());
    for (const int i : {4, 5}) check_lines(p, i, s.n, p.input(3).dims());
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    const OutputTensor y = ctx.output(0);
    if (y.size() == 0) return;
    const auto has_bytes = [](TensorView x) { return kByteTypes.contains(x.dtype()); };
    if (has_bytes(ctx.input(0)) && has_bytes(ctx.input(3)) && has_bytes(y) && s.k <= kMostBytes) {
      multiply_bytes(ctx, s);
    } else {
      multiply_floats(ctx, s);
    }
  }

 private:
  /// The factor from the sum of products to the quantised output.
  struct Scale {
    Scale(const Context& ctx, const State& s)
        : a(as_floats(ctx, ctx.input(1))),
          b(as_floats(ctx, ctx.input(4))),
          y(double{as_floats(ctx, ctx.input(6))[0]}),
          m(s.m),
          n(s.n) {}
    double of(const ProductPart& part, int64_t column) const {
      return double{a[at(a, m, part.left, part.line)]} * double{b[at(b, n, part.right, column)]} / y;
    }
    static size_t at(std::span<const float> list, int64_t lines, int64_t matrix, int64_t line) {
      return static_cast<size_t>(line_element(static_cast<int64_t>(list.size()), lines, matrix, line));
    }
    std::span<const float> a, b;
    double y;
    int64_t m, n;
  };

  void multiply_bytes(const Context& ctx, const State& s) const {
    const Scale scale(ctx, s);
    const Rounding to = rounding_of(ctx.output(0).dtype(), as_floats(ctx, ctx.input(7))[0]);
    const IntegerProducts products(ctx, s, ctx.input(0), ctx.input(2), ctx.input(3), ctx.input(5),
                                   weights_.get());
    auto* const y = static_cast<uint8_t*>(ctx.output(0).bytes());
    // With one scale for all rows, those of the columns are computed once.
    const int64_t matrices = scale.a.size() > 1 ? 0 : scale.b.size() == 1 ? 1 : products.right_count();
    const std::span<double> of_columns = scratch_list<double>(ctx, matrices * s.n);
    for (int64_t i = 0; i < matrices * s.n; ++i)
      of_columns[static_cast<size_t>(i)] = scale.of(ProductPart{.right = i / s.n}, i % s.n);
    products.run([&](const ProductPart& part, const int32_t* sums) {
      double of_part[isa::kTileColumns];
      const double* scales = of_part;
      if (matrices > 0) {
        scales = of_columns.data() + (matrices > 1 ? part.right : 0) * s.n + part.column;
      } else {
        for (int64_t j = 0; j < part.count; ++j) of_part[j] = scale.of(part, part.column + j);
      }
      isa_integer().requantize_f64(sums, part.constants, part.count, scales, to,
                                   y + part.row * s.n + part.column);
    });
  }

  /// For elements of float8, and for sums that do not fit into 32 bits.
  static void multiply_floats(const Context& ctx, const State& s) {
    const OutputTensor y = ctx.output(0);
    const std::span<const float> a = as_floats(ctx, ctx.input(0)), b = as_floats(ctx, ctx.input(3));
    const std::span<const float> a_zeros = as_floats(ctx, ctx.input(2)),
                                 b_zeros = as_floats(ctx, ctx.input(5));
    const float y_zero = as_floats(ctx, ctx.input(7))[0];
    const Scale scale(ctx, s);
    dispatch(kTypes, y.dtype(), [&]<class T>() {
      for (int64_t row = 0; row < s.count() * s.m; ++row) {
        ctx.check_cancelled();
        const auto product = static_cast<size_t>(row / s.m);
        const float* const left = a.data() + s.left[product] + row % s.m * s.k;
        const float* const right = b.data() + s.right[product];
        ProductPart part{row, 0, 0, row % s.m, 0, s.n};
        if (s.k > 0) part.left = s.left[product] / s.k / s.m, part.right = s.right[product] / s.k / s.n;
        const float a_zero = a_zeros[Scale::at(a_zeros, s.m, part.left, part.line)];
        for (int64_t j = 0; j < s.n; ++j) {
          const float b_zero = b_zeros[Scale::at(b_zeros, s.n, part.right, j)];
          double total = 0;  // exact, because products have at most 18 bits
          for (int64_t p = 0; p < s.k; ++p)
            total += double{left[p] - a_zero} * double{right[p * s.n + j] - b_zero};
          y.set<T>(row * s.n + j, quantize<T>(static_cast<float>(total * scale.of(part, j)), y_zero, true));
        }
      }
    });
  }

  ConstantFactors weights_;
};

TENON_KERNEL(QLinearMatMul, .op_type = "QLinearMatMul", .since = 10,
             .contract =
                 "a: [K] | [L..., M, K]; a_scale: one | [M] | [L..., M, 1]; a_zero_point: one | [M] | [L..., "
                 "M, 1]; b: [K] | [R..., K, N]; b_scale: one | [N] | [R..., 1, N]; b_zero_point: one | [N] | "
                 "[R..., 1, N]; y_scale: one; y_zero_point: one")

}  // namespace
}  // namespace tenon::cpu
