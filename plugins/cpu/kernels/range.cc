#include <algorithm>
#include <cmath>

#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kFloatTypes + TypeList<int16_t, int32_t, int64_t>();

struct Range {
  static constexpr uint64_t kMost = uint64_t{1} << 50;
  static constexpr int shape_inputs[] = {0, 1, 2};
  static Support supports(const NodeView& node) { return Check(node).input(0, kTypes); }

  template <class T>
  static int64_t count(TensorView start, TensorView limit, TensorView delta) {
    require(delta.at<T>(0) != T(0), TENON_INVALID_ARGUMENT, "delta is 0");
    if constexpr (std::is_integral_v<T>) {
      return whole_count(start.at<T>(0), limit.at<T>(0), delta.at<T>(0));
    } else {
      return real_count(static_cast<double>(start.at<T>(0)), static_cast<double>(limit.at<T>(0)),
                        static_cast<double>(delta.at<T>(0)));
    }
  }
  /// Exact: double cannot hold all int64 values.
  static int64_t whole_count(int64_t start, int64_t limit, int64_t delta) {
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit),
               step = static_cast<uint64_t>(delta);
    const uint64_t n = delta > 0 ? (to - from - 1) / step + 1 : (from - to - 1) / (0 - step) + 1;
    require(n < kMost, TENON_RESOURCE_EXHAUSTED, "the range has ", n, " elements");
    return static_cast<int64_t>(n);
  }
  static int64_t real_count(double start, double limit, double step) {
    const double n = std::ceil((limit - start) / step);
    require(n == n, TENON_INVALID_ARGUMENT, "start, limit or delta is NaN");
    require(n < static_cast<double>(kMost), TENON_RESOURCE_EXHAUSTED, "the range has ", n, " elements");
    return static_cast<int64_t>(std::max(n, 0.0));
  }
  void prepare(PrepareContext& ctx) const {
    dispatch(kTypes, ctx.input(0).dtype(), [&]<class T>() {
      const int64_t n[] = {count<T>(ctx.input(0), ctx.input(1), ctx.input(2))};
      ctx.set_output(0, n);
    });
  }
  void run(const Context& ctx) const {
    const OutputTensor out = ctx.output(0);
    dispatch(kTypes, out.dtype(), [&]<class T>() {
      using C = Compute<T>;
      const C start = static_cast<C>(ctx.input(0).at<T>(0)), delta = static_cast<C>(ctx.input(2).at<T>(0));
      CancelPoint point(ctx);
      for (int64_t i = 0, n = out.size(); i < n; ++i) {
        point.pass();
        if constexpr (std::is_integral_v<C>) {  // unsigned: the product may overflow although the sum fits
          out.set<T>(i, static_cast<T>(static_cast<uint64_t>(start) +
                                       static_cast<uint64_t>(i) * static_cast<uint64_t>(delta)));
        } else {
          out.set<T>(i, static_cast<T>(static_cast<C>(start + static_cast<C>(i) * delta)));
        }
      }
    });
  }
};

TENON_KERNEL(Range, .op_type = "Range", .since = 11,
             .contract = "start: one @size; limit: one @size; delta: one @size")

}  // namespace
}  // namespace tenon::cpu
