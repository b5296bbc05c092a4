#include "host/compile/times_keys.h"

#include <type_traits>

#include "host/base/sha256.h"

namespace tenon::runtime {
namespace {

constexpr char kHost = '.', kFirst = '0', kLast = '~';  // of an assignment's name

class Hasher {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T number) { hash_.add(&number, sizeof number); }
  void add(std::string_view text) {
    add(text.size());
    hash_.add(text);
  }
  template <class T>
  void add(const std::vector<T>& all) {
    add(all.size());
    for (const T& each : all) add(each);
  }
  void add(const ir::Type& type) {
    add(static_cast<uint32_t>(type.kind));
    add(static_cast<uint32_t>(type.element));
    add(type.shape.has_rank);
    add(type.shape.dims.size());
    for (const ir::Dim& dim : type.shape.dims) add(dim.known() ? dim.value : int64_t{-1});
    add(type.inner != nullptr);
    if (type.inner != nullptr) add(*type.inner);
  }
  void add(const ir::TensorPtr& tensor) {
    add(static_cast<uint32_t>(tensor->type()));
    add(std::vector<int64_t>(tensor->dims().begin(), tensor->dims().end()));
  }
  void add(const ir::Attribute& attribute) {
    add(std::string_view(attribute.name));
    add(static_cast<uint32_t>(attribute.type));
    add(attribute.i);
    add(attribute.f);
    add(std::string_view(attribute.s));
    add(attribute.ints);
    add(attribute.floats);
    add(attribute.strings.size());
    for (const std::string& text : attribute.strings) add(std::string_view(text));
    add(attribute.tensors);
    add(attribute.graphs.size());
  }
  void add(const ir::Graph& graph, const ir::Node& node) {
    add(std::string_view(node.domain));
    add(std::string_view(node.op_type));
    add(node.since_version);
    add(node.attributes);
    for (const auto* values : {&node.inputs, &node.outputs}) {
      add(values->size());
      for (const ir::ValueId id : *values) {
        add(id != ir::kNone);
        if (id == ir::kNone) continue;
        add(graph.value(id).type);
        add(graph.value(id).is_constant());
      }
    }
  }
  std::string name() {
    constexpr size_t kDigits = 32;
    return hex_of(hash_.digest()).substr(0, kDigits);
  }

 private:
  Sha256 hash_;
};

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
                  settings.deterministic ? " deterministic\n" : "\n");
  for (const config::OptionSetting& option : instance.options())
    *key += str_cat(option.name, "=", option.value.to_toml(), "\n");
}

}  // namespace

std::string name_of_work(const ir::Graph& graph, const ir::Node& node) {
  Hasher hash;
  hash.add(graph, node);
  return hash.name();
}

std::string name_of_graph(const ir::Graph& graph, std::span<const ir::NodeId> order) {
  Hasher hash;
  std::vector<size_t> number(graph.value_limit(), 0);  // by value, from 1; 0: from outside of the graph
  size_t next = 0;
  const auto add_value = [&](ir::ValueId id) {
    if (id == ir::kNone) return hash.add(size_t{0});
    if (number[id] == 0) number[id] = ++next;
    hash.add(number[id]);
  };
  for (const ir::NodeId id : order) {
    const ir::Node& node = graph.node(id);
    hash.add(graph, node);
    for (const ir::ValueId input : node.inputs) add_value(input);
    for (const ir::ValueId output : node.outputs) add_value(output);
  }
  for (const ir::ValueId output : graph.outputs()) add_value(output);
  return hash.name();
}

std::string key_of_instance(const Instance& instance, uint32_t threads) {
  std::string key = str_cat("times of nodes\nthreads=", threads, "\n");
  add_instance(instance, &key);
  return key;
}

std::string key_of_graph(std::string_view name, std::span<const std::shared_ptr<Instance>> instances,
                         uint32_t threads) {
  std::string key = str_cat("times of a graph\n", name, "\nthreads=", threads, "\n");
  for (const std::shared_ptr<Instance>& instance : instances) add_instance(*instance, &key);
  return key;
}

std::string name_of(const Assignment& assignment) {
  std::string name;
  for (const partition::ProviderIndex provider : assignment) {
    if (provider != partition::kNoProvider && provider > partition::ProviderIndex{kLast - kFirst}) return {};
    name += provider == partition::kNoProvider ? kHost : static_cast<char>(kFirst + provider);
  }
  return name;
}

Assignment assignment_of(std::string_view name, size_t count, size_t providers) {
  if (name.size() != count) return {};
  Assignment out;
  for (const char each : name) {
    const bool known = each >= kFirst && each <= kLast && static_cast<size_t>(each - kFirst) < providers;
    if (!known && each != kHost) return {};
    out.push_back(known ? static_cast<partition::ProviderIndex>(each - kFirst) : partition::kNoProvider);
  }
  return out;
}

Assignment assignment_of(const partition::Partition& partition, std::span<const ir::NodeId> order) {
  Assignment out;
  for (const ir::NodeId id : order) out.push_back(partition.decisions[id].provider);
  return out;
}

}  // namespace tenon::runtime
