// (x - mean) / sqrt(mean of squares of x - mean + epsilon) * scale + bias becomes LayerNormalization.
#include "core/transform/passes.h"
#include "core/transform/raise/normalization.h"

namespace tenon::transform {

Result<bool> raise_layer_normalization(Surroundings& around, ir::Graph& graph, ir::NodeId id) {
  auto found = find_normalized(graph, id);
  if (!found) return false;
  ir::ValueId x = without_mean(graph, found->d, found->axes, &found->nodes), output = found->quotient;
  if (x == ir::kNone) return false;
  take_casts(graph, &x, &output, &found->nodes);

  const Parameter scale = find_parameter(graph, output, "Mul", x, found->axes);
  if (scale.node != ir::kNone) {
    found->nodes.push_back(scale.node);
    output = scale.result;
  }
  const Parameter bias = find_parameter(graph, output, "Add", x, found->axes);
  if (bias.node != ir::kNone) {
    found->nodes.push_back(bias.node);
    output = bias.result;
  }
  Raised raised{"layer_normalization", found->nodes, output, "LayerNormalization", {x}, {}};
  const ir::ValueId factor = scale.node != ir::kNone ? shaped_parameter(graph, scale.value, found->axes)
                                                     : ones_like(graph, x, found->axes);
  if (factor == ir::kNone) return false;
  raised.inputs.push_back(factor);
  if (bias.node != ir::kNone) raised.inputs.push_back(shaped_parameter(graph, bias.value, found->axes));
  raised.attributes = {ir::Attribute::of_int("axis", -found->axes),
                       ir::Attribute::of_float("epsilon", found->epsilon)};
  return raise(around, graph, raised);
}

}  // namespace tenon::transform
