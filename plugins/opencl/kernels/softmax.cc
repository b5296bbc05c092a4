// Softmax, LogSoftmax and Hardmax along one axis; before version 13, along all axes from `axis` on.
#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// Each work-item handles one line of `count` elements at distance `stride`.
constexpr Source kSource{"softmax", R"CL(
#define LINE                                                      \
  const int i = get_global_id(0), row = get_global_id(1);         \
  if (i >= inner || row >= outer) return;                         \
  const int from = row * count * inner + i;                       \
  C top = -INFINITY;                                              \
  for (int k = 0; k < count; ++k) {                               \
    const C v = LOAD(PTR(x), from + k * inner);                   \
    top = v > top || isnan(v) ? v : top;                          \
  }
__kernel void Softmax(IN(T, x), OUT(T, y), int outer, int count, int inner) {
  LINE
  C sum = 0;
  for (int k = 0; k < count; ++k) sum += exp(LOAD(PTR(x), from + k * inner) - top);
  const C scale = 1 / sum;
  for (int k = 0; k < count; ++k) {
    const C e = exp(LOAD(PTR(x), from + k * inner) - top);
    STORE(PTR(y), from + k * inner, e * scale);
  }
}
__kernel void LogSoftmax(IN(T, x), OUT(T, y), int outer, int count, int inner) {
  LINE
  C sum = 0;
  for (int k = 0; k < count; ++k) sum += exp(LOAD(PTR(x), from + k * inner) - top);
  const C shift = top + log(sum);
  for (int k = 0; k < count; ++k) STORE(PTR(y), from + k * inner, LOAD(PTR(x), from + k * inner) - shift);
}
__kernel void Hardmax(IN(T, x), OUT(T, y), int outer, int count, int inner) {
  LINE
  bool found = false;
  for (int k = 0; k < count; ++k) {
    const bool here = !found && LOAD(PTR(x), from + k * inner) == top;
    found = found || here;
    STORE(PTR(y), from + k * inner, here ? (C)1 : (C)0);
  }
}
)CL"};

struct Lines {
  cl_int outer, count, inner;
};

class Softmax {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kRealTypes); }
  explicit Softmax(const NodeView& n)
      : is_flat_(n.since_version() < 13),
        axis_(n.attr_i("axis", is_flat_ ? 1 : -1)),
        kernel_(load_kernel(n, kSource, defines_for(n.input(0).dtype()), std::string(n.op()), kLine)) {}
  Lines prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    p.set_output(0, x);
    const bool beyond = is_flat_ && axis_ == static_cast<int64_t>(x.size());
    const size_t axis = beyond ? x.size() : checked_axis(axis_, x.size());
    const int64_t outer = element_count(x.first(axis)), rest = element_count(x.subspan(axis));
    if (is_flat_ || x.empty()) return {narrow(outer), narrow(rest), 1};
    return {narrow(outer), narrow(x[axis]), narrow(element_count(x.subspan(axis + 1)))};
  }
  void record(Recorder& ctx, const Lines& lines) const {
    if (lines.count == 0) return;
    launch(ctx, kernel_, {static_cast<size_t>(lines.inner), static_cast<size_t>(lines.outer), 1},
           in(ctx.input(0)), out(ctx.output(0)), lines.outer, lines.count, lines.inner);
  }

 private:
  bool is_flat_;
  int64_t axis_;
  KernelRef kernel_;
};
TENON_KERNEL(Softmax, .op_type = "Softmax", .since = 1, .contract = "input: any")
TENON_KERNEL(Softmax, .op_type = "LogSoftmax", .since = 1, .contract = "input: any")
TENON_KERNEL(Softmax, .op_type = "Hardmax", .since = 1, .contract = "input: any")

}  // namespace
}  // namespace tenon::opencl
