// The configuration of a session: typed settings, merged from layers, each value with its origin.
//
// Layers, weakest first: built-in < /etc/tenon/config.toml < the user's file
// ($XDG_CONFIG_HOME/tenon/config.toml) < the file named by the application or TENON_CONFIG < environment
// variables < API and --set. The user's file and every environment variable are ignored under elevated
// privileges. A list replaces the weaker layer's list; tables merge key by key. A file with one error
// contributes nothing, and the error lists all its mistakes, one per line:
//   site.toml:7: unknown key 'select.ordr' (did you mean 'order'?)
//
// A Config loads no provider and knows no provider id. check_providers() compares ids and options with the
// manifests that a registry found.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "host/config/options.h"
#include "host/config/value.h"

namespace tenon::config {

enum class Trust { kNone, kOwner, kHash, kSignature };
enum class Scan { kOn, kOff };
enum class OnFailure { kError, kNext };  // kNext: continue with the next provider
enum class PartitionMode { kMeasured, kOrder, kCost };
enum class Isolation { kInProcess };
enum class OnLost { kRestart, kNext, kFail };
enum class Precision { kExact, kFast, kBf16, kFp16 };
enum class ExternalData { kDeny, kBeneathModel };
enum class UpgradeMode { kPin, kNextSession };

struct Discovery {
  std::vector<std::string> search;       // more directories with manifests (place 3)
  std::vector<std::string> allow, deny;  // globs on provider ids; deny wins
  Trust trust = Trust::kHash;
  Scan scan = Scan::kOn;
  double scan_timeout = 0;  // seconds for one library
  bool user = false;        // also look into the user's own providers.d (place 5)
};

struct Select {
  /// True: use the providers of the installation's and the system's places, by manifest priority. False: exactly
  /// `order`.
  bool automatic = true;
  /// "cuda/gpu:0" or "cpu", as written; empty when automatic. See provider_of() and device_of().
  std::vector<std::string> order;
  OnFailure fallback = OnFailure::kError;              // when a listed provider is missing or unusable
  OnFailure on_declined = OnFailure::kNext;            // when a provider does not support a node
  OnFailure on_compile_failed = OnFailure::kNext;      // when a provider cannot compile nodes that it claimed
  PartitionMode partition = PartitionMode::kMeasured;  // who decides between providers that claim a node
  bool record_times = false;                           // Runs are measured, for later sessions
};

/// "cuda/gpu:0" -> "cuda".
std::string_view provider_of(std::string_view order_entry);
/// "cuda/gpu:0" -> "gpu:0"; empty when the entry names no device.
std::string_view device_of(std::string_view order_entry);

/// The settings of `[provider.<id>]`. A provider without that section has these defaults.
struct ProviderSettings {
  std::string version;  // a range such as ">=1.2, <2"; empty = any
  std::vector<std::string>
      devices;  // one instance each, in this order; empty = the first device that is not emulated
  OnLost on_lost = OnLost::kNext;
  Table options;  // as written, not validated; see validate_options
};

struct NodePattern;

/// One `[[placement]]`. It applies to a node when all tests that are given hold.
struct PlacementRule {
  std::vector<std::string> ops;  // operator types, "Conv" or "com.microsoft:Gelu"; empty = any
  std::string node;              // regular expression (RE2) for the whole node name; empty = any
  std::string model;             // glob on the model's file name without folders; empty = any
  std::string provider;          // as in select.order
  bool required = false;         // true: fail when that provider declines
  std::string where;             // "site.toml:7"; empty for a rule made by code
  /// `node`, compiled. When it is null, a rule with a `node` matches nothing.
  std::shared_ptr<const NodePattern> node_pattern;

  /// True when this rule applies to the node. `domain` is empty for the default domain. Thread-safe.
  bool matches(std::string_view domain, std::string_view op_type, std::string_view node_name,
               std::string_view model_name) const;
  bool is_for_model(std::string_view model_name) const;
};

struct Shapes {
  int64_t keep = 0;  // how many sets of input shapes keep their plans
  /// Shapes to prepare at load, by input name; "" is the model's first input. Shapes at the same position form one set.
  std::map<std::string, std::vector<std::vector<int64_t>>> input;
};

struct State {
  std::vector<std::string> pairs;  // "input=output"; each side may hold one '*'
};

struct Memory {
  uint64_t host_limit = 0;    // bytes; 0 = the machine's memory
  uint64_t device_limit = 0;  // bytes; 0 = no limit
};

struct Threads {
  int64_t count = 0;  // 0 = as many as the cores that this process may use
};

struct Limits {
  uint64_t model_bytes = 0;  // bytes of the model file and its external data together; 0 = no limit
  int32_t graph_depth = 0;
  float load_time = 0;  // seconds that loading may take; 0 = no limit
  int64_t nodes = 0;
  uint64_t string_bytes = 0;      // bytes of the longest string that a model may make; 0 = no limit
  uint64_t fold_bytes = 0;        // bytes by which constant folding may enlarge a model
  uint64_t cache_blob_bytes = 0;  // bytes of one blob of a provider in the cache on disk; 0 = no limit
  uint64_t cache_bytes = 0;       // bytes of all of them together; 0 = no limit
  ExternalData external_data = ExternalData::kBeneathModel;
  bool map_weights = true;
};

struct Transforms {
  std::vector<std::string> disable;  // pass names or globs; "*" = all optional passes
};

/// Every setting, typed. The schema's built-in layer overwrites the defaults of the members above.
struct Settings {
  Discovery discovery;
  Select select;
  std::map<std::string, ProviderSettings> providers;  // by provider id
  std::vector<PlacementRule> placement;
  Shapes shapes;
  State state;
  Memory memory;
  Threads threads;
  Precision precision = Precision::kExact;
  bool widen = false;          // float16 nodes may run in float32 where a provider lacks float16
  bool strict = false;         // no Winograd's filtering and the like
  bool deterministic = false;  // the same bits for any number of threads
  Limits limits;
  Transforms transforms;
  UpgradeMode upgrade = UpgradeMode::kNextSession;
  std::string profiling_file;  // Chrome trace; "{pid}" is replaced by the process id; empty = no trace
};

enum class Layer { kBuiltin, kSystem, kUser, kFile, kEnvironment, kApi };

/// "built-in", "system", "user", "file", "environment", "api".
std::string_view layer_name(Layer layer);

/// One line of `config show`.
struct EffectiveValue {
  std::string key;  // "select.order", "provider.cuda.options.tf32"
  Value value;      // its location has the file and line
  Layer layer = Layer::kBuiltin;

  /// "built-in", "/etc/tenon/config.toml:3", "environment variable TENON_THREADS_COUNT", "--set".
  std::string origin() const;
};

/// What `check_providers` must know about an installed provider.
struct KnownProvider {
  std::string id;
  std::span<const OptionSpec> options;  // borrowed for the call
};

/// Which files and variables to read. The defaults are those of a normal process.
struct LoadOptions {
  std::string file;  // named by the application; empty = the one that TENON_CONFIG names, if any
  std::optional<std::string_view> text;  // used instead of a file: TOML, or JSON when it begins with '{'
  std::string text_name;                 // what messages call `text`
  bool system_file = true;               // /etc/tenon/config.toml
  bool user_file = true;                 // $XDG_CONFIG_HOME/tenon/config.toml
  bool environment = true;               // TENON_CONFIG, TENON_THREADS_COUNT, TENON_PROVIDERS_SELECT ...
  std::string system_path = "/etc/tenon/config.toml";
};

/// A value type. const members are thread-safe.
class Config {
 public:
  /// The built-in layer alone.
  Config();

  /// All layers of a process. A missing system or user file is skipped; a file that was named must exist.
  static Result<Config> load(const LoadOptions& options = {});
  /// All layers, with `path` as the file that the application names.
  static Result<Config> load(const std::string& path);

  /// Merges a TOML file, or a JSON file if the name ends in ".json". Applies nothing when there is an error.
  Status apply_file(const std::string& path, Layer layer = Layer::kFile);
  /// The same from memory. `source` names the text in messages.
  Status apply_toml(std::string_view text, const std::string& source, Layer layer = Layer::kFile);
  Status apply_json(std::string_view text, const std::string& source, Layer layer = Layer::kFile);
  /// Either of them, in the layer of the file.
  Status apply_text(std::string_view text, const std::string& source);
  /// Reads TENON_<SECTION>_<KEY> for every key except those of providers, TENON_PROVIDERS_SELECT and
  /// TENON_PROVIDERS_DISABLE.
  Status apply_environment();

  /// Sets one key in the API layer. `text` is a TOML value. If it is not TOML, it is taken as a string, or as
  /// comma-separated strings for a key that takes a list: set("select.order", "opencl,cpu").
  Status set(std::string_view key, std::string_view text, std::string source = "--set");

  const Settings& settings() const { return settings_; }
  const Settings* operator->() const { return &settings_; }
  /// The settings of one provider; defaults when it has no section. Borrowed from this object.
  const ProviderSettings& provider(std::string_view id) const;

  /// Every key with its value and layer, in the order of the schema.
  std::vector<EffectiveValue> show() const;
  /// A TOML document with the same settings. With `origins`, each line says where its value came from.
  std::string to_toml(bool origins = false) const;
  /// Null for a key without a value. Borrowed from this object until it changes.
  const EffectiveValue* find(std::string_view key) const;

  /// Compares the config with what is installed. Unknown provider ids in select.order, placement and provider.<id>
  /// are errors unless select.fallback = "next". Options are checked against the manifests. All complaints are in
  /// one Status.
  Status check_providers(std::span<const KnownProvider> known) const;

 private:
  Status merge(const Value& root, Layer layer);
  void rebuild();

  std::map<std::string, EffectiveValue, std::less<>> values_;
  Settings settings_;
};

/// One line for each TENON_x variable of the process that nothing reads. Variables that begin with a provider's id
/// (TENON_CPU_ISA) belong to that provider and are not listed.
std::vector<std::string> unknown_variables(const std::vector<std::string>& provider_ids);

/// True for an id that a manifest may have: 1 to 63 characters of a-z, 0-9, '_' and '-', the first a letter or digit.
bool is_valid_provider_id(std::string_view id);

}  // namespace tenon::config
