#include "core/partition/partition.h"

#include <algorithm>
#include <unordered_set>

#include "core/partition/groups.h"

namespace tenon::partition {

uint32_t Claim::domain_of(ir::ValueId value, bool is_output) const {
  for (const ValueTraits& t : traits) {
    if (t.value == value && t.domain) return *t.domain;
  }
  return is_output ? output_domain : input_domain;
}

bool Claim::is_shape_input(ir::ValueId value) const {
  return std::any_of(traits.begin(), traits.end(),
                     [&](const ValueTraits& t) { return t.value == value && t.shape_input; });
}

std::string_view reject_code_name(RejectCode code) {
  switch (code) {
    case RejectCode::kOther:
      return "other";
    case RejectCode::kOperator:
      return "operator";
    case RejectCode::kType:
      return "type";
    case RejectCode::kAttribute:
      return "attribute";
    case RejectCode::kShape:
      return "shape";
    case RejectCode::kCost:
      return "cost";
    case RejectCode::kInline:
      return "inline";
    case RejectCode::kPlacement:
      return "placement";
    case RejectCode::kClaimRefused:
      return "claim_refused";
    case RejectCode::kCompileFailed:
      return "compile_failed";
    case RejectCode::kUnusable:
      return "unusable";
    case RejectCode::kDivided:
      return "divided";
  }
  return "other";
}

Partitioner::Partitioner(const ir::Graph& graph, const std::function<bool(const ir::Node&)>& is_control_flow)
    : graph_(graph),
      position_(graph.node_limit(), 0),
      control_flow_(graph.node_limit(), false),
      owner_(graph.node_limit(), ir::kNone),
      declines_(graph.node_limit()),
      barred_(graph.node_limit()) {
  if (auto order = graph.topological_order(); order.ok()) {
    order_ = std::move(order).value();
  } else {
    for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
      if (graph.has_node(id)) order_.push_back(id);
    }
  }
  for (uint32_t i = 0; i < order_.size(); ++i) {
    position_[order_[i]] = i;
    control_flow_[order_[i]] = is_control_flow && is_control_flow(graph.node(order_[i]));
  }
}

void Partitioner::decline(ir::NodeId node, ProviderIndex provider, RejectCode code, std::string text) {
  // A provider may be asked again and then repeats its declines.
  for (const Decline& known : declines_[node]) {
    if (known.provider == provider && known.code == code && known.text == text) return;
  }
  declines_[node].push_back({provider, code, std::move(text)});
}

void Partitioner::bar(ProviderIndex provider, ir::NodeId node, RejectCode code, std::string text) {
  if (!graph_.has_node(node)) return;
  auto& barred = barred_[node];
  if (std::find(barred.begin(), barred.end(), provider) == barred.end()) barred.push_back(provider);
  decline(node, provider, code, std::move(text));
}

bool Partitioner::unbar(ProviderIndex provider, ir::NodeId node, RejectCode code) {
  const auto is_this = [&](const Decline& d) { return d.provider == provider && d.code == code; };
  auto& declines = declines_[node];
  const auto at = std::find_if(declines.begin(), declines.end(), is_this);
  if (at == declines.end()) return false;
  declines.erase(at);
  auto& barred = barred_[node];
  barred.erase(std::remove(barred.begin(), barred.end(), provider), barred.end());
  return true;
}

bool Partitioner::taken(ProviderIndex provider, ir::NodeId node) const {
  if (owner_[node] != ir::kNone || control_flow_[node]) return true;
  return std::find(barred_[node].begin(), barred_[node].end(), provider) != barred_[node].end();
}

bool Partitioner::taken_by_others(ProviderIndex provider, ir::NodeId node) const {
  const bool own = owner_[node] != ir::kNone && accepted_[owner_[node]].provider == provider;
  return !own && taken(provider, node);
}

std::string Partitioner::broken_rule(ProviderIndex provider, const Claim& claim) const {
  if (claim.nodes.empty()) return "R22: the claim is empty";
  std::unordered_set<ir::NodeId> seen;
  for (const ir::NodeId node : claim.nodes) {
    if (!graph_.has_node(node))
      return str_cat("R22: the claim names node number ", node, ", which does not exist");
    if (!seen.insert(node).second)
      return str_cat("R22: the claim names ", graph_.node(node).label(), " twice");
  }
  for (const ir::NodeId node : claim.nodes) {
    if (owner_[node] != ir::kNone && accepted_[owner_[node]].provider == provider) {
      return str_cat("R24: ", graph_.node(node).label(), " is in another claim of the same provider");
    }
    if (taken(provider, node)) return str_cat("R23: ", graph_.node(node).label(), " was shown as taken");
  }
  return {};
}

void Partitioner::refuse(ProviderIndex provider, const Claim& claim, const std::string& text) {
  for (const ir::NodeId node : claim.nodes) {
    if (!graph_.has_node(node)) continue;
    // The provider does not decline a node that another of its claims holds.
    if (owner_[node] != ir::kNone && accepted_[owner_[node]].provider == provider) continue;
    decline(node, provider, RejectCode::kClaimRefused, text);
  }
}

uint32_t Partitioner::accept(ProviderIndex provider, Claim claim) {
  std::sort(claim.nodes.begin(), claim.nodes.end(),
            [&](ir::NodeId a, ir::NodeId b) { return position_[a] < position_[b]; });
  const auto group = static_cast<uint32_t>(accepted_.size());
  for (const ir::NodeId node : claim.nodes) owner_[node] = group;
  accepted_.push_back({provider, std::move(claim)});
  return group;
}

void Partitioner::release(uint32_t group) {
  for (const ir::NodeId node : accepted_[group].claim.nodes) owner_[node] = ir::kNone;
  accepted_[group].provider = kNoProvider;
}

/// Maps each node to a point: accepted claims first, then each open node alone.
class Partitioner::Groups {
 public:
  explicit Groups(const Partitioner& p) : point_of_(p.graph_.node_limit(), 0) {
    auto next = static_cast<uint32_t>(p.accepted_.size());
    for (const ir::NodeId id : p.order_) point_of_[id] = p.owner_[id] != ir::kNone ? p.owner_[id] : next++;
    count_ = next;
  }
  uint32_t count() const { return count_; }
  const std::vector<uint32_t>& point_of() const { return point_of_; }

 private:
  std::vector<uint32_t> point_of_;
  uint32_t count_ = 0;
};

void Partitioner::settle(const std::vector<uint32_t>& offered) {
  const auto cycles = [&] {
    const Groups groups(*this);
    return PointGraph(graph_, order_, groups.point_of(), groups.count()).on_cycles();
  };
  // One check over all claims finds the suspects. Each suspect is then checked alone, in order, so earlier ones
  // win. A claim of one node merges nothing and cannot cause a cycle.
  const std::vector<bool> suspect = cycles();
  std::vector<uint32_t> again;
  for (const uint32_t group : offered) {
    if (suspect[group] && accepted_[group].claim.nodes.size() > 1) again.push_back(group);
  }
  for (const uint32_t group : again) {
    for (const ir::NodeId node : accepted_[group].claim.nodes) owner_[node] = ir::kNone;
  }
  for (const uint32_t group : again) {
    const Claim& claim = accepted_[group].claim;
    for (const ir::NodeId node : claim.nodes) owner_[node] = group;
    if (!cycles()[group]) continue;
    // A claim that is on a cycle with all other nodes separate is not convex.
    std::vector<uint32_t> alone(graph_.node_limit());
    for (const ir::NodeId id : order_) alone[id] = position_[id] + 1;
    for (const ir::NodeId node : claim.nodes) alone[node] = 0;
    const auto points = static_cast<uint32_t>(order_.size() + 1);
    const bool convex = !PointGraph(graph_, order_, alone, points).on_cycles()[0];
    const ProviderIndex provider = accepted_[group].provider;
    release(group);
    refuse(provider, claim,
           convex ? "R26: the claim would form a cycle with accepted claims"
                  : "R25: the claim is not convex: a node outside of it lies between two of its nodes");
  }
}

Status Partitioner::offer(ProviderIndex provider, std::vector<Claim> claims,
                          std::vector<Rejection> rejections) {
  for (Rejection& rejection : rejections) {
    if (!graph_.has_node(rejection.node)) {
      return internal_error("a rejection names node number ", rejection.node, ", which does not exist");
    }
    if (!taken(provider, rejection.node)) {
      decline(rejection.node, provider, rejection.code, std::move(rejection.text));
    }
  }
  std::vector<uint32_t> accepted;
  bool composed = false;
  for (Claim& claim : claims) {
    if (const std::string rule = broken_rule(provider, claim); !rule.empty()) {
      refuse(provider, claim, rule);
      continue;
    }
    composed |= claim.nodes.size() > 1;
    accepted.push_back(accept(provider, std::move(claim)));
  }
  if (composed) settle(accepted);
  return ok_status();
}

std::vector<ir::NodeId> Partitioner::open_nodes() const {
  std::vector<ir::NodeId> out;
  for (const ir::NodeId id : order_) {
    if (owner_[id] == ir::kNone && !control_flow_[id]) out.push_back(id);
  }
  return out;
}

std::vector<Claim> Partitioner::accepted_of(ProviderIndex provider) const {
  std::vector<Claim> out;
  for (const Accepted& each : accepted_) {
    if (each.provider == provider) out.push_back(each.claim);
  }
  return out;
}

const std::vector<Decline>& Partitioner::declines(ir::NodeId node) const { return declines_[node]; }

Part Partitioner::make_part(ProviderIndex provider, Claim claim) const {
  Part part;
  part.provider = provider;
  const std::unordered_set<ir::NodeId> inside(claim.nodes.begin(), claim.nodes.end());
  std::unordered_set<ir::ValueId> seen;
  const auto use = [&](ir::ValueId id) {
    if (id == ir::kNone) return;
    const ir::Value& value = graph_.value(id);
    const bool made_inside = value.producer != ir::kNone && inside.count(value.producer) != 0;
    if (value.is_constant() || made_inside || !seen.insert(id).second) return;
    part.inputs.push_back(id);
  };
  for (const ir::NodeId id : claim.nodes) {
    const ir::Node& node = graph_.node(id);
    for (const ir::ValueId input : node.inputs) use(input);
    for (const ir::Attribute& attribute : node.attributes) {
      for (const ir::GraphBox& body : attribute.graphs) {
        for (const ir::Capture& capture : body->captures()) use(capture.outer);
      }
    }
    for (const ir::ValueId output : node.outputs) {
      if (output == ir::kNone) continue;
      const ir::Value& value = graph_.value(output);
      // Providers leave out outputs that nobody uses, but they always write the first one: it needs memory.
      const bool is_first = output == node.outputs[0] && value.uses.empty();
      const bool leaves = is_first || value.output_count != 0 ||
                          std::any_of(value.uses.begin(), value.uses.end(),
                                      [&](const ir::Use& u) { return inside.count(u.node) == 0; });
      if (leaves) part.outputs.push_back(output);
    }
  }
  part.claim = std::move(claim);
  return part;
}

Status Partitioner::nobody_runs(ir::NodeId id,
                                const std::function<std::string(ProviderIndex)>& provider_name) const {
  const ir::Node& node = graph_.node(id);
  std::string text =
      str_cat("no provider runs operator ", node.domain.empty() ? "" : node.domain + ".", node.op_type);
  if (node.since_version != 0) text += str_cat(" (version ", node.since_version, ")");
  const char* separator = ": ";
  for (const Decline& decline : declines_[id]) {
    text += str_cat(separator, provider_name(decline.provider), ": ",
                    decline.text.empty() ? std::string(reject_code_name(decline.code)) : decline.text);
    separator = "; ";
  }
  if (declines_[id].empty()) text += ": no provider was asked";
  const size_t others = open_nodes().size() - 1;
  if (others != 0)
    text += str_cat(". ", others, others == 1 ? " more node has" : " more nodes have", " no provider");
  return unsupported(text).with_context(node.label());
}

Result<Partition> Partitioner::finish(const std::function<std::string(ProviderIndex)>& provider_name) const {
  const std::vector<ir::NodeId> open = open_nodes();
  if (!open.empty()) return nobody_runs(open.front(), provider_name);

  const Groups groups(*this);
  std::vector<uint32_t> priority(groups.count(), static_cast<uint32_t>(order_.size()));
  std::vector<ir::NodeId> first(groups.count(), ir::kNone);
  for (const ir::NodeId id : order_) {
    const uint32_t point = groups.point_of()[id];
    if (first[point] != ir::kNone) continue;
    first[point] = id;
    priority[point] = position_[id];
  }
  const PointGraph points(graph_, order_, groups.point_of(), groups.count());
  const std::vector<uint32_t> sorted = points.sorted(priority);
  if (sorted.size() != groups.count()) return internal_error("the parts of the graph form a cycle");

  Partition out;
  out.decisions.resize(graph_.node_limit());
  for (const uint32_t point : sorted) {
    if (first[point] == ir::kNone) continue;  // a released claim
    const bool claimed = point < accepted_.size();
    Claim alone;
    alone.nodes = {first[point]};
    out.parts.push_back(claimed ? make_part(accepted_[point].provider, accepted_[point].claim)
                                : make_part(kNoProvider, std::move(alone)));
    for (const ir::NodeId id : out.parts.back().claim.nodes) {
      out.decisions[id] = {out.parts.back().provider, !claimed, declines_[id]};
    }
  }
  return out;
}

}  // namespace tenon::partition
