#include "kernels/common/quantize.h"

namespace tenon::cpu {
namespace {

// uint8, with scale and zero point from the range of the input, widened to include 0.
struct DynamicQuantizeLinear {
  static Support supports(const NodeView& n) { return Check(n).input(0, TypeList<float>()); }
  void prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    p.set_output(1, {});
    p.set_output(2, {});
  }
  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    const int64_t n = x.size();
    const float* data = x.data<float>();
    const float low = n > 0 ? std::min(0.0f, isa_table().min_of(data, n)) : 0;
    const float high = n > 0 ? std::max(0.0f, isa_table().max_of(data, n)) : 0;
    const float scale = high == low ? 1.0f : (high - low) / 255.0f;
    const float zero = std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f));
    if (ctx.has_output(0)) {
      uint8_t* out = ctx.output(0).data<uint8_t>();
      ctx.parallel_for(n, kGrainCheap, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = quantize<uint8_t>(data[i] / scale, zero, true);
      });
    }
    if (ctx.has_output(1)) *ctx.output(1).data<float>() = scale;
    if (ctx.has_output(2)) *ctx.output(2).data<uint8_t>() = static_cast<uint8_t>(zero);
  }
};

TENON_KERNEL(DynamicQuantizeLinear, .op_type = "DynamicQuantizeLinear", .since = 11, .contract = "x: any")

}  // namespace
}  // namespace tenon::cpu
