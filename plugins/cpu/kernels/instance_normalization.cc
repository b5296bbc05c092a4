#include <cmath>

#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

// Statistics over groups of `length` neighbours. `parameter(group, element)` indexes scale and bias.
template <class T, class Parameter>
void normalize_groups(const Context& ctx, int64_t groups, int64_t length, float epsilon,
                      Parameter&& parameter) {
  const std::span<const double> scale = as_doubles(ctx, ctx.input(1)), bias = as_doubles(ctx, ctx.input(2));
  const T* in = ctx.input(0).data<T>();
  T* out = ctx.output(0).template data<T>();
  ctx.parallel_for(
      groups, std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, length)),
      [&](int64_t begin, int64_t end) {
        for (int64_t g = begin; g < end; ++g) {
          ctx.check_cancelled();
          const T* x = in + g * length;
          double sum = 0, squares = 0;
          for (int64_t i = 0; i < length; ++i) sum += static_cast<double>(static_cast<Compute<T>>(x[i]));
          const double mean = sum / static_cast<double>(length);
          for (int64_t i = 0; i < length; ++i) {
            const double d = static_cast<double>(static_cast<Compute<T>>(x[i])) - mean;
            squares += d * d;
          }
          const double inverse =
              1 / std::sqrt(squares / static_cast<double>(length) + static_cast<double>(epsilon));
          for (int64_t i = 0; i < length; ++i) {
            const auto p = static_cast<size_t>(parameter(g, i));
            const double normal = (static_cast<double>(static_cast<Compute<T>>(x[i])) - mean) * inverse;
            out[g * length + i] = static_cast<T>(static_cast<Compute<T>>(normal * scale[p] + bias[p]));
          }
        }
      });
}

class InstanceNormalization {
 public:
  explicit InstanceNormalization(const NodeView& n) : epsilon_(n.attr_f("epsilon", 1e-5f)) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).rank(0, 2); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const Around at = around(in.dims(), 1);
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      normalize_groups<T>(ctx, at.outer * at.axis, at.inner, epsilon_,
                          [&](int64_t g, int64_t) { return g % at.axis; });
    });
  }

 private:
  float epsilon_;
};

// Scale and bias have one element per group before version 21, and per channel since.
class GroupNormalization {
 public:
  explicit GroupNormalization(const NodeView& n)
      : epsilon_(n.attr_f("epsilon", 1e-5f)),
        groups_(n.attr_i("num_groups")),
        per_group_(n.since_version() < 21) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).rank(0, 2); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const Around at = around(in.dims(), 1);
    require(groups_ > 0 && at.axis % groups_ == 0, TENON_INVALID_ARGUMENT, at.axis, " channels in ", groups_,
            " groups");
    const int64_t channels = at.axis / groups_;
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      normalize_groups<T>(ctx, at.outer * groups_, channels * at.inner, epsilon_, [&](int64_t g, int64_t i) {
        return per_group_ ? g % groups_ : g % groups_ * channels + i / at.inner;
      });
    });
  }

 private:
  float epsilon_;
  int64_t groups_;
  bool per_group_;
};

TENON_KERNEL(InstanceNormalization, .op_type = "InstanceNormalization",
             .contract = "input: [N, C, D...]; scale: [C]; B: [C]")
TENON_KERNEL(GroupNormalization, .op_type = "GroupNormalization", .since = 18, .until = 20,
             .contract = "X: [N, C, D...]; scale: [$num_groups]; bias: [$num_groups]")
TENON_KERNEL(GroupNormalization, .op_type = "GroupNormalization", .since = 21,
             .contract = "X: [N, C, D...]; scale: [C]; bias: [C]")

}  // namespace
}  // namespace tenon::cpu
