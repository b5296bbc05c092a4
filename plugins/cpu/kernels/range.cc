#include <algorithm>
#include <cmath>

#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kFloatTypes + TypeList<int16_t, int32_t, int64_t>();

struct Range {
  static constexpr int shape_inputs[] = {0, 1, 2};
  static Support supports(const NodeView& node) { return Check(node).input(0, kTypes); }

  template <class T>
  static int64_t count(TensorView start, TensorView limit, TensorView delta) {
    const double step = static_cast<double>(delta.at<T>(0));
    require(step != 0, TENON_INVALID_ARGUMENT, "delta is 0");
    const double n =
        std::ceil((static_cast<double>(limit.at<T>(0)) - static_cast<double>(start.at<T>(0))) / step);
    require(n == n, TENON_INVALID_ARGUMENT, "start, limit or delta is NaN");
    require(n < 1e15, TENON_RESOURCE_EXHAUSTED, "the range has ", n, " elements");
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
      for (int64_t i = 0, n = out.size(); i < n; ++i)
        out.set<T>(i, static_cast<T>(static_cast<C>(start + static_cast<C>(i) * delta)));
    });
  }
};

TENON_KERNEL(Range, .op_type = "Range", .since = 11)

}  // namespace
}  // namespace tenon::cpu
