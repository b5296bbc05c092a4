// The configuration of a session: typed settings, merged from layers, each value with its origin.
//
// Layers, weakest first: built-in < /etc/tenon/config.toml < the user's file
// ($XDG_CONFIG_HOME/tenon/config.toml) < the file named by the application or TENON_CONFIG < environment
// variables < API and --set. The user's file and every environment variable are ignored under elevated
// privileges. A list replaces the weaker layer's list; tables merge key by key. A file with one error
// contributes nothing, and the error lists all its mistakes, one per line:
//   site.toml:7: unknown key 'select.ordr' (did you mean 'order'?)
//
// What this does NOT do: it loads no provider and knows no provider id. Ids and options are checked against
// the manifests found by `check_providers`, when there is a registry to ask.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
enum class Fallback { kError, kNext };
enum class PartitionMode { kOrder };
enum class Isolation { kInProcess };
enum class OnLost { kRestart, kNext, kFail };
enum class Precision { kExact, kFast, kBf16, kFp16 };
enum class ExternalData { kDeny, kBeneathModel };
enum class UpgradeMode { kPin, kNextSession };

struct Discovery {
  std::vector<std::string> search;       // further directories with manifests (place 4)
  std::vector<std::string> allow, deny;  // globs on provider ids; deny wins
  Trust trust = Trust::kHash;
  Scan scan = Scan::kOn;
  double scan_timeout = 0;  // seconds for one library
  bool user = false;        // also look into the user's own providers.d (place 6)
};

struct Select {
  /// True: providers of the installation's and the system's places by manifest priority. False: exactly
  /// `order`.
  bool automatic = true;
  /// "cuda/gpu:0", "cpu", as written; empty when automatic. provider_of() and device_of() take one apart.
  std::vector<std::string> order;
  Fallback fallback = Fallback::kError;          // a listed provider is missing or unusable
  Fallback on_declined = Fallback::kNext;        // a provider does not support a node
  Fallback on_compile_failed = Fallback::kNext;  // a provider claimed nodes and cannot compile them
};

/// "cuda/gpu:0" -> "cuda".
std::string_view provider_of(std::string_view order_entry);
/// "cuda/gpu:0" -> "gpu:0"; empty when the entry names no device.
std::string_view device_of(std::string_view order_entry);

/// What `[provider.<id>]` says; a provider without a section has these defaults.
struct ProviderSettings {
  std::string version;  // a range such as ">=1.2, <2"; empty = any
  std::vector<std::string>
      devices;  // each an instance, in this order; empty = the first that is not emulated
  OnLost on_lost = OnLost::kNext;
  Table options;  // as written, unchecked: give it to validate_options with the manifest's list
};

struct NodePattern;

/// One `[[placement]]`. The tests that are given must all hold.
struct PlacementRule {
  std::vector<std::string> ops;  // operator types, "Conv" or "com.microsoft:Gelu"; empty = any
  std::string node;              // regular expression (RE2) for the whole node name; empty = any
  std::string model;             // glob on the model's file name without folders; empty = any
  std::string provider;          // as in select.order
  bool required = false;         // true: it is an error when that provider declines
  std::string where;             // "site.toml:7"; empty where a rule is made by hand
  /// `node` compiled; null where a rule is made by hand, which costs a compilation per match.
  std::shared_ptr<const NodePattern> node_pattern;

  /// True when this rule speaks about the node. Node names longer than 1024 bytes match no `node` expression:
  /// the matcher recurses per character. `domain` is empty for the default domain. Thread-safe.
  bool matches(std::string_view domain, std::string_view op_type, std::string_view node_name,
               std::string_view model_name) const;
  bool is_for_model(std::string_view model_name) const;
};

struct Shapes {
  int64_t keep = 0;  // sets of input shapes whose plans are kept
  /// Shapes to prepare for at load, by input name; the name "" stands for the model's first input. The shapes at
  /// one position belong together.
  std::map<std::string, std::vector<std::vector<int64_t>>> input;
};

struct Memory {
  uint64_t host_limit = 0;    // bytes; 0 = what the machine has
  uint64_t device_limit = 0;  // bytes; 0 = no limit
};

struct Threads {
  int64_t count = 0;  // 0 = the cores this process may use
};

struct Limits {
  uint64_t model_bytes = 0;  // bytes of model file and external data together; 0 = no limit
  int32_t graph_depth = 0;
  float load_time = 0;  // seconds that loading may take; 0 = no limit
  int64_t nodes = 0;
  uint64_t string_bytes = 0;  // longest string that a model may make; 0 = no limit
  uint64_t fold_bytes = 0;    // memory by which folding may make a model larger
  ExternalData external_data = ExternalData::kBeneathModel;
  bool map_weights = true;
};

struct Transforms {
  std::vector<std::string> disable;  // pass names or globs; "*" = all that are optional
};

/// Every setting, typed. The defaults of the members above are overwritten by the schema's built-in layer.
struct Settings {
  Discovery discovery;
  Select select;
  std::map<std::string, ProviderSettings> providers;  // by provider id
  std::vector<PlacementRule> placement;
  Shapes shapes;
  Memory memory;
  Threads threads;
  Precision precision = Precision::kExact;
  bool widen = false;          // float16 nodes may run in float32 where a provider lacks float16
  bool deterministic = false;  // the same bits whatever the threads
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
  Value value;      // its location says file and line
  Layer layer = Layer::kBuiltin;

  /// "built-in", "/etc/tenon/config.toml:3", "environment variable TENON_THREADS_COUNT", "--set".
  std::string origin() const;
};

/// What `check_providers` needs to know of an installed provider.
struct KnownProvider {
  std::string id;
  std::span<const OptionSpec> options;  // borrowed for the call
};

/// Which files and variables to read. The defaults are those of a normal process; tests and embedders change
/// them.
struct LoadOptions {
  std::string file;         // named by the application; empty = TENON_CONFIG, else none
  bool system_file = true;  // /etc/tenon/config.toml
  bool user_file = true;    // $XDG_CONFIG_HOME/tenon/config.toml
  bool environment = true;  // TENON_CONFIG, TENON_THREADS_COUNT, TENON_PROVIDERS_SELECT ...
  std::string system_path = "/etc/tenon/config.toml";
};

/// A value type: copying copies. const members are thread-safe.
class Config {
 public:
  /// The built-in layer alone.
  Config();

  /// All layers of a process. A file of the system or user that does not exist is skipped; a named one must
  /// exist.
  static Result<Config> load(const LoadOptions& options = {});
  /// All layers, with `path` as the application's file.
  static Result<Config> load(const std::string& path);

  /// Merges a TOML file, or a JSON file when its name ends in ".json". On error nothing of it is applied.
  Status apply_file(const std::string& path, Layer layer = Layer::kFile);
  /// The same from memory; `source` names it in messages.
  Status apply_toml(std::string_view text, std::string source, Layer layer = Layer::kFile);
  Status apply_json(std::string_view text, std::string source, Layer layer = Layer::kFile);
  /// Reads every variable that names a key (TENON_<SECTION>_<KEY>) and TENON_PROVIDERS_SELECT / _DISABLE.
  Status apply_environment();

  /// Sets one key in the API layer. `text` is a TOML value; where it is none, it is taken as a string, or,
  /// for a key that wants a list, as comma-separated strings: set("select.order", "opencl,cpu").
  Status set(std::string_view key, std::string_view text, std::string source = "--set");
  /// "key=value", the argument of --set.
  Status set_assignment(std::string_view assignment);

  const Settings& settings() const { return settings_; }
  const Settings* operator->() const { return &settings_; }
  /// The section of one provider; the defaults when there is none. Borrowed from this object.
  const ProviderSettings& provider(std::string_view id) const;

  /// Every key with its value and layer, in the schema's order; providers and placement where the schema has
  /// them.
  std::vector<EffectiveValue> show() const;
  /// As a TOML document that gives the same settings; with `origins`, each line says where its value came
  /// from.
  std::string to_toml(bool origins = false) const;
  /// Null for a key that has no value. Borrowed from this object until it changes.
  const EffectiveValue* find(std::string_view key) const;

  /// Compares what the config names with what is installed: unknown provider ids in select.order, placement
  /// and provider.<id> (errors unless select.fallback = "next"), and every option against its manifest. All
  /// complaints in one Status.
  Status check_providers(std::span<const KnownProvider> known) const;

 private:
  Status merge(const Value& root, Layer layer);
  void rebuild();

  std::map<std::string, EffectiveValue, std::less<>> values_;
  Settings settings_;
};

/// A line for each variable TENON_x of the process that nothing reads. Those that begin with a provider's id
/// (TENON_CPU_ISA) are the provider's.
std::vector<std::string> unknown_variables(const std::vector<std::string>& provider_ids);

/// The table of all keys as Markdown: key, type, default, meaning. The reference page is made of it.
std::string schema_markdown();

/// True for an id a manifest may have: a-z, 0-9, '_' and '-', first a letter or digit, at most 63 characters.
bool is_valid_provider_id(std::string_view id);

}  // namespace tenon::config
