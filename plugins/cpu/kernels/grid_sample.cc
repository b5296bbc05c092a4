#include <array>
#include <cmath>

#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

enum class Mode { kNearest, kLinear, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

Mode mode_named(const std::string& name) {
  if (name == "nearest") return Mode::kNearest;
  return name == "cubic" || name == "bicubic" ? Mode::kCubic : Mode::kLinear;
}

/// Mirrors x at both ends until it is within [low, high].
double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const bool below = x < low;
  if (!below && x <= high) return x;
  const double beyond = below ? low - x : x - high, turns = std::floor(beyond / range);
  const double rest = beyond - turns * range;
  return (std::fmod(turns, 2) == 0) == below ? low + rest : high - rest;
}

/// The elements along one axis that contribute, with their weights. Index -1 counts as zero.
struct Taps {
  int count = 0;
  std::array<int64_t, 4> index{};
  std::array<double, 4> weight{};
};

// Any number of spatial dims: X [N, C, in...], grid [N, out..., number of dims]. Coordinates are in [-1, 1],
// in reverse order (x first).
class GridSample {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kNumericTypes)
        .input(1, kFloatTypes)
        .rank(0, 3)
        .attr_is("mode", {"nearest", "linear", "cubic", "bilinear", "bicubic"})
        .attr_is("padding_mode", {"zeros", "border", "reflection"});
  }
  explicit GridSample(const NodeView& n)
      : mode_(mode_named(n.attr_s("mode", "linear"))), corners_(n.attr_i("align_corners", 0) != 0) {
    const std::string padding = n.attr_s("padding_mode", "zeros");
    padding_ = padding == "zeros"    ? Padding::kZeros
               : padding == "border" ? Padding::kBorder
                                     : Padding::kReflection;
  }

  void prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), grid = p.input(1).dims();
    require(grid.back() == static_cast<int64_t>(x.size()) - 2, TENON_INVALID_ARGUMENT, "grid ", grid, " has ",
            grid.back(), " coordinates for each point of input ", x);
    Dims out{x[0], x[1]};
    out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
    // With zero padding a point of an image without elements is 0. The other modes need an element.
    require(padding_ == Padding::kZeros || element_count(x.subspan(2)) > 0 || element_count(out) == 0,
            TENON_INVALID_ARGUMENT, "an image of shape ", x, " has no elements; padding_mode must be zeros");
    p.set_output(0, out);
  }

  void run(const Context& ctx) const {
    const DimsView x = ctx.input(0).dims(), grid = ctx.input(1).dims();
    const int64_t points = count_between(grid, 1, static_cast<int>(grid.size()) - 1);
    const int64_t grain = std::max<int64_t>(1, kGrainCostly / (4 * x[1] + 1));
    dispatch(kNumericTypes, ctx.input(0).dtype(), [&]<class T>() {
      const WorkerLists<Sample> rooms(ctx, most_samples(x.size() - 2));
      ctx.parallel_for(x[0] * points, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
        std::array<double, TENON_EP_MAX_RANK> at{};
        for (int64_t i = begin; i < end; ++i) {
          ctx.check_cancelled();
          read_point(ctx.input(1), i, std::span(at).first(x.size() - 2));
          sample<T>(ctx, i / points, i % points, points, collect(at, x.subspan(2), rooms.of(worker)));
        }
      });
    });
  }

 private:
  /// One element of a plane with its weight, combined from one tap per axis.
  struct Sample {
    int64_t offset;
    double weight;
  };

  int64_t most_samples(size_t dims) const {
    const int64_t taps = mode_ == Mode::kNearest ? 1 : mode_ == Mode::kLinear ? 2 : 4;
    int64_t out = 1;
    for (size_t d = 0; d < dims; ++d) {
      out *= taps;
      require(out < (int64_t{1} << 24), TENON_RESOURCE_EXHAUSTED, dims,
              " spatial dims need too many samples");
    }
    return out;
  }

  static void read_point(TensorView grid, int64_t point, std::span<double> at) {
    const auto dims = static_cast<int64_t>(at.size());
    dispatch(kFloatTypes, grid.dtype(), [&]<class G>() {
      const G* from = grid.data<G>() + point * dims;
      for (int64_t d = 0; d < dims; ++d)
        at[static_cast<size_t>(d)] = static_cast<double>(static_cast<Compute<G>>(from[dims - 1 - d]));
    });
  }

  double place(double normalized, double size) const {
    // NaN coordinates are outside.
    if (normalized != normalized) normalized = -1e9;
    const double x = corners_ ? (normalized + 1) / 2 * (size - 1) : ((normalized + 1) * size - 1) / 2;
    return std::clamp(x, -1e15, 1e15);
  }

  Taps taps(double normalized, int64_t size) const {
    const auto length = static_cast<double>(size);
    const double low = corners_ ? 0 : -0.5, high = corners_ ? length - 1 : length - 0.5;
    double x = place(normalized, length);
    if (mode_ == Mode::kNearest) x = std::nearbyint(x);
    if (padding_ == Padding::kReflection) x = reflect(x, low, high);
    const double base = std::floor(x), t = x - base;
    Taps out;
    if (mode_ == Mode::kNearest) {
      out.count = 1;
      out.weight[0] = 1;
    } else if (mode_ == Mode::kLinear) {
      out.count = 2;
      out.weight = {1 - t, t};
    } else {
      out.count = 4;
      out.weight = {cubic_far(1 + t), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)};
    }
    const auto first = static_cast<int64_t>(base) - (mode_ == Mode::kCubic ? 1 : 0);
    for (int k = 0; k < out.count; ++k)
      out.index[static_cast<size_t>(k)] = element(first + k, size, low, high);
    return out;
  }
  static double cubic_near(double x) { return ((kCubic + 2) * x - (kCubic + 3)) * x * x + 1; }
  static double cubic_far(double x) { return ((kCubic * x - 5 * kCubic) * x + 8 * kCubic) * x - 4 * kCubic; }

  int64_t element(int64_t i, int64_t size, double low, double high) const {
    if (i >= 0 && i < size) return i;
    if (padding_ == Padding::kZeros || size == 0) return -1;
    if (padding_ == Padding::kReflection)
      i = static_cast<int64_t>(reflect(static_cast<double>(i), low, high));
    return std::clamp<int64_t>(i, 0, size - 1);
  }

  /// The samples of one point, in `room`. Each axis replaces every sample by its taps, the last sample first:
  /// none is overwritten before use.
  std::span<const Sample> collect(std::span<const double> at, DimsView dims, std::span<Sample> room) const {
    size_t count = 1;
    room[0] = {0, 1};
    for (size_t d = 0; d < dims.size(); ++d) {
      Taps axis = taps(at[d], dims[d]);
      size_t used = 0;
      for (size_t k = 0; k < static_cast<size_t>(axis.count); ++k) {
        if (axis.index[k] < 0 || axis.weight[k] == 0) continue;
        axis.index[used] = axis.index[k];
        axis.weight[used++] = axis.weight[k];
      }
      for (size_t s = count; s-- > 0;) {
        const Sample from = room[s];
        for (size_t k = 0; k < used; ++k)
          room[s * used + k] = {from.offset * dims[d] + axis.index[k], from.weight * axis.weight[k]};
      }
      count *= used;
    }
    return room.first(count);
  }

  template <class T>
  void sample(const Context& ctx, int64_t image, int64_t point, int64_t points,
              std::span<const Sample> samples) const {
    const DimsView x = ctx.input(0).dims();
    const int64_t channels = x[1], plane = count_between(x, 2, static_cast<int>(x.size()));
    const T* in = ctx.input(0).data<T>() + image * channels * plane;
    T* out = ctx.output(0).template data<T>() + image * channels * points + point;
    const bool long_sum = samples.size() > 4096;
    for (int64_t c = 0; c < channels; ++c, in += plane, out += points) {
      if (long_sum) ctx.check_cancelled();
      if (mode_ == Mode::kNearest) {
        *out = samples.empty() ? T{} : in[samples[0].offset];
        continue;
      }
      double sum = 0;
      for (const Sample& s : samples)
        sum += s.weight * static_cast<double>(static_cast<Compute<T>>(in[s.offset]));
      *out = static_cast<T>(sum);
    }
  }

  static constexpr double kCubic = -0.75;
  Mode mode_;
  Padding padding_;
  bool corners_;
};
TENON_KERNEL(GridSample, .op_type = "GridSample", .since = 16,
             .contract = "X: [N, C, D...] & rank 3..; grid: [N, P...] & rank X")

}  // namespace
}  // namespace tenon::cpu
