#include "host/compile/times_keys.h"

#include "host/device/hasher.h"

namespace tenon::runtime {
namespace {

constexpr char kHost = '.', kFirst = '0', kLast = '~';  // of an assignment's name
constexpr char kBetween = ':';                          // the parts of a way's name

void add_work(Hasher& hash, const ir::Graph& graph, const ir::Node& node) {
  hash.text(node.domain);
  hash.text(node.op_type);
  hash.number(static_cast<uint64_t>(node.since_version));
  hash.number(node.attributes.size());
  for (const ir::Attribute& attribute : node.attributes) {
    hash.plain_values(attribute);
    hash.number(attribute.tensors.size());
    for (const ir::TensorPtr& tensor : attribute.tensors) {
      hash.number(static_cast<uint32_t>(tensor->type()));
      hash.numbers(std::span<const int64_t>(tensor->dims()));
    }
  }
  for (const auto* values : {&node.inputs, &node.outputs}) {
    hash.number(values->size());
    for (const ir::ValueId id : *values) {
      hash.number(id == ir::kNone ? 0 : graph.value(id).is_constant() ? 1 : 2);
      if (id != ir::kNone) hash.type(graph.value(id).type);
    }
  }
}

std::string name_of(Hasher& hash) {
  constexpr size_t kDigits = 32;
  return hex_of(hash.digest()).substr(0, kDigits);
}

void add_instance(const Instance& instance, std::string* key) {
  const provider::LoadedProvider& provider = *instance.device().provider();
  const provider::DeviceInfo& device = instance.device().info();
  const InstanceSettings& settings = instance.settings();
  for (const std::string& part :
       {provider.id(), provider.manifest().version.to_string(), provider.build_id(),
        provider.library_sha256(), device.selector(), device.stable_id, device.name, device.driver_version})
    *key += part + '\n';
  for (const std::string& feature : device.features) *key += feature + ' ';
  *key += str_cat("precision=", static_cast<int>(settings.precision),
                  settings.deterministic ? " deterministic" : "", settings.strict ? " strict\n" : "\n");
  for (const config::OptionSetting& option : instance.options())
    *key += str_cat(option.name, "=", option.value.to_toml(), "\n");
}

}  // namespace

std::string name_of_work(const ir::Graph& graph, const ir::Node& node) {
  Hasher hash("work of a node 1");
  add_work(hash, graph, node);
  return name_of(hash);
}

std::string name_of_graph(const ir::Graph& graph, std::span<const ir::NodeId> order) {
  Hasher hash("work of a graph 1");
  std::vector<size_t> number(graph.value_limit(), 0);  // by value, from 1; 0: from outside of the graph
  size_t next = 0;
  const auto add_value = [&](ir::ValueId id) {
    if (id == ir::kNone) return hash.number(0);
    if (number[id] == 0) number[id] = ++next;
    hash.number(number[id]);
  };
  for (const ir::NodeId id : order) {
    const ir::Node& node = graph.node(id);
    add_work(hash, graph, node);
    for (const ir::ValueId input : node.inputs) add_value(input);
    for (const ir::ValueId output : node.outputs) add_value(output);
  }
  for (const ir::ValueId output : graph.outputs()) add_value(output);
  return name_of(hash);
}

std::string key_of_instance(const Instance& instance, uint32_t threads) {
  std::string key = str_cat("times of nodes\nthreads=", threads, "\n");
  add_instance(instance, &key);
  return key;
}

std::string key_of_graph(std::string_view name, uint32_t threads) {
  return str_cat("times of a graph\n", name, "\nthreads=", threads, "\n");
}

std::string name_of_instances(std::span<const std::shared_ptr<Instance>> instances) {
  std::string all;
  for (const std::shared_ptr<Instance>& instance : instances) add_instance(*instance, &all);
  Hasher hash("instances 1");
  hash.text(all);
  return name_of(hash);
}

std::string WayName::text() const {
  std::string name = str_cat(instances, kBetween, graph, kBetween);
  for (const partition::ProviderIndex provider : assignment) {
    if (provider != partition::kNoProvider && provider > partition::ProviderIndex{kLast - kFirst}) return {};
    name += provider == partition::kNoProvider ? kHost : static_cast<char>(kFirst + provider);
  }
  return name;
}

std::optional<WayName> WayName::parse(std::string_view text) {
  const size_t first = text.find(kBetween);
  const size_t second = first == text.npos ? first : text.find(kBetween, first + 1);
  if (second == text.npos) return std::nullopt;
  WayName out{
      std::string(text.substr(0, first)), std::string(text.substr(first + 1, second - first - 1)), {}};
  for (const char each : text.substr(second + 1)) {
    if (each != kHost && (each < kFirst || each > kLast)) return std::nullopt;
    out.assignment.push_back(each == kHost ? partition::kNoProvider
                                           : static_cast<partition::ProviderIndex>(each - kFirst));
  }
  return out;
}

Assignment assignment_of(const partition::Partition& partition, std::span<const ir::NodeId> order) {
  Assignment out;
  for (const ir::NodeId id : order) out.push_back(partition.decisions[id].provider);
  return out;
}

}  // namespace tenon::runtime
