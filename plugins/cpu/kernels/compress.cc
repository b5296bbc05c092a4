#include <optional>

#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class Compress {
 public:
  explicit Compress(const NodeView& node) {
    if (node.has_attr("axis")) axis_ = node.attr_i("axis");
  }
  void prepare(PrepareContext& ctx) const { ctx.set_at_run(0); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0), condition = ctx.input(1);
    Around at{1, in.size(), 1};
    Dims dims{0};
    size_t axis = 0;
    if (axis_) {
      axis = static_cast<size_t>(normalize_axis(*axis_, in.rank()));
      at = around(in.dims(), static_cast<int64_t>(axis));
      dims.assign(in.dims().begin(), in.dims().end());
    }
    Dims kept;
    for (int64_t i = 0; i < condition.size(); ++i) {
      if (condition.data<uint8_t>()[i] == 0) continue;
      require(i < at.axis, TENON_OUT_OF_RANGE, "the condition selects element ", i, ", but the axis has ",
              at.axis, " elements");
      kept.push_back(i);
    }
    dims[axis] = static_cast<int64_t>(kept.size());
    if (in.dtype() == TENON_STRING) {
      StringBuilder strings;
      for (int64_t o = 0; o < at.outer; ++o)
        for (const int64_t k : kept)
          for (int64_t i = 0; i < at.inner; ++i) strings.add(in.string((o * at.axis + k) * at.inner + i));
      return ctx.set_strings(0, dims, strings);
    }
    ctx.alloc_output(0, dims);
    BlockWriter writer(ctx, 0);
    for (int64_t o = 0; o < at.outer; ++o)
      for (const int64_t k : kept) writer.append(in, (o * at.axis + k) * at.inner, at.inner);
    writer.finish();
  }

 private:
  std::optional<int64_t> axis_;
};

TENON_KERNEL(Compress, .op_type = "Compress", .since = 9, .contract = "input: any; condition: rank 1")

}  // namespace
}  // namespace tenon::cpu
