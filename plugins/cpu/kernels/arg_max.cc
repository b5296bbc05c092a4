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
  int64_t axis_;
  bool last_;
};

using ArgMax = ArgExtreme<true>;
using ArgMin = ArgExtreme<false>;

TENON_KERNEL(ArgMax, .op_type = "ArgMax", .since = 1, .contract = "data: rank 1..")
TENON_KERNEL(ArgMin, .op_type = "ArgMin", .since = 1, .contract = "data: rank 1..")

}  // namespace
}  // namespace tenon::cpu
