#include "device.h"
#include "isa/reduce.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

template <class T>
bool better(T x, T best, bool max) {
  const auto a = static_cast<Compute<T>>(x), b = static_cast<Compute<T>>(best);
  if (b != b) return false;  // the first NaN stays
  if (a != a) return true;
  return max ? a > b : a < b;
}

template <bool kMax>
class ArgExtreme {
 public:
  explicit ArgExtreme(const NodeView& node)
      : axis_(node.attr_i("axis", 0)), last_(node.attr_i("select_last_index", 0) != 0) {}
  static Support supports(const NodeView& node) { return Check(node).input(0, kNumericTypes); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const Around at = around(in.dims(), normalize_axis(axis_, in.rank()));
    require(at.axis > 0 || at.outer * at.inner == 0, TENON_INVALID_ARGUMENT, "the axis has no elements");
    int64_t* out = ctx.output(0).data<int64_t>();
    if (in.dtype() == TENON_FLOAT32 && at.axis <= std::numeric_limits<int32_t>::max())
      return at.inner == 1 ? run_lines(ctx, at, out) : run_columns(ctx, at, out);
    dispatch(kNumericTypes, in.dtype(), [&]<class T>() {
      for (int64_t o = 0; o < at.outer; ++o)
        for (int64_t i = 0; i < at.inner; ++i) {
          const T* line = in.data<T>() + o * at.axis * at.inner + i;
          int64_t best = 0;
          for (int64_t k = 1; k < at.axis; ++k) {
            const T x = line[k * at.inner], y = line[best * at.inner];
            if (better(x, y, kMax) || (last_ && !better(y, x, kMax))) best = k;
          }
          out[o * at.inner + i] = best;
        }
    });
  }

 private:
  void run_lines(const Context& ctx, const Around& at, int64_t* out) const {
    const float* x = ctx.input(0).data<float>();
    const isa::Reductions& loops = *isa_table().reduce;
    const int64_t n = at.axis;
    ctx.parallel_for(at.outer, std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, n)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t o = begin; o < end; ++o) {
                         const float best = (kMax ? loops.max : loops.min).line(x + o * n, n);
                         out[o] = loops.find(x + o * n, n, best, last_);
                       }
                     });
  }
  void run_columns(const Context& ctx, const Around& at, int64_t* out) const {
    constexpr int64_t kBlock = 256;
    const float* x = ctx.input(0).data<float>();
    const isa::ArgExtreme loop = kMax ? isa_table().reduce->arg_max : isa_table().reduce->arg_min;
    const int64_t n = at.inner, blocks = (n + kBlock - 1) / kBlock;
    const int64_t work = std::max<int64_t>(1, std::min(n, kBlock) * at.axis);
    ctx.parallel_for(
        at.outer * blocks, std::max<int64_t>(1, kGrainCheap / work), [&](int64_t begin, int64_t end) {
          float best[kBlock];
          int32_t place[kBlock];
          for (int64_t i = begin; i < end; ++i) {
            const int64_t o = i / blocks, first = i % blocks * kBlock, width = std::min(kBlock, n - first);
            loop(x + o * at.axis * n + first, n, at.axis, last_, best, place, width);
            for (int64_t j = 0; j < width; ++j) out[o * n + first + j] = place[j];
          }
        });
  }

  int64_t axis_;
  bool last_;
};

using ArgMax = ArgExtreme<true>;
using ArgMin = ArgExtreme<false>;

TENON_KERNEL(ArgMax, .op_type = "ArgMax", .since = 1, .contract = "data: rank 1..")
TENON_KERNEL(ArgMin, .op_type = "ArgMin", .since = 1, .contract = "data: rank 1..")

}  // namespace
}  // namespace tenon::cpu
