// DynamicQuantizeLinear: uint8, with scale and zero point from the range of the input, widened to include 0.
#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

// Blocks of Range each store the lowest and the highest number that they saw. Blocks of Quantize combine these.
constexpr Source kSource{"dynamic_quantize_linear", R"CU(
// NaN counts for nothing.
struct Lower {
  __device__ float operator()(float a, float b) const { return b < a ? b : a; }
};
struct Higher {
  __device__ float operator()(float a, float b) const { return b > a ? b : a; }
};
KERNEL Range(IN(float, x), OUT(float, ends), int n) {
  float low = 0, high = 0;
  EACH(i, n) {
    low = Lower()(low, x[i]);
    high = Higher()(high, x[i]);
  }
  low = block_combine(low, 0.0f, Lower());
  high = block_combine(high, 0.0f, Higher());
  if (threadIdx.x == 0) {
    ends[2 * blockIdx.x] = low;
    ends[2 * blockIdx.x + 1] = high;
  }
}
KERNEL Quantize(IN(float, x), IN(float, ends), OUT(uint8, y), OUT(float, y_scale), OUT(uint8, y_zero), int n, int count) {
  float low = 0, high = 0;
  for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) {
    low = Lower()(low, ends[2 * i]);
    high = Higher()(high, ends[2 * i + 1]);
  }
  low = block_combine(low, 0.0f, Lower());
  high = block_combine(high, 0.0f, Higher());
  const float scale = high == low ? 1.0f : (high - low) / 255.0f, wanted = -low / scale;
  const float zero = rint(wanted > 0.0f ? wanted < 255.0f ? wanted : 255.0f : 0.0f);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if (y_scale != nullptr) *y_scale = scale;
    if (y_zero != nullptr) *y_zero = (uint8)zero;
  }
  if (y == nullptr) return;
  EACH(i, n) {
    const float v = rint(x[i] / scale) + zero;
    y[i] = (uint8)(v >= 255.0f ? 255.0f : v > 0.0f ? v : 0.0f);  // NaN becomes 0
  }
}
)CU"};

class DynamicQuantizeLinear {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, TypeList<float>()); }
  explicit DynamicQuantizeLinear(const NodeView& n)
      : range_(load_kernel(n, kSource, "", "Range")), quantize_(load_kernel(n, kSource, "", "Quantize")) {}

  /// The number of blocks.
  int32_t prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    p.set_output(0, x);
    p.set_output(1, {});
    p.set_output(2, {});
    const int64_t n = narrow(element_count(x));
    const int64_t blocks = std::clamp<int64_t>((n + kPerBlock - 1) / kPerBlock, 1, kMostBlocks);
    p.workspace(static_cast<uint64_t>(blocks) * 2 * sizeof(float), 128);
    return static_cast<int32_t>(blocks);
  }
  void record(Recorder& ctx, int32_t blocks) const {
    const TensorView x = ctx.input(0);
    const auto n = static_cast<int32_t>(x.size());
    const WorkspaceArg ends{0, sizeof(float)};
    const Size3 grid{static_cast<size_t>(blocks), 1, 1}, threads{256, 1, 1};
    launch_blocks(ctx, range_, grid, threads, in(x), ends, n);
    const auto optional = [&](int i) {
      return ctx.has_output(i) ? out(ctx.output(i)) : TensorArg{&kNoTensor};
    };
    launch_blocks(ctx, quantize_, grid, threads, in(x), ends, optional(0), optional(1), optional(2), n,
                  blocks);
  }

 private:
  static constexpr int64_t kPerBlock = 2048, kMostBlocks = 512;
  KernelRef range_, quantize_;
};

TENON_KERNEL(DynamicQuantizeLinear, .op_type = "DynamicQuantizeLinear", .since = 11, .contract = "x: any")

}  // namespace
}  // namespace tenon::cuda
