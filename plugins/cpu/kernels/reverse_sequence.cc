#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class ReverseSequence {
 public:
  explicit ReverseSequence(const NodeView& node)
      : batch_axis_(node.attr_i("batch_axis", 1)), time_axis_(node.attr_i("time_axis", 0)) {}
  static Support supports(const NodeView& node) {
    return Check(node)
        .attr_is("batch_axis", {0, 1})
        .attr_is("time_axis", {0, 1})
        .that(node.attr_i("batch_axis", 1) != node.attr_i("time_axis", 0), TENON_REJECT_ATTRIBUTE,
              "batch_axis and time_axis are the same");
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const DimsView lengths = int_list(ctx, ctx.input(1));
    const int64_t d0 = in.dim(0), d1 = in.dim(1), inner = in.size() == 0 ? 0 : in.size() / d0 / d1;
    const int64_t time = time_axis_ == 0 ? d0 : d1;
    for (const int64_t length : lengths)
      require(length >= 0 && length <= time, TENON_OUT_OF_RANGE, "sequence length ", length,
              " is outside [0, ", time, "]");
    BlockWriter writer(ctx, 0);
    CancelPoint point(ctx);
    for (int64_t i = 0; inner > 0 && i < d0; ++i)
      for (int64_t j = 0; j < d1; ++j) {
        point.pass(inner);
        const int64_t t = time_axis_ == 0 ? i : j,
                      length = lengths[static_cast<size_t>(batch_axis_ == 0 ? i : j)];
        const int64_t from = t < length ? length - 1 - t : t;
        writer.append(in, (time_axis_ == 0 ? from * d1 + j : i * d1 + from) * inner, inner);
      }
    writer.finish();
  }

 private:
  int64_t batch_axis_, time_axis_;
};

TENON_KERNEL(ReverseSequence, .op_type = "ReverseSequence", .since = 10,
             .contract = "X: rank 2..; sequence_lens: [X.$batch_axis] @index")

}  // namespace
}  // namespace tenon::cpu
