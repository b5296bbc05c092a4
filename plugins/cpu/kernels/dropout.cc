#include <random>

#include "kernels/common/movement.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kFloatTypes + kFloat8Types;

// In inference, copies the input. In training mode (version 12 and later, input 2) drops elements with
// probability `ratio` and scales up the others, repeatably with a seed.
class Dropout {
 public:
  explicit Dropout(const NodeView& n)
      : seed_(static_cast<uint64_t>(n.attr_i("seed", 0))), can_train_(n.since_version() >= 12) {}
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kTypes).that(n.since_version() >= 7 || n.attr_i("is_test", 1) != 0,
                                          TENON_REJECT_ATTRIBUTE,
                                          "is_test is 0; training is not supported before version 12");
  }
  void prepare(PrepareContext& p) const {
    for (int i = 0; i < 2; ++i) p.set_output(i, p.input(0).dims());
    if (!can_train_ || !p.has_input(2)) p.view(0, 0);
  }

  void run(const Context& ctx) const {
    const bool training = can_train_ && ctx.has_input(2) && *ctx.input(2).data<uint8_t>() != 0;
    const double ratio = training ? ratio_of(ctx) : 0;
    if (ratio == 0) {
      if (ctx.has_output(0)) copy_or_view(ctx, 0, 0);
      if (ctx.has_output(1)) fill_mask(ctx);
      return;
    }
    std::mt19937 engine(static_cast<uint32_t>(seed_));
    dispatch(kTypes, ctx.input(0).dtype(), [&]<class T>() {
      const Compute<T> scale = static_cast<Compute<T>>(1 / (1 - ratio));
      for (int64_t i = 0, n = ctx.input(0).size(); i < n; ++i) {
        const bool kept = uniform(engine) >= ratio;
        if (ctx.has_output(0))
          ctx.output(0).set<T>(i, static_cast<T>(kept ? static_cast<Compute<T>>(ctx.input(0).at<T>(i)) * scale
                                                      : Compute<T>{0}));
        if (ctx.has_output(1)) ctx.output(1).data<uint8_t>()[i] = kept;
      }
    });
  }

 private:
  // In [0, 1) from 53 random bits: the numbers that NumPy draws for the same seed, like ONNX's reference.
  static double uniform(std::mt19937& engine) {
    const uint64_t high = engine() >> 5, low = engine() >> 6;
    return static_cast<double>(high * 67108864 + low) / 9007199254740992.0;
  }
  static double ratio_of(const Context& ctx) {
    double ratio = 0.5;
    if (ctx.has_input(1))
      dispatch(kTypes, ctx.input(1).dtype(), [&]<class T>() {
        ratio = static_cast<double>(static_cast<Compute<T>>(ctx.input(1).at<T>(0)));
      });
    require(ratio >= 0 && ratio < 1, TENON_INVALID_ARGUMENT, "ratio is ", ratio, ", it must be in [0, 1)");
    return ratio;
  }
  // Before version 10 the mask had the type of the input.
  static void fill_mask(const Context& ctx) {
    const OutputTensor mask = ctx.output(1);
    dispatch(kFloatTypes + kBoolType, mask.dtype(), [&]<class T>() {
      for (int64_t i = 0, n = mask.size(); i < n; ++i) mask.set<T>(i, static_cast<T>(1));
    });
  }
  uint64_t seed_;
  bool can_train_;
};

TENON_KERNEL(Dropout, .op_type = "Dropout", .until = 11, .contract = "data: any")
TENON_KERNEL(Dropout, .op_type = "Dropout", .since = 12,
             .contract = "data: any; ratio?: one; training_mode?: one")

}  // namespace
}  // namespace tenon::cpu
