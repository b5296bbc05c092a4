#include "kernels/common/quantize.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = TypeList<int8_t, uint8_t>() + kFloat8Types;

// Scales and zero points of `a` are one for all or one for each row, those of `b` one for each column.
class QLinearMatMul {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kTypes).input(3, kTypes).output(0, kTypes);
  }

  /// Leading dims: the factors', and both broadcast.
  struct State {
    Dims a, b, both;
  };
  State prepare(PrepareContext& p) const {
    const DimsView a = p.input(0).dims(), b = p.input(3).dims();
    const auto lead = [](DimsView dims) {
      return Dims(dims.begin(), dims.end() - static_cast<int64_t>(std::min<size_t>(2, dims.size())));
    };
    State s{lead(a), lead(b), {}};
    s.both = broadcast_dims(s.a, s.b);
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    const TensorView a = ctx.input(0), b = ctx.input(3);
    const OutputTensor y = ctx.output(0);
    const bool a_vector = a.rank() == 1, b_vector = b.rank() == 1;
    const int64_t k = a.dims().back(), m = a_vector ? 1 : a.dim(a.rank() - 2),
                  n = b_vector ? 1 : b.dims().back();
    require((b_vector ? b.dim(0) : b.dim(b.rank() - 2)) == k, TENON_INVALID_ARGUMENT, "shapes ", a.dims(),
            " and ", b.dims(), " do not fit");
    const std::span<const float> av = as_floats(ctx, a), bv = as_floats(ctx, b);
    const Quant qa(ctx, 1, m), qb(ctx, 4, n), qy(ctx, 6, 1);
    const int64_t batches = m * n > 0 ? y.size() / (m * n) : 0;
    dispatch(kTypes, y.dtype(), [&]<class T>() {
      for (int64_t batch = 0; batch < batches; ++batch) {
        const float* ab = av.data() + matrix(batch, s.both, s.a) * m * k;
        const float* bb = bv.data() + matrix(batch, s.both, s.b) * k * n;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double total = 0;  // exact: products of 9-bit integers
            for (int64_t p = 0; p < k; ++p)
              total += double{ab[i * k + p] - qa.zero(i)} * double{bb[p * n + j] - qb.zero(j)};
            const double value = total * (double{qa.scale(i)} * double{qb.scale(j)} / double{qy.scale(0)});
            y.set<T>((batch * m + i) * n + j, quantize<T>(static_cast<float>(value), qy.zero(0), true));
          }
      }
    });
  }

 private:
  struct Quant {
    std::span<const float> scales, zeros;
    Quant(const Context& ctx, int input, int64_t count)
        : scales(as_floats(ctx, ctx.input(input))), zeros(as_floats(ctx, ctx.input(input + 1))) {
      for (const auto* list : {&scales, &zeros})
        require(list->size() == 1 || static_cast<int64_t>(list->size()) == count, TENON_INVALID_ARGUMENT,
                "input ", input, " or ", input + 1, " has ", list->size(), " elements for ", count);
    }
    float scale(int64_t i) const { return scales[scales.size() == 1 ? 0 : static_cast<size_t>(i)]; }
    float zero(int64_t i) const { return zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(i)]; }
  };
  // The matrix of an operand that the batch index `at` of the broadcast leading dims shows.
  static int64_t matrix(int64_t at, const Dims& lead, const Dims& own) {
    int64_t out = 0, step = 1;
    for (size_t d = lead.size(), o = own.size(); d-- > 0; at /= lead[d]) {
      if (o == 0) continue;
      --o;
      if (own[o] != 1) out += at % lead[d] * step;
      step *= own[o];
    }
    return out;
  }
};

TENON_KERNEL(QLinearMatMul, .op_type = "QLinearMatMul", .since = 10)

}  // namespace
}  // namespace tenon::cpu
