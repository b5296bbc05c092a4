#include "kernels/common/convert.h"

namespace tenon::cpu {
namespace {

// Bounds were attributes before opset 11 and are optional inputs since. When min > max, the result is max.
struct Clip {
  static constexpr auto kTypes = kNumericTypes;
  static Support supports(const NodeView& n) { return Check(n).needs_input(0).inputs(0, kTypes); }

  explicit Clip(const NodeView& n)
      : from_attributes_(n.since_version() < 11),
        low_(n.attr_f("min", std::numeric_limits<float>::lowest())),
        high_(n.attr_f("max", std::numeric_limits<float>::max())) {}

  void prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    p.may_overwrite(0, 0);
  }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    dispatch(kTypes, x.dtype(),
             [&]<class T>() { clip<T>(ctx, x.data<T>(), ctx.output(0).data<T>(), x.size()); });
  }

 private:
  template <class T>
  void clip(const Context& ctx, const T* x, T* y, int64_t n) const {
    using C = Compute<T>;
    const bool has_low = from_attributes_ || ctx.has_input(1),
               has_high = from_attributes_ || ctx.has_input(2);
    const C low = has_low ? bound<T>(ctx, 1, low_) : C(0), high = has_high ? bound<T>(ctx, 2, high_) : C(0);
    ctx.parallel_for(n, kGrainCheap, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        C value = static_cast<C>(x[i]);
        if (has_low) value = value < low ? low : value;
        if (has_high) value = value > high ? high : value;
        y[i] = static_cast<T>(value);
      }
    });
  }

  template <class T>
  Compute<T> bound(const Context& ctx, int i, float attribute) const {
    if (from_attributes_) return static_cast<Compute<T>>(attribute);
    return static_cast<Compute<T>>(ctx.input(i).at<T>(0));
  }

  bool from_attributes_;
  float low_, high_;
};
TENON_KERNEL(Clip, .op_type = "Clip", .until = 10, .contract = "input: any")
TENON_KERNEL(Clip, .op_type = "Clip", .since = 11, .contract = "input: any; min?: one; max?: one")

}  // namespace
}  // namespace tenon::cpu
