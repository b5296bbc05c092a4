#include "kernels/common/fft.h"
#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kFloatTypes;

struct StftState {
  int64_t step = 1, frames = 0, bins = 0;
  std::shared_ptr<const Fft> fft;
};

// Signal [N, L] or [N, L, 1 or 2]. Output: spectra of frames, [N, frames, bins, 2].
class Stft {
 public:
  using State = StftState;
  static constexpr int shape_inputs[] = {1, 3};
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kTypes).input(1, kIndexTypes).input(2, kTypes).input(3, kIndexTypes);
  }
  explicit Stft(const NodeView& n) : onesided_(n.attr_i("onesided", 1) != 0) {}

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    State s;
    s.step = only_int(p.input(1), "frame_step");
    int64_t length = p.has_input(2) ? p.input(2).size() : x[1];
    if (p.has_input(3)) length = only_int(p.input(3), "frame_length");
    require(s.step > 0 && length > 0 && length <= x[1], TENON_INVALID_ARGUMENT, "frames of ", length,
            " elements every ", s.step, " of a signal of ", x[1]);
    require(!p.has_input(2) || p.input(2).size() <= length, TENON_INVALID_ARGUMENT, "a window of ",
            p.input(2).size(), " elements for frames of ", length);
    s.frames = 1 + (x[1] - length) / s.step;
    s.bins = onesided_ ? length / 2 + 1 : length;
    constexpr uint64_t kBytesOfAnElement = 8 * sizeof(Fft::Complex);
    constexpr int64_t kMost = int64_t{1} << 32;
    require(length < kMost, TENON_RESOURCE_EXHAUSTED, "frames of ", length, " elements");
    p.require_memory(static_cast<uint64_t>(length) * kBytesOfAnElement, "the tables of the transform");
    s.fft = std::make_shared<const Fft>(length);
    p.set_at_run(0);  // ONNX's inference ignores `onesided` and counts the bins of both sides
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    const TensorView x = ctx.input(0);
    const int64_t length = x.dim(1), parts = x.rank() == 3 ? x.dim(2) : 1;
    const std::span<double> window = scratch_list<double>(ctx, s.fft->size());
    const int64_t given = ctx.has_input(2) ? ctx.input(2).size() : 0;
    if (ctx.has_input(2)) copy_doubles(ctx.input(2), window.first(static_cast<size_t>(given)));
    std::fill(window.begin() + given, window.end(), ctx.has_input(2) ? 0.0 : 1.0);
    const OutputTensor y = ctx.alloc_output(0, Dims{x.dim(0), s.frames, s.bins, 2});
    dispatch(kTypes, x.dtype(), [&]<class T>() {
      T* out = y.template data<T>();
      const int64_t grain = std::max<int64_t>(1, kGrainCostly / s.fft->size());
      const WorkerLists<Fft::Complex> frames(ctx, s.fft->size()), works(ctx, s.fft->work_size());
      ctx.parallel_for(x.dim(0) * s.frames, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
        const std::span<Fft::Complex> frame = frames.of(worker), work = works.of(worker);
        for (int64_t f = begin; f < end; ++f) {
          ctx.check_cancelled();
          const T* from = x.data<T>() + (f / s.frames * length + f % s.frames * s.step) * parts;
          load(from, parts, window, frame);
          s.fft->run(frame.data(), false, work.data());
          for (int64_t k = 0; k < s.bins; ++k) {
            const Fft::Complex value = frame[static_cast<size_t>(k)];
            out[(f * s.bins + k) * 2] = static_cast<T>(value.real());
            out[(f * s.bins + k) * 2 + 1] = static_cast<T>(value.imag());
          }
        }
      });
    });
  }

 private:
  template <class T>
  static void load(const T* from, int64_t parts, std::span<const double> window,
                   std::span<Fft::Complex> frame) {
    for (size_t i = 0; i < frame.size(); ++i, from += parts) {
      const auto real = static_cast<double>(static_cast<Compute<T>>(from[0]));
      const double imaginary = parts == 2 ? static_cast<double>(static_cast<Compute<T>>(from[1])) : 0.0;
      frame[i] = Fft::Complex(real, imaginary) * window[i];
    }
  }

  bool onesided_;
};
TENON_KERNEL(Stft, .op_type = "STFT", .since = 17,
             .contract =
                 "signal: [?, ?] | [?, ?, 1] | [?, ?, 2]; frame_step: one @size; window?: [?]; "
                 "frame_length?: one @size")

}  // namespace
}  // namespace tenon::cpu
