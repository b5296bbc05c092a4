#include "kernels/common/scratch.h"
#include "kernels/common/window.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kNumericTypes + kBoolType + kComplexTypes;

// Adds blocks back where a sliding window took them: [N, C * block, windows] to [N, C, image...].
class Col2Im {
 public:
  struct State {
    int64_t plane = 1;             // elements of one channel of an image
    std::vector<int64_t> targets;  // offset in the plane for each (tap, window); -1: in the padding
  };
  static constexpr int shape_inputs[] = {1, 2};
  static Support supports(const NodeView& n) { return Check(n).input(0, kTypes).rank(0, 3, 3); }
  explicit Col2Im(const NodeView& n) : window_(n) {}

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const Dims image = p.input(1).to_dims(), block = p.input(2).to_dims();
    require(!image.empty() && std::all_of(image.begin(), image.end(), [](int64_t d) { return d >= 0; }),
            TENON_INVALID_ARGUMENT, "image_shape is ", DimsView(image));
    const std::vector<WindowDim> window = window_.resolve(image, block);
    State s;
    int64_t taps = 1, windows = 1;
    for (const WindowDim& w : window) {
      taps = checked_mul(taps, w.kernel, "the block");
      windows = checked_mul(windows, w.out, "the number of windows");
      s.plane = checked_mul(s.plane, w.in, "the image");
    }
    require(x[1] % taps == 0 && x[2] == windows, TENON_INVALID_ARGUMENT, "input ", x, " for ", windows,
            " windows of ", taps, " elements");
    Dims out{x[0], x[1] / taps};
    out.insert(out.end(), image.begin(), image.end());
    p.set_output(0, out);
    if (element_count(out) == 0) return s;
    require_tables(p, checked_mul(taps, windows, "the input"), sizeof(int64_t), "the offsets of the blocks");
    s.targets = target_offsets(p, window, taps, windows);
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    dispatch(kTypes, ctx.input(0).dtype(), [&]<class T>() { fold<T>(ctx, s); });
  }

 private:
  template <class T>
  static void fold(const Context& ctx, const State& s) {
    const int64_t plane = s.plane, block = static_cast<int64_t>(s.targets.size());
    if (plane == 0) return;
    const T* in = ctx.input(0).data<T>();
    T* out = ctx.output(0).template data<T>();
    const int64_t planes = ctx.output(0).size() / plane;
    const WorkerLists<Compute<T>> all_sums(ctx, plane);
    ctx.parallel_for(planes, std::max<int64_t>(1, kGrainCheap / (block + 1)),
                     [&](uint32_t worker, int64_t begin, int64_t end) {
                       const std::span<Compute<T>> sums = all_sums.of(worker);
                       for (int64_t p = begin; p < end; ++p) {
                         ctx.check_cancelled();
                         std::fill(sums.begin(), sums.end(), Compute<T>{});
                         for (int64_t i = 0; i < block; ++i) {
                           const int64_t to = s.targets[static_cast<size_t>(i)];
                           if (to >= 0)
                             add(sums[static_cast<size_t>(to)], static_cast<Compute<T>>(in[p * block + i]));
                         }
                         for (int64_t i = 0; i < plane; ++i)
                           out[p * plane + i] = static_cast<T>(sums[static_cast<size_t>(i)]);
                       }
                     });
  }
  // Integers wrap around. For bool the sum is "or".
  template <class C>
  static void add(C& to, C value) {
    if constexpr (std::is_integral_v<C>)
      to = static_cast<C>(static_cast<uint64_t>(to) + static_cast<uint64_t>(value));
    else
      to += value;
  }

  static std::vector<int64_t> target_offsets(const PrepareContext& p, const std::vector<WindowDim>& window,
                                             int64_t taps, int64_t windows) {
    std::vector<int64_t> out;
    out.reserve(static_cast<size_t>(taps * windows));
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t at = 0; at < windows; ++at) {
        if (at % kStepsPerLook == 0) p.check_cancelled();
        int64_t tap_rest = tap, at_rest = at, offset = 0, stride = 1;
        bool inside = true;
        for (size_t d = window.size(); d-- > 0;) {
          const WindowDim& w = window[d];
          const int64_t i = at_rest % w.out * w.stride - w.pad_begin + tap_rest % w.kernel * w.dilation;
          inside = inside && i >= 0 && i < w.in;
          offset += inside ? i * stride : 0;
          stride *= w.in;
          tap_rest /= w.kernel;
          at_rest /= w.out;
        }
        out.push_back(inside ? offset : -1);
      }
    return out;
  }

  WindowAttributes window_;
};
TENON_KERNEL(Col2Im, .op_type = "Col2Im", .since = 18,
             .contract = "input: rank 3; image_shape: [R] @size; block_shape: [R] @size")

}  // namespace
}  // namespace tenon::cpu
