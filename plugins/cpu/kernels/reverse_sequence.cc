#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class ReverseSequence {
 public:
  explicit ReverseSequence(const NodeView& node)
      : batch_axis_(node.attr_i("batch_axis", 1)), time_axis_(node.attr_i("time_axis", 0)) {}
  static Support supports(const NodeView& node) {
    return Check(node).rank(0, 2).attr_is("batch_axis", {0, 1}).attr_is("time_axis", {0, 1});
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const DimsView lengths = int_list(ctx, ctx.input(1));
    const int64_t d0 = in.dim(0), d1 = in.dim(1), inner = (d0 * d1 > 0) ? in.size() / (d0 * d1) : 0;
    const int64_t time = time_axis_ == 0 ? d0 : d1;
    require(batch_axis_ != time_axis_ && static_cast<int64_t>(lengths.size()) == (batch_axis_ == 0 ? d0 : d1),
            TENON_INVALID_ARGUMENT, "sequence_lens has ", lengths.size(), " entries");
    BlockWriter writer(ctx, 0);
    for (int64_t i = 0; i < d0; ++i)
      for (int64_t j = 0; j < d1; ++j) {
        const int64_t t = time_axis_ == 0 ? i : j,
                      length = lengths[static_cast<size_t>(batch_axis_ == 0 ? i : j)];
        require(length >= 0 && length <= time, TENON_OUT_OF_RANGE, "sequence length ", length,
                " is outside of ", time);
        const int64_t from = t < length ? length - 1 - t : t;
        writer.append(in, (time_axis_ == 0 ? from * d1 + j : i * d1 + from) * inner, inner);
      }
    writer.finish();
  }

 private:
  int64_t batch_axis_, time_axis_;
};

TENON_KERNEL(ReverseSequence, .op_type = "ReverseSequence", .since = 10)

}  // namespace
}  // namespace tenon::cpu
