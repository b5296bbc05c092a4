// Conv.
#include "tenon/ep/device/ops/conv.hpp"

#include "kernels/common/gemm.h"
#include "shaders/conv.Depthwise.h"
#include "shaders/conv.Lay.h"

namespace tenon::vulkan {
namespace {

/// The kernels of ops::Conv for windows. Rows of the laid matrix are whole texels.
class Patches {
 public:
  Patches(const NodeView& n, bool)
      : dtype_(n.input(0).dtype()),
        lay_(load_kernel(n, shaders::conv_Lay, {0, n.input(0).dtype()})),
        depthwise_(load_kernel(n, shaders::conv_Depthwise, {0, n.input(0).dtype()})) {}

  /// Also an image whose rows are no whole texels, since a product reads texels several times faster.
  bool lays(const Window& w) const {
    if (!ops::is_pointwise(w)) return true;
    const int64_t points = int64_t{w.out[0]} * w.out[1] * w.out[2];
    return dtype_ == TENON_FLOAT32 && points > 4 && points % 4 != 0;
  }
  static int64_t columns(int64_t points) { return (points + 3) / 4 * 4; }
  static uint64_t padded_bytes(const Window&, int64_t) { return 0; }

  void lay(Recorder& ctx, const TensorView& x, int32_t image, uint64_t, const WorkspaceArg& laid,
           const Window& w, int32_t channels, int64_t columns) const {
    launch(ctx, lay_,
           {static_cast<size_t>(w.out[2]), static_cast<size_t>(w.out[0]) * static_cast<size_t>(w.out[1]),
            static_cast<size_t>(channels)},
           in(x), laid, w, channels, image, narrow(columns));
  }

  void depthwise(Recorder& ctx, uint64_t, const Window& w, int32_t filters, int32_t multiplier,
                 int32_t images, Clamp clamp) const {
    launch(ctx, depthwise_,
           {static_cast<size_t>(w.out[2]), static_cast<size_t>(w.out[0]) * static_cast<size_t>(w.out[1]),
            static_cast<size_t>(images) * static_cast<size_t>(filters)},
           in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(kBiasInput)), in(ctx.input(kAddendInput)),
           out(ctx.output(0)), w, filters, multiplier, images, int32_t{ctx.has_input(kBiasInput)},
           int32_t{ctx.has_input(kAddendInput)}, clamp.low, clamp.high);
  }

 private:
  uint32_t dtype_;
  KernelRef lay_, depthwise_;
};

struct Kernels : Backend<kNoSources> {
  using Gemm = GemmKernels;
  using Patches = vulkan::Patches;
};

TENON_KERNEL(ops::Conv<Kernels>, .op_type = "Conv", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5; W: [M, C/$group, K...] & rank X; B?: [M]")

}  // namespace
}  // namespace tenon::vulkan
