// Merges a Pad with zeros into the padding of the Conv after it.
#include <algorithm>

#include "core/transform/edit.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

bool pads_with_zero(const ir::Graph& graph, const ir::Node& pad) {
  const ir::Attribute* mode = pad.find("mode");
  if (mode != nullptr && mode->s != "constant") return false;
  if (pad.since_version < 11) {
    const ir::Attribute* value = pad.find("value");
    return value == nullptr || value->f == 0;
  }
  if (!has_input(pad, 2)) return true;
  const ir::TensorPtr value = constant_input(graph, pad, 2);
  const auto numbers = value ? to_doubles(*value) : std::nullopt;
  return numbers && numbers->size() == 1 && (*numbers)[0] == 0;
}

/// Amounts for all `rank` axes, first the begins, then the ends. Empty when they are unknown, negative or not only
/// spatial.
std::vector<int64_t> spatial_pads(const ir::Graph& graph, const ir::Node& pad, size_t rank) {
  const auto given = ints_of(graph, pad, "pads", 1);
  if (!given) return {};
  std::vector<int64_t> pads = *given;
  if (has_input(pad, 3)) {
    const auto axes = ints_of(graph, pad, "axes", 3);
    if (!axes || given->size() != 2 * axes->size()) return {};
    pads.assign(2 * rank, 0);
    for (size_t i = 0; i < axes->size(); ++i) {
      const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + static_cast<int64_t>(rank) : (*axes)[i];
      if (axis < 0 || axis >= static_cast<int64_t>(rank)) return {};
      pads[static_cast<size_t>(axis)] = (*given)[i];
      pads[static_cast<size_t>(axis) + rank] = (*given)[i + axes->size()];
    }
  }
  if (pads.size() != 2 * rank || std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad < 0; }))
    return {};
  return pads[0] == 0 && pads[1] == 0 && pads[rank] == 0 && pads[rank + 1] == 0 ? pads
                                                                                : std::vector<int64_t>();
}

void set_attribute(ir::Node& node, ir::Attribute attribute) {
  for (ir::Attribute& existing : node.attributes) {
    if (existing.name == attribute.name) {
      existing = std::move(attribute);
      return;
    }
  }
  node.attributes.push_back(std::move(attribute));
}

}  // namespace

Result<bool> fuse_pad_into_conv(Surroundings&, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& conv = graph.node(id);
  if (!conv.is("Conv")) return false;
  const ir::NodeId pad_id = producer_of(graph, conv, 0, "Pad");
  const int weight_rank = input_rank(graph, conv, 1);
  if (pad_id == ir::kNone || weight_rank < 3 || graph.node(pad_id).since_version < 2) return false;
  const ir::Node& pad = graph.node(pad_id);
  const ir::Attribute* automatic = conv.find("auto_pad");
  const bool valid = automatic != nullptr && automatic->s == "VALID";
  if (automatic != nullptr && !valid && automatic->s != "NOTSET") return false;
  const size_t rank = static_cast<size_t>(weight_rank), spatial = rank - 2;
  const std::vector<int64_t> pads = spatial_pads(graph, pad, rank);
  if (pads.empty() || !pads_with_zero(graph, pad)) return false;
  std::vector<int64_t> total(2 * spatial, 0);
  if (const ir::Attribute* own = conv.find("pads"); own != nullptr && !valid) {
    if (own->ints.size() != total.size()) return false;
    total = own->ints;
  }
  for (size_t i = 0; i < spatial; ++i) {
    total[i] += pads[i + 2];
    total[i + spatial] += pads[i + 2 + rank];
  }
  ir::Node& changed = graph.mutable_node(id);
  if (valid) set_attribute(changed, ir::Attribute::of_string("auto_pad", "NOTSET"));
  set_attribute(changed, ir::Attribute::of_ints("pads", std::move(total)));
  graph.set_input(id, 0, pad.inputs[0]);
  remove_if_unused(graph, pad_id);
  return true;
}

}  // namespace tenon::transform
