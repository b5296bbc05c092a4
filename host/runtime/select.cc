#include "host/runtime/select.h"

#include <algorithm>
#include <utility>

#include "host/config/options.h"

namespace tenon::runtime {
namespace {

using provider::DeviceInfo;
using provider::LoadedProvider;

Status only_emulated(const std::string& id) {
  return not_found("provider '", id,
                   "' has only software-emulated devices; name it in select.order to use them");
}

/// Which devices an entry stands for: the one it names; those of `provider.<id>.devices`; or else the
/// provider's first one, an emulated one only when there is no other and the provider was asked for by name.
Result<std::vector<std::string>> choose_devices(LoadedProvider& loaded, std::string_view named,
                                                const config::ProviderSettings& settings, bool automatic) {
  if (!named.empty()) return std::vector<std::string>{std::string(named)};
  if (!settings.devices.empty()) return settings.devices;
  ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, loaded.devices());
  for (const DeviceInfo& device : devices) {
    if (!device.software_emulated) return std::vector<std::string>{device.selector()};
  }
  if (devices.empty()) return not_found("provider '", loaded.id(), "' finds no device on this machine");
  if (automatic) return only_emulated(loaded.id());
  return std::vector<std::string>{devices.front().selector()};
}

InstanceSettings instance_settings(const config::Settings& settings, const DeviceInfo& device) {
  InstanceSettings out;
  out.precision = settings.precision;
  out.memory_limit =
      device.kind == TENON_DEVICE_CPU ? settings.memory.host_limit : settings.memory.device_limit;
  return out;
}

std::string rule_text(const config::PlacementRule& rule) {
  return rule.where.empty() ? "a placement rule" : str_cat("the placement rule at ", rule.where);
}

class Selector {
 public:
  Selector(const config::Config& config, provider::ProviderRegistry& registry)
      : config_(config), registry_(registry), select_(config.settings().select) {}

  Result<Selection> run() {
    registry_.rescan();
    const std::vector<std::string> entries = select_.automatic ? registry_.ids(true) : select_.order;
    for (const std::string& entry : entries) {
      Status status = add(entry);
      if (status.ok()) continue;
      status = std::move(status).with_context(str_cat("provider '", entry, "'"));
      if (!select_.automatic && select_.fallback == config::Fallback::kError) return status;
      out_.skipped.push_back({entry, std::move(status)});
    }
    if (out_.instances.empty()) return nothing_left();
    return std::move(out_);
  }

 private:
  Status add(const std::string& entry) {
    const std::string id(config::provider_of(entry));
    const config::ProviderSettings& settings = config_.provider(id);
    if (settings.isolation == config::Isolation::kProcess) {
      return unsupported("provider.", id,
                         ".isolation = \"process\" is not available in this version; set it to \"inproc\"");
    }
    if (select_.automatic && settings.devices.empty() && config::device_of(entry).empty())
      RETURN_IF_ERROR(check_scanned(id));
    ASSIGN_OR_RETURN(const std::shared_ptr<LoadedProvider> loaded, registry_.load(id));
    ASSIGN_OR_RETURN(const auto options,
                     config::validate_options(id, loaded->manifest().options, settings.options));
    ASSIGN_OR_RETURN(const std::vector<std::string> devices,
                     choose_devices(*loaded, config::device_of(entry), settings, select_.automatic));
    std::vector<std::shared_ptr<Instance>> made;
    for (const std::string& selector : devices) {
      ASSIGN_OR_RETURN(std::shared_ptr<Device> device, Device::open(loaded, selector));
      const InstanceSettings wanted = instance_settings(config_.settings(), device->info());
      ASSIGN_OR_RETURN(std::shared_ptr<Instance> instance,
                       Instance::create(std::move(device), options, wanted));
      made.push_back(std::move(instance));
    }
    for (auto& instance : made) {
      out_.instances.push_back(std::move(instance));
      out_.entries.push_back(entry);
    }
    return ok_status();
  }

  /// What the scan saw is enough to leave out a provider that emulates its devices: it is not even loaded.
  Status check_scanned(const std::string& id) const {
    ASSIGN_OR_RETURN(const provider::ProviderInfo info, registry_.find(id, provider::CheckLevel::kScan));
    const bool emulated = std::all_of(info.devices.begin(), info.devices.end(),
                                      [](const DeviceInfo& device) { return device.software_emulated; });
    return emulated && !info.devices.empty() ? only_emulated(id) : ok_status();
  }

  Status nothing_left() const {
    for (const Skipped& skipped : out_.skipped) {  // the way out is another one than installing a provider
      if (skipped.reason.kind() == ErrorKind::kOutOfMemory) return skipped.reason;
    }
    std::string text = "no provider can be used";
    for (const Skipped& skipped : out_.skipped) text += str_cat("\n  ", skipped.reason.to_string());
    if (out_.skipped.empty()) text += ": none is installed; see `tenon providers list`";
    return Status(StatusCode::kNotFound, std::move(text), ErrorKind::kProviderMissing);
  }

  const config::Config& config_;
  provider::ProviderRegistry& registry_;
  const config::Select& select_;
  Selection out_;
};

}  // namespace

std::shared_ptr<Instance> Selection::completing() const {
  for (auto at = instances.rbegin(); at != instances.rend(); ++at) {
    if ((*at)->completes()) return *at;
  }
  return nullptr;
}

std::vector<partition::ProviderIndex> Selection::find(std::string_view name) const {
  std::vector<partition::ProviderIndex> out;
  const std::string_view id = config::provider_of(name), device = config::device_of(name);
  for (uint32_t i = 0; i < instances.size(); ++i) {
    if (instances[i]->provider_id() != id) continue;
    const DeviceInfo& info = instances[i]->device().info();
    const bool is_kind = device == provider::device_kind_name(info.kind) && info.ordinal == 0;
    if (device.empty() || device == info.selector() || device == info.stable_id || is_kind) out.push_back(i);
  }
  return out;
}

Result<Selection> select_instances(const config::Config& config, provider::ProviderRegistry& registry) {
  return Selector(config, registry).run();
}

Placement::Placement(const config::Config& config, const Selection& selection, std::string model)
    : model_(std::move(model)) {
  for (const auto& instance : selection.instances) names_.push_back(instance->id());
  for (const config::PlacementRule& rule : config.settings().placement) {
    rules_.push_back({rule, std::vector<bool>(names_.size(), false)});
    for (const partition::ProviderIndex i : selection.find(rule.provider)) rules_.back().allowed[i] = true;
  }
}

const Placement::Rule* Placement::rule_for(const ir::Node& node) const {
  for (const Rule& rule : rules_) {
    if (rule.rule.matches(node.domain, node.op_type, node.name, model_)) return &rule;
  }
  return nullptr;
}

void Placement::apply(const ir::Graph& graph, partition::Partitioner& partitioner) const {
  if (rules_.empty()) return;
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    const Rule* rule = graph.has_node(id) ? rule_for(graph.node(id)) : nullptr;
    if (rule == nullptr) continue;
    const bool anybody = std::find(rule->allowed.begin(), rule->allowed.end(), true) != rule->allowed.end();
    if (!anybody && !rule->rule.required) continue;  // names a provider that this session does not use
    for (uint32_t i = 0; i < names_.size(); ++i) {
      if (rule->allowed[i]) continue;
      partitioner.bar(i, id, partition::RejectCode::kPlacement,
                      str_cat(rule_text(rule->rule), " gives the node to '", rule->rule.provider, "'"));
    }
  }
}

bool Placement::relax(const ir::Graph& graph, partition::Partitioner& partitioner) const {
  bool relaxed = false;
  if (rules_.empty()) return relaxed;
  for (const ir::NodeId id : partitioner.open_nodes()) {
    const Rule* rule = rule_for(graph.node(id));
    if (rule == nullptr || rule->rule.required) continue;
    for (uint32_t i = 0; i < names_.size(); ++i)
      relaxed |= partitioner.unbar(i, id, partition::RejectCode::kPlacement);
  }
  return relaxed;
}

Status Placement::check(const ir::Graph& graph, const partition::Partition& partition) const {
  for (ir::NodeId id = 0; id < graph.node_limit() && !rules_.empty(); ++id) {
    if (!graph.has_node(id) || partition.decisions[id].control_flow) continue;
    const Rule* rule = rule_for(graph.node(id));
    if (rule == nullptr || !rule->rule.required) continue;
    const partition::Decision& decision = partition.decisions[id];
    if (decision.provider < names_.size() && rule->allowed[decision.provider]) continue;
    return not_placed(*rule, graph.node(id), decision.declines);
  }
  return ok_status();
}

Status Placement::check_open(const ir::Graph& graph, const partition::Partitioner& partitioner,
                             const std::function<bool(const ir::Node&)>& can_expand) const {
  if (rules_.empty()) return ok_status();
  for (const ir::NodeId id : partitioner.open_nodes()) {
    const Rule* rule = rule_for(graph.node(id));
    if (rule == nullptr || !rule->rule.required) continue;
    const bool covers_what_is_in_it =
        rule->rule.ops.empty() && rule->rule.matches("", "", graph.node(id).name + "/inner", model_);
    if (covers_what_is_in_it && can_expand && can_expand(graph.node(id))) continue;
    return not_placed(*rule, graph.node(id), partitioner.declines(id));
  }
  return ok_status();
}

Status Placement::not_placed(const Rule& rule, const ir::Node& node,
                             const std::vector<partition::Decline>& declines) const {
  std::string why;
  for (const partition::Decline& decline : declines) {
    if (decline.provider < names_.size() && rule.allowed[decline.provider]) why = decline.text;
  }
  if (why.empty()) why = "it is not among the providers of this session; name it in select.order";
  return unsupported(rule_text(rule.rule), " requires provider '", rule.rule.provider,
                     "', which does not run the node: ", why)
      .with_context(node.label());
}

}  // namespace tenon::runtime
