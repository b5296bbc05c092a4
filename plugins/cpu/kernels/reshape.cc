#include "kernels/common/movement.h"

namespace tenon::cpu {
namespace {

// The shape is an attribute before opset 5, and input 1 since.
struct Reshape {
  explicit Reshape(const NodeView& n)
      : allow_zero_(n.attr_i("allowzero", 0) != 0),
        from_attribute_(n.since_version() < 5),
        shape_(n.attr_ints("shape")) {}

  static constexpr int shape_inputs[] = {1};

  void prepare(PrepareContext& p) const {
    p.set_output(0, resolve(p.input(0).dims(), from_attribute_ ? shape_ : p.input(1).to_dims()));
    if (p.input(0).dtype() != TENON_STRING) p.view(0, 0);
  }
  void run(const Context& ctx) const { copy_or_view(ctx, 0, 0); }

 private:
  Dims resolve(DimsView input, Dims shape) const {
    const DimsView wanted(shape);
    int64_t known = 1;
    size_t free = shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 0 && !allow_zero_) {
        require(i < input.size(), TENON_INVALID_ARGUMENT, "dim ", i,
                " of the new shape is 0 but the input has rank ", input.size());
        shape[i] = input[i];
      }
      require(shape[i] >= -1, TENON_INVALID_ARGUMENT, "dim ", i, " of the new shape is ", shape[i]);
      if (shape[i] == -1) {
        require(free == shape.size(), TENON_INVALID_ARGUMENT, "the new shape has more than one -1");
        free = i;
      } else {
        known = wrapping_product(known, shape[i]);
      }
    }
    const int64_t total = element_count(input);
    if (free < shape.size()) shape[free] = known == 0 ? 0 : total / known;
    require(element_count(shape) == total, TENON_INVALID_ARGUMENT, "an input of shape ", input,
            " cannot be reshaped to ", wanted);
    return shape;
  }

  bool allow_zero_, from_attribute_;
  Dims shape_;
};
TENON_KERNEL(Reshape, .op_type = "Reshape", .until = 4, .contract = "data: any")
TENON_KERNEL(Reshape, .op_type = "Reshape", .since = 5, .contract = "data: any; shape: [?] @size")

}  // namespace
}  // namespace tenon::cpu
