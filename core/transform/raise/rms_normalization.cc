// x / sqrt(mean of squares of x + epsilon) * scale becomes RMSNormalization.
#include "core/transform/passes.h"
#include "core/transform/raise/normalization.h"

namespace tenon::transform {

Result<bool> raise_rms_normalization(Surroundings& around, ir::Graph& graph, ir::NodeId id) {
  auto found = find_normalized(graph, id);
  if (!found) return false;
  // A LayerNormalization, perhaps with a difference that is computed twice until common_subexpressions has run.
  std::vector<ir::NodeId> ignored;
  if (without_mean(graph, found->d, found->axes, &ignored) != ir::kNone) return false;
  ir::ValueId x = found->d, output = found->quotient;
  take_casts(graph, &x, &output, &found->nodes);
  const Parameter scale = find_parameter(graph, output, "Mul", x, found->axes);
  if (scale.node != ir::kNone) {
    found->nodes.push_back(scale.node);
    output = scale.result;
  }
  const ir::ValueId factor = scale.node != ir::kNone ? shaped_parameter(graph, scale.value, found->axes)
                                                     : ones_like(graph, x, found->axes);
  if (factor == ir::kNone) return false;
  return raise(
      around, graph,
      {"rms_normalization",
       found->nodes,
       output,
       "RMSNormalization",
       {x, factor},
       {ir::Attribute::of_int("axis", -found->axes), ir::Attribute::of_float("epsilon", found->epsilon)}});
}

}  // namespace tenon::transform
