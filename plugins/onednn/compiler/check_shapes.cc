// Checks shapes before a task is made: no size overflows, the contracts of the operators hold, and outputs
// have the shapes that the operators compute.
#include <algorithm>

#include "compiler/builder.h"

namespace tenon::onednn {

bool can_be_counted(DimsView dims) {
  int64_t n = 1;
  for (const int64_t d : dims) {
    if (__builtin_mul_overflow(n, std::max<int64_t>(d, 1), &n)) return false;
  }
  return n <= kMostElements;
}

void Builder::check_sizes() const {
  for (uint32_t v = 0; v < dims_.size(); ++v) {
    if (dims_[v] == nullptr) continue;
    const Dims& dims = *dims_[v];
    const std::string& name = program_.values()[v].name;
    require(std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; }), TENON_INVALID_ARGUMENT,
            "'", name, "' would have the shape ", dims, ", and a dim cannot be negative");
    require(dims.size() <= kMostAxes, TENON_UNIMPLEMENTED, "'", name, "' has ", dims.size(),
            " axes; oneDNN supports at most ", kMostAxes);
    require(can_be_counted(dims), TENON_UNIMPLEMENTED, "'", name, "' has the shape ", dims,
            "; oneDNN supports at most ", kMostElements, " elements");
  }
}

void Builder::check_shapes(const Node& node) const {
  try {
    const auto shape_of = [&](int i) -> std::optional<DimsView> {
      const auto at = static_cast<size_t>(i);
      if (at >= node.inputs.size() || node.inputs[at] == kNone || dims_[node.inputs[at]] == nullptr)
        return std::nullopt;
      return DimsView(*dims_[node.inputs[at]]);
    };
    const std::string refusal = node.contract.check(static_cast<int>(node.inputs.size()), shape_of);
    require(refusal.empty(), TENON_INVALID_ARGUMENT, refusal);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      const Dims made = node.operation->shape(*this, node, i);
      require(made == dims(node.outputs[i]), TENON_INVALID_ARGUMENT, "output ", i, " has shape ", made,
              " but ", dims(node.outputs[i]), " was inferred");
    }
  } catch (ep::Error& e) {
    e.where = node.place;
    throw;
  }
}

void Builder::require_elements(uint32_t value, const Layout& layout) const {
  const int64_t wanted = ep::element_count(dims(value));
  require(layout.elements() == wanted, TENON_INTERNAL, "'", program_.values()[value].name, "' has ", wanted,
          " elements, but its layout has ", layout.elements());
}

}  // namespace tenon::onednn
