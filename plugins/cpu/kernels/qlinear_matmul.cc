#include "kernels/common/quantize.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = TypeList<int8_t, uint8_t>() + kFloat8Types;

// Scales and zero points of `a`: one, or one per row; of `b`: one, or one per column; with more dims a set
// per matrix.
class QLinearMatMul {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kTypes).input(3, kTypes).output(0, kTypes);
  }

  /// The leading dims of both factors, and their broadcast.
  struct State {
    Dims a, b, both;
    int64_t m = 1, n = 1, k = 1, batches = 1;
  };
  State prepare(PrepareContext& p) const {
    const DimsView a = p.input(0).dims(), b = p.input(3).dims();
    const auto lead = [](DimsView dims) {
      return Dims(dims.begin(), dims.end() - static_cast<int64_t>(std::min<size_t>(2, dims.size())));
    };
    State s{lead(a), lead(b), {}};
    s.both = broadcast_dims(s.a, s.b);
    s.batches = element_count(s.both);
    s.k = a.back();
    Dims out = s.both;
    if (a.size() > 1) out.push_back(s.m = a[a.size() - 2]);
    if (b.size() > 1) out.push_back(s.n = b.back());
    p.set_output(0, out);
    for (const int i : {1, 2}) check_parameter(p, i, s.m, element_count(s.a));
    for (const int i : {4, 5}) check_parameter(p, i, s.n, element_count(s.b));
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    const OutputTensor y = ctx.output(0);
    if (y.size() == 0) return;
    const std::span<const float> av = as_floats(ctx, ctx.input(0)), bv = as_floats(ctx, ctx.input(3));
    const Quant qa(ctx, 1, s.m), qb(ctx, 4, s.n), qy(ctx, 6, 1);
    dispatch(kTypes, y.dtype(), [&]<class T>() {
      for (int64_t batch = 0; batch < s.batches; ++batch) {
        const int64_t a_at = matrix(batch, s.both, s.a), b_at = matrix(batch, s.both, s.b);
        const float *ab = av.data() + a_at * s.m * s.k, *bb = bv.data() + b_at * s.k * s.n;
        for (int64_t i = 0; i < s.m; ++i) {
          ctx.check_cancelled();
          for (int64_t j = 0; j < s.n; ++j) {
            double total = 0;  // exact, because products have at most 18 bits
            for (int64_t p = 0; p < s.k; ++p)
              total +=
                  double{ab[i * s.k + p] - qa.zero(a_at, i)} * double{bb[p * s.n + j] - qb.zero(b_at, j)};
            const double scale =
                double{qa.scale(a_at, i)} * double{qb.scale(b_at, j)} / double{qy.scale(0, 0)};
            y.set<T>((batch * s.m + i) * s.n + j,
                     quantize<T>(static_cast<float>(total * scale), qy.zero(0, 0), true));
          }
        }
      }
    });
  }

 private:
  static void check_parameter(PrepareContext& p, int i, int64_t lines, int64_t matrices) {
    const int64_t n = p.input(i).size();
    require(n == 1 || n == lines || n == wrapping_product(lines, matrices), TENON_INVALID_ARGUMENT, "input ",
            i, " has shape ", p.input(i).dims(), " for ", matrices, " matrices of ", lines,
            " rows or columns");
  }

  struct Quant {
    std::span<const float> scales, zeros;
    int64_t lines;
    Quant(const Context& ctx, int input, int64_t lines)
        : scales(as_floats(ctx, ctx.input(input))),
          zeros(as_floats(ctx, ctx.input(input + 1))),
          lines(lines) {}
    float scale(int64_t matrix, int64_t line) const { return pick(scales, matrix, line); }
    float zero(int64_t matrix, int64_t line) const { return pick(zeros, matrix, line); }

   private:
    float pick(std::span<const float> list, int64_t matrix, int64_t line) const {
      if (list.size() == 1) return list[0];
      const bool by_matrix = static_cast<int64_t>(list.size()) != lines;
      return list[static_cast<size_t>(by_matrix ? matrix * lines + line : line)];
    }
  };
  // The matrix of an operand for batch index `at` of the broadcast leading dims.
  static int64_t matrix(int64_t at, const Dims& lead, const Dims& own) {
    int64_t out = 0, stride = 1;
    for (size_t d = lead.size(), o = own.size(); d-- > 0; at /= lead[d]) {
      if (o == 0) continue;
      --o;
      if (own[o] != 1) out += at % lead[d] * stride;
      stride *= own[o];
    }
    return out;
  }
};

TENON_KERNEL(QLinearMatMul, .op_type = "QLinearMatMul", .since = 10,
             .contract =
                 "a: [K] | [L..., M, K]; a_scale: one | [M] | [L..., M, 1]; a_zero_point: one | [M] | [L..., "
                 "M, 1]; b: [K] | [R..., K, N]; b_scale: one | [N] | [R..., 1, N]; b_zero_point: one | [N] | "
                 "[R..., 1, N]; y_scale: one; y_zero_point: one")

}  // namespace
}  // namespace tenon::cpu
