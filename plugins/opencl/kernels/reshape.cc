// Operators that change only the shape: views if the host allows it, otherwise copies on the device. Except
// for Reshape, the host's inference computes their shapes.
#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

class View {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kAnyTypes)
        .that(n.output_count() == 1, TENON_REJECT_OTHER, "more than one output is not supported");
  }
  static std::vector<int> shape_inputs(const NodeView& n) {
    return n.input_count() > 1 ? std::vector<int>{1} : std::vector<int>{};
  }
  explicit View(const NodeView& n) : copy_(n, n.input(0).dtype()) {}
  void prepare(PrepareContext& p) const {
    require(element_count(output_dims(p, 0)) == p.input(0).size(), TENON_INVALID_ARGUMENT,
            "an input of shape ", p.input(0).dims(), " cannot be reshaped to ", p.output(0));
    p.view(0, 0);
  }
  void record(Recorder& ctx) const { copy_.record_dense(ctx, ctx.input(0), ctx.output(0)); }

 private:
  CopyKernels copy_;
};

class Identity : public View {
 public:
  using View::View;
  static std::vector<int> shape_inputs(const NodeView&) { return {}; }
};

/// The shape is an attribute before version 5, and input 1 from then on.
class Reshape : public View {
 public:
  explicit Reshape(const NodeView& n)
      : View(n),
        allows_zero_(n.attr_i("allowzero", 0) != 0),
        from_attribute_(n.since_version() < 5),
        shape_(n.attr_ints("shape")) {}
  void prepare(PrepareContext& p) const {
    p.set_output(0, resolve(p.input(0).dims(), from_attribute_ ? shape_ : p.input(1).to_dims()));
    p.view(0, 0);
  }

 private:
  Dims resolve(DimsView x, Dims shape) const {
    const Dims wanted = shape;
    const int64_t total = element_count(x);
    int64_t rest = total;  // for the dim that is -1
    size_t open = shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 0 && !allows_zero_) {
        require(i < x.size(), TENON_INVALID_ARGUMENT, "dim ", i,
                " of the new shape is 0 but the input has rank ", x.size());
        shape[i] = x[i];
      }
      require(shape[i] >= -1, TENON_INVALID_ARGUMENT, "dim ", i, " of the new shape is ", shape[i]);
      if (shape[i] >= 0) {
        rest = shape[i] == 0 ? 0 : rest / shape[i];  // a remainder is reported below
        continue;
      }
      require(open == shape.size(), TENON_INVALID_ARGUMENT, "the new shape has more than one -1");
      open = i;
    }
    if (open < shape.size()) shape[open] = rest;
    require(element_count(shape) == total, TENON_INVALID_ARGUMENT, "an input of shape ", x,
            " cannot be reshaped to ", wanted);
    return shape;
  }

  bool allows_zero_, from_attribute_;
  Dims shape_;
};

TENON_KERNEL(Identity, .op_type = "Identity", .since = 1, .contract = "input: any")
TENON_KERNEL(Reshape, .op_type = "Reshape", .since = 1, .until = 4, .contract = "data: any")
TENON_KERNEL(Reshape, .op_type = "Reshape", .since = 5, .contract = "data: any; shape: [?] @size")
TENON_KERNEL(View, .op_type = "Flatten", .since = 1, .contract = "input: any")
TENON_KERNEL(View, .op_type = "Squeeze", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(View, .op_type = "Unsqueeze", .since = 1, .until = 12, .contract = "data: any")
TENON_KERNEL(View, .op_type = "Unsqueeze", .since = 13, .contract = "data: any; axes: rank 0..1")

}  // namespace
}  // namespace tenon::opencl
