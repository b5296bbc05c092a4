#include <map>
#include <set>

#include "host/session/describe.h"

namespace tenon::session {
namespace {

using runtime::CompiledPart;
using runtime::Executable;
using runtime::MemoryDomain;

std::string domain_name(const MemoryDomain& domain) {
  if (domain.is_host()) return "host";
  return domain.device->provider()->id() + "/" + domain.device->info().selector() + ":" + domain.name;
}

/// Describes an executable and the bodies in it.
class Explainer {
 public:
  Explainer(const Session& session, const Assembly& assembly)
      : session_(session), assembly_(assembly), selection_(assembly.selection) {}

  void add(const Executable& executable) {
    std::map<ir::NodeId, size_t> part_of;
    const size_t first_part = part_count_;
    for (size_t p = 0; p < executable.parts.size(); ++p) {
      for (ir::NodeId id : executable.parts[p].nodes) part_of[id] = first_part + p;
    }
    for (const partition::Candidate& candidate : executable.partition.candidates)
      add_candidate(executable, candidate);
    for (const CompiledPart& part : executable.parts) {
      add_part(executable, part);
      for (ir::NodeId id : part.nodes) add_node(executable, id, part_of[id]);
    }
    add_copies(executable);
    add_state(executable);
    for (const CompiledPart& part : executable.parts) {
      for (const runtime::Body& body : part.bodies) add(*body.executable);
    }
  }

  Json finish() {
    Json out;
    out["model"] = session_.name();
    out["instances"] = Json::array();
    for (const auto& instance : selection_.instances) out["instances"].push_back(instance->id());
    out["providers"] = Json::array();
    for (const auto& instance : selection_.instances) {
      const provider::LoadedProvider& provider = *instance->device().provider();
      out["providers"].push_back({{"instance", instance->id()},
                                  {"provider", provider.id()},
                                  {"version", provider.manifest().version.to_string()},
                                  {"library", provider.library_path()}});
    }
    out["unopened"] = selection_.unopened;
    out["passed_over"] = Json::array();
    for (const provider::PassedOver& each : selection_.passed_over) {
      out["passed_over"].push_back({{"provider", each.provider},
                                    {"version", each.version},
                                    {"code", each.code},
                                    {"reason", each.reason},
                                    {"cure", each.cure},
                                    {"instead", each.instead}});
    }
    out["fallbacks"] = Json::array();
    for (const Fallback& fallback : assembly_.fallbacks) {
      out["fallbacks"].push_back({{"point", fallback.point},
                                  {"provider", fallback.provider},
                                  {"policy", fallback.policy},
                                  {"text", fallback.text}});
    }
    out["warnings"] = assembly_.warnings;
    out["candidates"] = std::move(candidates_);
    out["nodes"] = std::move(nodes_);
    out["parts"] = std::move(parts_);
    out["copies"] = std::move(copies_);
    out["state"] = std::move(state_);
    out["reference"] = reference_;
    return out;
  }

 private:
  /// Times are in milliseconds for one Run.
  void add_candidate(const Executable& executable, const partition::Candidate& candidate) {
    constexpr double kMillisecond = 1e9;
    Json entry{{"graph", executable.name}, {"name", candidate.name}};
    if (candidate.estimate_ps != 0)
      entry["estimate_ms"] = static_cast<double>(candidate.estimate_ps) / kMillisecond;
    if (candidate.measured_ps != 0)
      entry["measured_ms"] = static_cast<double>(candidate.measured_ps) / kMillisecond;
    entry["chosen"] = candidate.chosen;
    candidates_.push_back(std::move(entry));
  }

  void add_node(const Executable& executable, ir::NodeId id, size_t part) {
    const ir::Node& node = executable.graph().node(id);
    const partition::Decision& decision = executable.partition.decisions[id];
    Json entry;
    entry["name"] = node.name;
    entry["op"] = node.op_type;
    entry["domain"] = node.domain;
    entry["graph"] = executable.name;
    const bool is_host = decision.provider == partition::kNoProvider;
    entry["provider"] = is_host ? "host" : selection_.instances[decision.provider]->provider_id();
    entry["instance"] = is_host ? "host" : selection_.instances[decision.provider]->id();
    entry["part"] = part;
    entry["outputs"] = names(executable, node.outputs);
    entry["stands_for"] = Json::array();
    add_parts_of(node, &entry["stands_for"]);
    entry["declines"] = Json::array();
    for (const partition::Decline& decline : decision.declines) {
      entry["declines"].push_back({{"provider", selection_.instances[decline.provider]->id()},
                                   {"code", partition::reject_code_name(decline.code)},
                                   {"text", decline.text}});
    }
    nodes_.push_back(std::move(entry));
  }

  /// Adds the names of the model's nodes in whose place a transform put this one.
  static void add_parts_of(const ir::Node& node, Json* list) {
    if (node.parts == nullptr) return;
    const ir::Graph& body = node.parts->body;
    for (ir::NodeId id = 0; id < body.node_limit(); ++id) {
      const ir::Node& part = body.node(id);
      if (part.parts == nullptr && !transform::is_view(node, part)) list->push_back(part.name);
      add_parts_of(part, list);
    }
  }

  void add_part(const Executable& executable, const CompiledPart& part) {
    Json entry;
    entry["index"] = part_count_++;
    entry["label"] = part.label;
    entry["graph"] = executable.name;
    entry["instance"] = part.instance == nullptr ? "host" : part.instance->id();
    entry["nodes"] = part.nodes.size();
    entry["static_shapes"] = part.claim.static_shapes;
    entry["emulated"] = part.claim.emulated;
    add_cost(part.claim.cost, &entry);
    entry["inputs"] = names(executable, part.inputs);
    entry["outputs"] = names(executable, part.outputs);
    parts_.push_back(std::move(entry));
    reference_ = reference_ && (part.instance == nullptr || part.instance->completes());
  }

  /// Adds the provider's cost estimates; a provider may give none.
  static void add_cost(const partition::Cost& cost, Json* entry) {
    const std::pair<const char*, double> values[] = {{"flops", cost.flops},
                                                     {"bytes", cost.bytes},
                                                     {"launch_ns", cost.launch_ns},
                                                     {"time_ns", cost.time_ns}};
    for (const auto& [name, value] : values) {
      if (value != 0) (*entry)["cost"][name] = value;
    }
  }

  static Json names(const Executable& executable, const std::vector<ir::ValueId>& values) {
    Json list = Json::array();
    for (ir::ValueId v : values) list.push_back(v == ir::kNone ? "" : executable.graph().value(v).name);
    return list;
  }

  /// Lists the copies between memory domains: each value once per domain.
  void add_copies(const Executable& executable) {
    std::map<ir::ValueId, const MemoryDomain*> home;
    std::set<std::pair<ir::ValueId, const MemoryDomain*>> there;
    // `in_place`: the reader also reads memory of a device that has an address for the host.
    const auto need = [&](ir::ValueId v, const MemoryDomain* domain, bool in_place) {
      if (v == ir::kNone || executable.graph().value(v).is_constant()) return;
      const auto at = home.find(v);
      const MemoryDomain* from = at == home.end() ? &runtime::host_domain() : at->second;
      if (in_place && domain->is_host() && from->host_can_access()) return;
      if (from != domain && there.emplace(v, domain).second)
        add_copy(executable.graph().value(v), *from, *domain);
    };
    for (const runtime::StatePair& pair : executable.state_pairs)
      home[executable.inputs()[pair.input]] = pair.domain;
    for (const CompiledPart& part : executable.parts) {
      const bool in_place = !part.is_control_flow() && !part.is_asynchronous();
      for (size_t i = 0; i < part.inputs.size(); ++i) need(part.inputs[i], part.input_domains[i], in_place);
      for (size_t o = 0; o < part.outputs.size(); ++o) home[part.outputs[o]] = part.output_domains[o];
    }
    for (const runtime::StatePair& pair : executable.state_pairs)
      need(executable.outputs()[pair.output], pair.domain, false);
    for (uint32_t o = 0; o < executable.outputs().size(); ++o) {
      if (!executable.is_state_output(o)) need(executable.outputs()[o], &runtime::host_domain(), false);
    }
  }

  void add_state(const Executable& executable) {
    for (const runtime::StatePair& pair : executable.state_pairs) {
      state_.push_back({{"input", executable.graph().value(executable.inputs()[pair.input]).name},
                        {"output", executable.graph().value(executable.outputs()[pair.output]).name},
                        {"memory", domain_name(*pair.domain)}});
    }
  }

  void add_copy(const ir::Value& value, const MemoryDomain& from, const MemoryDomain& to) {
    Json entry = {{"value", value.name}, {"from", domain_name(from)}, {"to", domain_name(to)}};
    int64_t bytes = 0;
    const bool known = value.type.is_tensor() && value.type.shape.is_static() &&
                       ir::packed_bytes(value.type.element, value.type.shape.element_count(), &bytes);
    if (known) entry["bytes"] = bytes;
    copies_.push_back(std::move(entry));
  }

  const Session& session_;
  const Assembly& assembly_;
  const runtime::Selection& selection_;
  Json candidates_ = Json::array(), nodes_ = Json::array(), parts_ = Json::array(), copies_ = Json::array(),
       state_ = Json::array();
  size_t part_count_ = 0;  // of parts_
  bool reference_ = true;  // all parts so far run on a provider that completes models, or on the host
};

}  // namespace

Json explain(const Session& session) {
  const std::shared_ptr<const Assembly> assembly = session.assembly();
  Explainer explainer(session, *assembly);
  explainer.add(*assembly->executable);
  return explainer.finish();
}

}  // namespace tenon::session
