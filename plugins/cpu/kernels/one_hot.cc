#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class OneHot {
 public:
  static constexpr int shape_inputs[] = {1};
  explicit OneHot(const NodeView& node) : axis_(node.attr_i("axis", -1)) {}

  static int64_t scalar(TensorView value) {
    int64_t out = 0;
    dispatch(kNumericTypes, value.dtype(), [&]<class T>() { out = static_cast<int64_t>(value.at<T>(0)); });
    return out;
  }
  void prepare(PrepareContext& ctx) const {
    const int64_t rank = ctx.input(0).rank() + 1;
    Dims dims(ctx.input(0).dims().begin(), ctx.input(0).dims().end());
    dims.insert(dims.begin() + normalize_axis(axis_, rank), scalar(ctx.input(1)));
    ctx.set_output(0, dims);
  }
  void run(const Context& ctx) const {
    const TensorView indices = ctx.input(0), values = ctx.input(2);  // values: [off, on]
    const Around at = around(ctx.output(0).dims(), normalize_axis(axis_, indices.rank() + 1));
    const std::span<int64_t> hot = scratch_list<int64_t>(ctx, indices.size());
    dispatch(kNumericTypes, indices.dtype(), [&]<class T>() {
      for (size_t i = 0; i < hot.size(); ++i)
        hot[i] = static_cast<int64_t>(indices.at<T>(static_cast<int64_t>(i)));
    });
    for (int64_t& index : hot)
      if (index < 0) index += at.axis;  // what is still outside is off everywhere
    BlockWriter writer(ctx, 0);
    for (int64_t o = 0; o < at.outer; ++o)
      for (int64_t d = 0; d < at.axis; ++d)
        for (int64_t i = 0; i < at.inner; ++i)
          writer.append(values, hot[static_cast<size_t>(o * at.inner + i)] == d ? 1 : 0, 1);
    writer.finish();
  }

 private:
  int64_t axis_;
};

TENON_KERNEL(OneHot, .op_type = "OneHot", .since = 9)

}  // namespace
}  // namespace tenon::cpu
