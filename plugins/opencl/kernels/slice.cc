#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

/// Begin, end and step per axis of x, clamped as in ONNX.
struct Range {
  int64_t begin, count, step;
};

Range clamped(int64_t begin, int64_t end, int64_t step, int64_t size) {
  require(step != 0, TENON_INVALID_ARGUMENT, "a step is 0");
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  begin = step > 0 ? std::clamp<int64_t>(begin, 0, size)
                   : std::clamp<int64_t>(begin, 0, std::max<int64_t>(size - 1, 0));
  end = step > 0 ? std::clamp<int64_t>(end, 0, size) : std::clamp<int64_t>(end, -1, size - 1);
  const int64_t span = step > 0 ? end - begin : begin - end;
  const int64_t stride = step > 0                                      ? step
                         : step == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max()
                                                                       : -step;
  return {begin, span <= 0 || size == 0 ? 0 : (span - 1) / stride + 1, step};
}

StridedCopy slice(PrepareContext& p, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
                  std::vector<int64_t> axes, std::vector<int64_t> steps) {
  const DimsView x = p.input(0).dims();
  for (size_t i = 0, given = axes.size(); i < starts.size() && given == 0; ++i)
    axes.push_back(static_cast<int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  require(ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
          TENON_INVALID_ARGUMENT, "starts, ends, axes and steps differ in length");
  const std::vector<size_t> places = checked_axes(axes, x.size());
  Dims dims(x.begin(), x.end()), strides = dense_strides(x);
  int64_t start = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t axis = places[i];
    const Range range = clamped(starts[i], ends[i], steps[i], x[axis]);
    dims[axis] = range.count;
    start += range.count == 0 ? 0 : range.begin * strides[axis];
    strides[axis] = range.count <= 1 ? strides[axis] : strides[axis] * range.step;
  }
  p.set_output(0, dims);
  return gather_copy(dims, strides, start);
}

class Slice {
 public:
  static constexpr int shape_inputs[] = {1, 2, 3, 4};
  static Support supports(const NodeView& n) { return Check(n).input(0, kAnyTypes); }
  explicit Slice(const NodeView& n) : copy_(n, n.input(0).dtype()) {}
  StridedCopy prepare(PrepareContext& p) const {
    const auto numbers = [&](int i) { return axes_of(p, i, {}); };
    return slice(p, numbers(1), numbers(2), numbers(3), numbers(4));
  }
  void record(Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 private:
  CopyKernels copy_;
};
TENON_KERNEL(Slice, .op_type = "Slice", .since = 10,
             .contract = "data: rank 1..; starts: [n]; ends: [n]; axes?: [n]; steps?: [n]")

class Slice1 {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kAnyTypes); }
  explicit Slice1(const NodeView& n)
      : starts_(n.attr_ints("starts")),
        ends_(n.attr_ints("ends")),
        axes_(n.attr_ints("axes")),
        copy_(n, n.input(0).dtype()) {}
  StridedCopy prepare(PrepareContext& p) const { return slice(p, starts_, ends_, axes_, {}); }
  void record(Recorder& ctx, const StridedCopy& copy) const {
    copy_.record(ctx, copy, in(ctx.input(0)), out(ctx.output(0)));
  }

 private:
  std::vector<int64_t> starts_, ends_, axes_;
  CopyKernels copy_;
};
TENON_KERNEL(Slice1, .op_type = "Slice", .since = 1, .until = 9, .contract = "data: rank 1..")

}  // namespace
}  // namespace tenon::opencl
