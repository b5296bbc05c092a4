#include "kernels/common/checked.h"
#include "kernels/common/sequence.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// Along an axis of the tensors, or along a new one.
class ConcatFromSequence {
 public:
  explicit ConcatFromSequence(const NodeView& n)
      : axis_(n.attr_i("axis")), new_axis_(n.attr_i("new_axis", 0) != 0) {}
  void prepare(PrepareContext& p) const { p.set_at_run(0); }

  void run(const Context& ctx) const {
    const std::vector<ValueRef> elements = sequence_elements(ctx.input_value(0));
    require(!elements.empty(), TENON_INVALID_ARGUMENT, "the sequence is empty");
    std::vector<tenon_tensor> tensors;
    for (const ValueRef& element : elements) tensors.push_back(element.tensor());
    const TensorView first(&tensors[0]);
    const int axis = normalize_axis(axis_, first.rank() + (new_axis_ ? 1 : 0));
    const Dims dims = output_dims(tensors, axis);
    if (first.dtype() != TENON_STRING) ctx.alloc_output(0, dims);
    // The dims after the axis are the same for all tensors, and so are those before it.
    const int64_t outer = count_between(dims, 0, axis);
    BlockWriter writer(ctx, 0, dims, first.dtype());
    for (int64_t o = 0; o < outer; ++o)
      for (const tenon_tensor& tensor : tensors) {
        const TensorView from(&tensor);
        const int64_t block = from.size() / outer;
        writer.append(from, o * block, block);
      }
    writer.finish();
  }

 private:
  Dims output_dims(const std::vector<tenon_tensor>& tensors, int axis) const {
    const DimsView first = TensorView(&tensors[0]).dims();
    Dims out(first.begin(), first.end());
    const auto at = static_cast<size_t>(axis);
    if (new_axis_) {
      out.insert(out.begin() + axis, static_cast<int64_t>(tensors.size()));
    } else {
      out[at] = 0;
    }
    for (const tenon_tensor& tensor : tensors) {
      const DimsView dims = TensorView(&tensor).dims();
      bool same = dims.size() == first.size();
      for (size_t d = 0; same && d < dims.size(); ++d) same = (d == at && !new_axis_) || dims[d] == first[d];
      require(same && tensor.dtype == tensors[0].dtype, TENON_INVALID_ARGUMENT, "tensors of shapes ", first,
              " and ", dims, " cannot be joined at axis ", axis_);
      if (!new_axis_) out[at] = checked_add(out[at], dims[at], "the output");
    }
    return out;
  }

  int64_t axis_;
  bool new_axis_;
};
TENON_KERNEL(ConcatFromSequence, .op_type = "ConcatFromSequence", .contract = "input_sequence: any")

}  // namespace
}  // namespace tenon::cpu
