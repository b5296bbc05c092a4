#include "kernels/common/checked.h"
#include "kernels/common/fft.h"
#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kFloatTypes;

/// `at` describes the dims around the axis, without the last dim of 1 or 2 numbers.
struct DftState {
  Around at;
  int64_t in_parts = 1, out_parts = 2, out_axis = 1;
  std::shared_ptr<const Fft> fft;
};

// X is [..., 1 or 2]. One-sided transforms give half of a real signal's spectrum, or when `inverse` take that
// half and give a real signal.
class Dft {
 public:
  using State = DftState;
  static Support supports(const NodeView& n) {
    return Check(n).needs_input(0).input(0, kTypes).input(1, kIndexTypes).input(2, kIndexTypes).rank(0, 2);
  }
  static std::vector<int> shape_inputs(const NodeView& n) {
    return n.since_version() < 20 ? std::vector<int>{1} : std::vector<int>{1, 2};
  }
  explicit Dft(const NodeView& n)
      : inverse_(n.attr_i("inverse", 0) != 0),
        onesided_(n.attr_i("onesided", 0) != 0),
        axis_(n.since_version() < 20 ? n.attr_i("axis", 1) : -2),
        axis_is_input_(n.since_version() >= 20) {}

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const int64_t asked = axis_is_input_ && p.has_input(2) ? p.input(2).to_dims()[0] : axis_;
    const int axis = normalize_axis(asked, static_cast<int>(x.size()));
    require(axis + 1 < static_cast<int>(x.size()), TENON_INVALID_ARGUMENT, "axis ", asked,
            " of a signal of shape ", x, " holds the real and imaginary parts");
    State s;
    s.at = around(x.first(x.size() - 1), axis);
    s.in_parts = x.back();
    const bool real_out = inverse_ && onesided_;
    int64_t length = real_out ? 2 * (s.at.axis - 1) : s.at.axis;
    if (p.has_input(1)) length = p.input(1).to_dims()[0];
    require(length > 0 && length < (int64_t{1} << 40), TENON_INVALID_ARGUMENT, "the length is ", length);
    s.out_parts = real_out ? 1 : 2;
    s.out_axis = onesided_ && !inverse_ ? length / 2 + 1 : length;
    Dims out(x.begin(), x.end());
    out[static_cast<size_t>(axis)] = s.out_axis;
    out.back() = s.out_parts;
    p.set_output(0, out);
    if (element_count(out) == 0) return s;
    require_tables(p, Fft::table_size(length), sizeof(Fft::Complex), "the tables of the transform");
    s.fft = std::make_shared<const Fft>(length, Look::at(p));
    return s;
  }

  void run(const Context& ctx, const State& s) const {
    if (s.fft == nullptr) return;
    dispatch(kTypes, ctx.input(0).dtype(), [&]<class T>() {
      const T* in = ctx.input(0).data<T>();
      T* out = ctx.output(0).template data<T>();
      const int64_t grain = std::max<int64_t>(1, kGrainCostly / s.fft->size());
      const WorkerLists<Fft::Complex> lines(ctx, s.fft->size()), works(ctx, s.fft->work_size());
      ctx.parallel_for(s.at.outer * s.at.inner, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
        const std::span<Fft::Complex> line = lines.of(worker), work = works.of(worker);
        for (int64_t l = begin; l < end; ++l) {
          const int64_t o = l / s.at.inner, i = l % s.at.inner;
          load(in + (o * s.at.axis * s.at.inner + i) * s.in_parts, s, line);
          s.fft->run(line.data(), inverse_, work.data(), Look::at(ctx));
          store(line, s, out + (o * s.out_axis * s.at.inner + i) * s.out_parts);
        }
      });
    });
  }

 private:
  /// Cuts or zero-pads the input to the length. Mirrors a one-sided spectrum to get its missing half.
  template <class T>
  void load(const T* in, const State& s, std::span<Fft::Complex> line) const {
    const int64_t n = s.fft->size(), step = s.at.inner * s.in_parts;
    const int64_t given = std::min(s.at.axis, inverse_ && onesided_ ? n / 2 + 1 : n);
    std::fill(line.begin(), line.end(), Fft::Complex());
    for (int64_t k = 0; k < given; ++k) {
      const auto real = static_cast<double>(static_cast<Compute<T>>(in[k * step]));
      const double imaginary =
          s.in_parts == 2 ? static_cast<double>(static_cast<Compute<T>>(in[k * step + 1])) : 0.0;
      line[static_cast<size_t>(k)] = {real, imaginary};
    }
    if (!(inverse_ && onesided_)) return;
    line[0] = line[0].real();
    if (n % 2 == 0) line[static_cast<size_t>(n / 2)] = line[static_cast<size_t>(n / 2)].real();
    for (int64_t k = 1; k < (n + 1) / 2; ++k)
      line[static_cast<size_t>(n - k)] = std::conj(line[static_cast<size_t>(k)]);
  }
  template <class T>
  static void store(std::span<const Fft::Complex> line, const State& s, T* out) {
    const int64_t step = s.at.inner * s.out_parts;
    for (int64_t k = 0; k < s.out_axis; ++k) {
      out[k * step] = static_cast<T>(line[static_cast<size_t>(k)].real());
      if (s.out_parts == 2) out[k * step + 1] = static_cast<T>(line[static_cast<size_t>(k)].imag());
    }
  }

  bool inverse_, onesided_;
  int64_t axis_;
  bool axis_is_input_;
};
TENON_KERNEL(
    Dft, .op_type = "DFT", .since = 17,
    .contract =
        "input: [D..., 1] & rank 2.. | [D..., 2] & rank 2..; dft_length?: one @size; axis?: one @index")

}  // namespace
}  // namespace tenon::cpu
