#include "host/config/schema.h"

#include "host/base/text.h"
#include "host/config/words.h"

namespace tenon::config {
namespace {

/// The enumerator of a value that was already checked against the enum's words.
template <class Enum>
Enum choose(const Value& value) {
  return static_cast<Enum>(to_choice(kWords<Enum>, value));
}

std::map<std::string, std::vector<std::vector<int64_t>>> to_input(const Value& value) {
  auto shapes_of = [](const Value& list) {
    std::vector<std::vector<int64_t>> shapes;
    for (const Value& shape : *list.as_array()) {
      std::vector<int64_t> dims;
      for (const Value& dim : *shape.as_array()) dims.push_back(*dim.as_int());
      shapes.push_back(std::move(dims));
    }
    return shapes;
  };
  std::map<std::string, std::vector<std::vector<int64_t>>> out;
  if (value.as_array()) out[""] = shapes_of(value);
  if (const Table* table = value.as_table()) {
    for (const auto& [name, shapes] : *table) out[name] = shapes_of(shapes);
  }
  return out;
}

// Short names keep the table readable.
using S = Settings;
using V = Value;
using Id = std::string_view;
using K = KeyKind;

const KeySpec kSchema[] = {
    {"discovery.search",
     K::kStrings,
     "[]",
     {},
     0,
     0,
     "Absolute paths of folders with provider manifests, in addition to the built-in places.",
     [](S& s, Id, const V& v) { s.discovery.search = to_strings(v); }},
    {"discovery.allow",
     K::kStrings,
     "[\"*\"]",
     {},
     0,
     0,
     "Globs on provider ids; a provider that matches none is not used. Environment: TENON_PROVIDERS_SELECT.",
     [](S& s, Id, const V& v) { s.discovery.allow = to_strings(v); }},
    {"discovery.deny",
     K::kStrings,
     "[]",
     {},
     0,
     0,
     "Globs on provider ids that are never used; stronger than allow. Environment: TENON_PROVIDERS_DISABLE.",
     [](S& s, Id, const V& v) { s.discovery.deny = to_strings(v); }},
    {"discovery.trust", K::kEnum, "\"hash\"", kWords<Trust>, 0, 0,
     "What is checked of a library. \"none\": nothing; \"owner\": that only its owner or root can change "
     "it; \"hash\": also that it is the file that its manifest describes. \"signature\" is refused.",
     [](S& s, Id, const V& v) { s.discovery.trust = choose<Trust>(v); }},
    {"discovery.scan", K::kEnum, "\"on\"", kWords<Scan>, 0, 0,
     "Scan each library in a separate process before loading it.",
     [](S& s, Id, const V& v) { s.discovery.scan = choose<Scan>(v); }},
    {"discovery.scan_timeout",
     K::kFloat,
     "20.0",
     {},
     0.1,
     600,
     "Seconds that the scan of one library may take.",
     [](S& s, Id, const V& v) { s.discovery.scan_timeout = to_number(v); }},
    {"discovery.user",
     K::kBool,
     "false",
     {},
     0,
     0,
     "Also look into $XDG_DATA_HOME/tenon/providers.d.",
     [](S& s, Id, const V& v) { s.discovery.user = *v.as_bool(); }},

    {"select.order",
     K::kOrder,
     "\"auto\"",
     {},
     0,
     0,
     "Providers to ask, in order, as \"id\" or \"id/device\"; nothing is appended. \"auto\": the "
     "providers of the installation and the system, by the priority in their manifests; those with a "
     "priority below 0 are left out.",
     [](S& s, Id, const V& v) {
       s.select.automatic = v.as_array() == nullptr;
       s.select.order = s.select.automatic ? std::vector<std::string>() : to_strings(v);
     }},
    {"select.fallback", K::kEnum, "\"error\"", kWords<OnFailure>, 0, 0,
     "What to do when a listed provider is missing or unusable.",
     [](S& s, Id, const V& v) { s.select.fallback = choose<OnFailure>(v); }},
    {"select.on_declined", K::kEnum, "\"next\"", kWords<OnFailure>, 0, 0,
     "What to do when a provider does not support a node.",
     [](S& s, Id, const V& v) { s.select.on_declined = choose<OnFailure>(v); }},
    {"select.on_compile_failed", K::kEnum, "\"next\"", kWords<OnFailure>, 0, 0,
     "What to do when a provider claims nodes and then fails to compile them.",
     [](S& s, Id, const V& v) { s.select.on_compile_failed = choose<OnFailure>(v); }},
    {"select.partition", K::kEnum, "\"measured\"", kWords<PartitionMode>, 0, 0,
     "How nodes are divided among the providers that claim them. \"measured\": in the way that took the "
     "least time when `tenon tune` or record_times measured the model on this machine; by the order of the "
     "providers if nothing did. \"order\": always by the order. \"cost\": as measured, else so that the "
     "times "
     "of nodes measured in other models, and estimates, promise the least time.",
     [](S& s, Id, const V& v) { s.select.partition = choose<PartitionMode>(v); }},
    {"select.record_times",
     K::kBool,
     "false",
     {},
     0,
     0,
     "Measures the Runs of the session, which makes them slower, and stores the times in the cache when it "
     "ends. Unless partition = \"order\" the session takes a way to divide the nodes that was not measured "
     "yet; "
     "`tenon tune` makes such sessions until all were.",
     [](S& s, Id, const V& v) { s.select.record_times = *v.as_bool(); }},

    {"provider.*.version",
     K::kRange,
     "",
     {},
     0,
     0,
     "Versions that may be used, such as \">=1.2, <2\"; default: the highest.",
     [](S& s, Id id, const V& v) { s.providers[std::string(id)].version = *v.as_string(); }},
    {"provider.*.devices",
     K::kStrings,
     "",
     {},
     0,
     0,
     "Devices that may be used, such as \"gpu:0\": each listed one is an instance, in that order. Default: "
     "the "
     "provider's first device that is not emulated.",
     [](S& s, Id id, const V& v) { s.providers[std::string(id)].devices = to_strings(v); }},
    {"provider.*.isolation", K::kEnum, "", kWords<Isolation>, 0, 0,
     "Where the provider runs: in this process. \"process\" is refused.", [](S&, Id, const V&) {}},
    {"provider.*.on_lost", K::kEnum, "", kWords<OnLost>, 0, 0,
     "What to do when a Run fails in the provider or its device is lost; default: next.",
     [](S& s, Id id, const V& v) { s.providers[std::string(id)].on_lost = choose<OnLost>(v); }},

    {"placement",
     K::kPlacement,
     "[]",
     {},
     0,
     0,
     "Rules { match = { op = [..], node = \"regex\", model = \"glob\" }, provider = \"id\", required = false "
     "}; the first "
     "match decides which provider a node goes to.",
     [](S& s, Id, const V& v) { s.placement = to_placement(v); }},

    {"shapes.keep",
     K::kInt,
     "8",
     {},
     1,
     1 << 20,
     "How many plans to keep, one for each set of input shapes, with what was compiled for it; the "
     "least recently used goes first.",
     [](S& s, Id, const V& v) { s.shapes.keep = *v.as_int(); }},
    {"shapes.input",
     K::kInput,
     "",
     {},
     0,
     0,
     "Sets of input shapes to prepare for at load: [[1,128], [8,128]] for the first input, or { a = "
     "[[1,128], "
     "[8,128]], b = [[1], [8]] }: the first shapes of all belong together, the second ones, and so on.",
     [](S& s, Id, const V& v) { s.shapes.input = to_input(v); }},

    {"state.pairs",
     K::kPairs,
     "[]",
     {},
     0,
     0,
     "Outputs of the model that are inputs of the next Run, such as \"past_*=present_*\" for a key-value "
     "cache: "
     "their "
     "values stay on the device, and the application neither gives nor gets them. Each side may hold one "
     "\"*\".",
     [](S& s, Id, const V& v) { s.state.pairs = to_strings(v); }},

    {"memory.host_limit",
     K::kSize,
     "0",
     {},
     0,
     0,
     "Largest host memory of a session, including outputs that are not yet released; 0 = the machine's "
     "memory.",
     [](S& s, Id, const V& v) { s.memory.host_limit = to_bytes(v); }},
    {"memory.device_limit",
     K::kSize,
     "0",
     {},
     0,
     0,
     "Largest memory of a session on each device; 0 = no limit.",
     [](S& s, Id, const V& v) { s.memory.device_limit = to_bytes(v); }},

    {"threads.count",
     K::kInt,
     "0",
     {},
     0,
     4096,
     "Threads that compute; 0 = the cores this process may use.",
     [](S& s, Id, const V& v) { s.threads.count = *v.as_int(); }},

    {"precision.default", K::kEnum, "\"exact\"", kWords<Precision>, 0, 0,
     "Which precision providers may use. \"exact\": the model's element types; \"fast\": also reduced "
     "precision inside a provider; \"bf16\" and \"fp16\": also float32 computed in that type, by providers "
     "and, for \"fp16\", between Casts.",
     [](S& s, Id, const V& v) { s.precision = choose<Precision>(v); }},
    {"precision.widen",
     K::kBool,
     "false",
     {},
     0,
     0,
     "A provider that declines float16 nodes for their element type may compute them in float32, "
     "between Casts.",
     [](S& s, Id, const V& v) { s.widen = *v.as_bool(); }},
    {"precision.strict",
     K::kBool,
     "false",
     {},
     0,
     0,
     "Convolutions and products are sums as ONNX defines them: without Winograd's filtering, which is faster "
     "but rounds more (the error of a network can double), and without activations of int8 where a "
     "MatMulNBits allows them (accuracy_level 4).",
     [](S& s, Id, const V& v) { s.strict = *v.as_bool(); }},
    {"precision.deterministic",
     K::kBool,
     "false",
     {},
     0,
     0,
     "The same bits for the same input in every Run, whatever threads.count is. Slower; only providers whose "
     "manifest promises it are used.",
     [](S& s, Id, const V& v) { s.deterministic = *v.as_bool(); }},

    {"limits.model_bytes",
     K::kSize,
     "\"8GiB\"",
     {},
     0,
     0,
     "Largest model, external data included; 0 = no limit.",
     [](S& s, Id, const V& v) { s.limits.model_bytes = to_bytes(v); }},
    {"limits.graph_depth",
     K::kInt,
     "32",
     {},
     1,
     1024,
     "Deepest nesting of graphs in a model.",
     [](S& s, Id, const V& v) { s.limits.graph_depth = static_cast<int32_t>(*v.as_int()); }},
    {"limits.nodes",
     K::kInt,
     "200000",
     {},
     1,
     1 << 30,
     "Most nodes of a model, nested graphs and expanded functions included; the other parts of its file are "
     "bounded in proportion.",
     [](S& s, Id, const V& v) { s.limits.nodes = *v.as_int(); }},
    {"limits.string_bytes",
     K::kSize,
     "\"4MiB\"",
     {},
     0,
     0,
     "Longest string that a model may make, in bytes; 0 = no limit.",
     [](S& s, Id, const V& v) { s.limits.string_bytes = to_bytes(v); }},
    {"limits.fold_bytes",
     K::kSize,
     "\"64MiB\"",
     {},
     0,
     0,
     "By how much constant folding may enlarge the constants of a model, in total.",
     [](S& s, Id, const V& v) { s.limits.fold_bytes = to_bytes(v); }},
    {"limits.cache_blob_bytes",
     K::kSize,
     "\"256MiB\"",
     {},
     0,
     0,
     "Largest blob, such as a compiled kernel, that a provider may keep in the cache on disk; 0 = no limit. "
     "A "
     "larger one is made again by each process.",
     [](S& s, Id, const V& v) { s.limits.cache_blob_bytes = to_bytes(v); }},
    {"limits.cache_bytes",
     K::kSize,
     "\"1GiB\"",
     {},
     0,
     0,
     "Largest size of the cache on disk, of all providers and processes of the user; the oldest blobs make "
     "room "
     "for new ones; 0 = no limit.",
     [](S& s, Id, const V& v) { s.limits.cache_bytes = to_bytes(v); }},
    {"limits.load_time",
     K::kFloat,
     "0.0",
     {},
     0,
     1e9,
     "Seconds that loading a model may take, until it is compiled and planned; 0 = no limit.",
     [](S& s, Id, const V& v) { s.limits.load_time = static_cast<float>(to_number(v)); }},
    {"limits.external_data", K::kEnum, "\"beneath-model\"", kWords<ExternalData>, 0, 0,
     "Whether a model may keep weights in other files, which must lie in its folder or below.",
     [](S& s, Id, const V& v) { s.limits.external_data = choose<ExternalData>(v); }},
    {"limits.map_weights",
     K::kBool,
     "true",
     {},
     0,
     0,
     "Map weights from the file instead of copying them; a mapped file must not be truncated while in use.",
     [](S& s, Id, const V& v) { s.limits.map_weights = *v.as_bool(); }},

    {"transforms.disable",
     K::kStrings,
     "[]",
     {},
     0,
     0,
     "Graph passes to switch off, by name or glob; \"*\" switches off all optional passes.",
     [](S& s, Id, const V& v) { s.transforms.disable = to_strings(v); }},

    {"upgrade.mode", K::kEnum, "\"next-session\"", kWords<UpgradeMode>, 0, 0,
     "When sessions use another installed version of a provider. \"next-session\": from the next session "
     "on; \"pin\": never in this process once a session with \"pin\" has loaded one. \"migrate\" is refused.",
     [](S& s, Id, const V& v) { s.upgrade = choose<UpgradeMode>(v); }},

    {"profiling.file",
     K::kString,
     "\"\"",
     {},
     0,
     0,
     "Where a trace in the Chrome format is written; {pid} becomes the process id; empty = none.",
     [](S& s, Id, const V& v) { s.profiling_file = *v.as_string(); }},
};

constexpr std::string_view kProvider = "provider.";

}  // namespace

std::span<const KeySpec> schema() { return kSchema; }

std::string_view provider_in_key(std::string_view key) {
  if (key.substr(0, kProvider.size()) != kProvider) return {};
  key.remove_prefix(kProvider.size());
  return key.substr(0, key.find('.'));
}

const KeySpec* find_key(std::string_view key) {
  std::string_view id = provider_in_key(key);
  std::string wanted(key);
  if (!id.empty()) wanted.replace(kProvider.size(), id.size(), "*");
  for (const KeySpec& spec : kSchema) {
    if (spec.key == wanted) return &spec;
  }
  return nullptr;
}

std::vector<std::string> names_below(std::string_view prefix) {
  std::string wanted(prefix);
  if (std::string_view id = provider_in_key(prefix); !id.empty())
    wanted.replace(kProvider.size(), id.size(), "*");
  if (!wanted.empty()) wanted += '.';
  std::vector<std::string> names;
  if (prefix.empty()) names.push_back("schema");
  if (wanted == "provider.*.") names.push_back("options");
  for (const KeySpec& spec : kSchema) {
    if (spec.key.substr(0, wanted.size()) != wanted) continue;
    std::string_view rest = spec.key.substr(wanted.size());
    std::string name(rest.substr(0, rest.find('.')));
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> usable_words(const KeySpec& spec) {
  std::vector<std::string> out;
  for (const Word& word : spec.words) {
    if (word.refusal.empty()) out.emplace_back(word.text);
  }
  return out;
}

std::string type_text(const KeySpec& spec) {
  switch (spec.kind) {
    case KeyKind::kBool:
      return "boolean";
    case KeyKind::kInt:
      return str_cat("integer ", static_cast<int64_t>(spec.min), "..", static_cast<int64_t>(spec.max));
    case KeyKind::kFloat:
      return str_cat("number ", spec.min, "..", spec.max);
    case KeyKind::kString:
      return "string";
    case KeyKind::kSize:
      return "size, e.g. \"4GiB\"";
    case KeyKind::kEnum:
      return "one of " + join(usable_words(spec), ", ");
    case KeyKind::kStrings:
      return "list of strings";
    case KeyKind::kOrder:
      return "\"auto\" or list of providers";
    case KeyKind::kRange:
      return "version range";
    case KeyKind::kInput:
      return "list of shapes, or table of them by input";
    case KeyKind::kPairs:
      return "list of \"input=output\"";
    case KeyKind::kPlacement:
      return "list of rules";
  }
  return {};
}

}  // namespace tenon::config
