#include "host/compile/type_caster.h"

#include <algorithm>

namespace tenon::runtime {
namespace {

using ir::ElementType;

bool uses(const ir::Graph& graph, const ir::Node& node, ElementType type) {
  const auto is_of = [&](ir::ValueId id) { return id != ir::kNone && graph.value(id).type.element == type; };
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_of) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is_of);
}

}  // namespace

TypeCaster::TypeCaster(const config::Settings& settings, const std::map<std::string, int64_t>& opset_imports)
    : opset_imports_(opset_imports) {
  if (settings.widen) allowed_.push_back({ElementType::kFloat16, ElementType::kFloat32});
  if (settings.precision == config::Precision::kFp16) {
    allowed_.push_back({ElementType::kFloat32, ElementType::kFloat16});
  }
}

std::vector<ir::NodeId> TypeCaster::candidates(const ir::Graph& graph, partition::ProviderIndex provider,
                                               const partition::Partitioner& partitioner,
                                               const transform::FloatCast& cast) {
  std::vector<ir::NodeId> out;
  for (const ir::NodeId id : partitioner.open_nodes()) {
    const std::vector<partition::Decline>& declines = partitioner.declines(id);
    const bool for_its_type =
        std::any_of(declines.begin(), declines.end(), [&](const partition::Decline& decline) {
          return decline.provider == provider && decline.code == partition::RejectCode::kType;
        });
    if (!for_its_type || !uses(graph, graph.node(id), cast.from)) continue;
    if (tried_.emplace(provider, id).second) out.push_back(id);
  }
  return out;
}

Result<bool> TypeCaster::cast(ir::Graph* graph, partition::ProviderIndex provider,
                              const partition::Partitioner& partitioner, const Ask& ask) {
  for (const transform::FloatCast& cast : allowed_) {
    const std::vector<ir::NodeId> wanted = candidates(*graph, provider, partitioner, cast);
    if (wanted.empty()) continue;
    ir::Graph trial = *graph;
    ASSIGN_OR_RETURN(const std::vector<ir::NodeId> changed,
                     transform::cast_nodes(trial, wanted, cast, opset_imports_, &converted_));
    if (changed.empty()) continue;
    ASSIGN_OR_RETURN(const Offer offer, ask(trial));
    std::set<ir::NodeId> claimed;
    for (const partition::Claim& claim : offer.claims) claimed.insert(claim.nodes.begin(), claim.nodes.end());
    std::vector<ir::NodeId> taken;
    for (const ir::NodeId id : changed) {
      if (claimed.count(id) != 0) taken.push_back(id);
    }
    if (taken.empty()) continue;
    ASSIGN_OR_RETURN(const std::vector<ir::NodeId> done,
                     transform::cast_nodes(*graph, taken, cast, opset_imports_, &converted_));
    if (!done.empty()) return true;
  }
  return false;
}

}  // namespace tenon::runtime
