#include <algorithm>
#include <limits>

#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// A slice after ONNX's clamping. For a negative step the end may be -1, before the first element.
struct Range {
  int64_t start, step, count;
};

Range clamp_range(int64_t start, int64_t end, int64_t step, int64_t dim) {
  require(step != 0, TENON_INVALID_ARGUMENT, "a step is 0");
  if (dim == 0) return {0, step, 0};
  if (start < 0) start += dim;
  if (end < 0) end = end < std::numeric_limits<int64_t>::min() + dim ? end : end + dim;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, dim);
    end = std::clamp<int64_t>(end, 0, dim);
    return {start, step, end > start ? (end - start - 1) / step + 1 : 0};
  }
  start = std::clamp<int64_t>(start, 0, dim - 1);
  end = std::clamp<int64_t>(end, -1, dim - 1);
  // The step may be the lowest int64, which has no negation.
  const uint64_t span = start > end ? static_cast<uint64_t>(start - end - 1) : 0;
  return {start, step, start > end ? static_cast<int64_t>(span / (0 - static_cast<uint64_t>(step))) + 1 : 0};
}

StridedWalk prepare_slice(PrepareContext& p, const Dims& starts, const Dims& ends, Dims axes, Dims steps) {
  const DimsView in = p.input(0).dims();
  const int rank = p.input(0).rank();
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  require(starts.size() == ends.size() && axes.size() == starts.size() && steps.size() == starts.size(),
          TENON_INVALID_ARGUMENT, "starts, ends, axes and steps differ in length");
  normalize_axes(axes, rank);  // refuses duplicates
  Dims dims(in.begin(), in.end()), strides = strides_of(in);
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normalize_axis(axes[i], rank));
    const Range range = clamp_range(starts[i], ends[i], steps[i], in[axis]);
    dims[axis] = range.count;
    offset += range.count > 0 ? range.start * strides[axis] : 0;
    if (range.count > 1) strides[axis] *= range.step;
  }
  p.set_output(0, dims);
  return StridedWalk(dims, strides, offset);
}

class SliceAttributes {
 public:
  explicit SliceAttributes(const NodeView& node)
      : starts_(node.attr_ints("starts")), ends_(node.attr_ints("ends")), axes_(node.attr_ints("axes")) {}
  using State = StridedWalk;
  State prepare(PrepareContext& p) const { return prepare_slice(p, starts_, ends_, axes_, {}); }
  void run(const Context& ctx, const State& walk) const { copy_strided(ctx, ctx.input(0), 0, walk); }

 private:
  Dims starts_, ends_, axes_;
};

struct Slice {
  static constexpr int shape_inputs[] = {1, 2, 3, 4};
  using State = StridedWalk;
  State prepare(PrepareContext& p) const {
    return prepare_slice(p, p.input(1).to_dims(), p.input(2).to_dims(),
                         p.has_input(3) ? p.input(3).to_dims() : Dims(),
                         p.has_input(4) ? p.input(4).to_dims() : Dims());
  }
  void run(const Context& ctx, const State& walk) const { copy_strided(ctx, ctx.input(0), 0, walk); }
};

TENON_KERNEL(SliceAttributes, .op_type = "Slice", .since = 1, .until = 9, .contract = "data: any")
TENON_KERNEL(Slice, .op_type = "Slice", .since = 10,
             .contract = "data: any; starts: [K]; ends: [K]; axes?: [K]; steps?: [K]")

}  // namespace
}  // namespace tenon::cpu
