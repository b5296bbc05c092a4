#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// A row is one pair of indices of the batch and time axes, in the order of the axes. A length beyond the axis
// is reported as an index out of range.
constexpr Source kSource{"reverse_sequence", R"CL(
__kernel void ReverseSequence(IN(M, x), IN(long, lengths), OUT(M, y), __global int* flag, int first, int second, int inner,
                              int time_first) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= inner || row >= first * second) return;
  const int a = row / second, b = row % second;
  const int time = time_first ? a : b, count = time_first ? first : second;
  const long given = PTR(lengths)[time_first ? b : a];
  if (given < 0 || given > count) flag_index(flag, given, count);
  const int length = (int)clamp(given, (long)0, (long)count);
  const int source = time < length ? length - 1 - time : time;
  const int from = time_first ? source * second + b : a * second + source;
  PTR(y)[row * inner + i] = PTR(x)[from * inner + i];
}
)CL"};

struct Axes {
  cl_int first, second, inner;
};

class ReverseSequence {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kAnyTypes)
        .input(1, TypeList<int64_t>())
        .attr_is("batch_axis", {0, 1})
        .attr_is("time_axis", {0, 1});
  }
  explicit ReverseSequence(const NodeView& n)
      : time_first_(n.attr_i("time_axis", 0) == 0 ? 1 : 0),
        is_constant_(n.input(1).is_constant()),
        kernel_(load_kernel(n, kSource, defines_to_move(n.input(0).dtype()), "ReverseSequence", kLine)) {
    require(n.attr_i("batch_axis", 1) == time_first_, TENON_INVALID_ARGUMENT,
            "batch_axis and time_axis are the same");
  }
  Axes prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const int64_t time = x[time_first_ != 0 ? 0 : 1];
    for (const int64_t length : is_constant_ ? p.input(1).to_dims() : Dims())
      require(length >= 0 && length <= time, TENON_OUT_OF_RANGE, "sequence length ", length,
              " is out of range for an axis of ", time);
    p.set_output(0, x);
    return {narrow(x[0]), narrow(x[1]), narrow(element_count(x.subspan(2)))};
  }
  void record(Recorder& ctx, const Axes& axes) const {
    launch(ctx, kernel_,
           {static_cast<size_t>(axes.inner),
            static_cast<size_t>(axes.first) * static_cast<size_t>(axes.second), 1},
           in(ctx.input(0)), in(ctx.input(1)), out(ctx.output(0)), FlagArg{}, axes.first, axes.second,
           axes.inner, time_first_);
  }

 private:
  cl_int time_first_;
  bool is_constant_;
  KernelRef kernel_;
};
TENON_KERNEL(ReverseSequence, .op_type = "ReverseSequence", .since = 10,
             .contract = "input: rank 2..; sequence_lens: [input.$batch_axis:1] @index")

}  // namespace
}  // namespace tenon::opencl
