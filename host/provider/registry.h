// ProviderRegistry: finds manifests, decides which providers may be used and which version of each, says why
// for every one of them, and loads a provider when it is first asked for. It is the only way to a provider
// library.
//
// What it does NOT do: it never calls a provider that is not asked for inside this process (the scan runs in
// a process of its own), picks no provider for a node, and knows no provider id.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "host/base/version.h"
#include "host/config/config.h"
#include "host/provider/loaded_provider.h"
#include "host/provider/manifest.h"
#include "host/provider/passed_over.h"
#include "host/provider/refusal.h"

namespace tenon::provider {

/// Where a manifest was found. The numbers are the search order; 0-3 win over 4-7.
enum class Place {
  kRegistered = 0,   // by the application in code
  kApi = 1,          // paths given through the API
  kEnvFiles = 2,     // TENON_PROVIDER_FILES; replaces 4-7
  kEnvAddFiles = 3,  // TENON_ADD_PROVIDER_FILES
  kConfig = 4,       // discovery.search
  kLibrary = 5,      // <folder of libtenon>/tenon/providers.d
  kUser = 6,         // $XDG_DATA_HOME/tenon/providers.d, when discovery.user is set
  kSystem = 7,       // /etc/tenon, /usr/local/lib/tenon and /usr/lib/<triplet>/tenon, each with /providers.d
};

/// "discovery.search", "TENON_PROVIDER_FILES" ...: for messages.
std::string_view place_name(Place place);

struct RegistryOptions {
  /// The table given to providers. Must outlive the process's use of them; NULL is allowed where nothing is
  /// loaded.
  const tenon_host_api* host_api = nullptr;
  config::Discovery discovery;
  /// Where `discovery.deny` and `allow` were written, for messages; may be empty.
  std::string deny_origin, allow_origin;
  /// Version ranges by provider id, from `provider.<id>.version`; absent = highest compatible.
  std::map<std::string, std::string> versions;
  /// Places 0 and 1: manifest files or folders.
  std::vector<std::string> registered, api_paths;

  /// Environment and fixed places; tests replace them.
  bool environment = true;                 // TENON_PROVIDER_FILES and the like
  std::optional<std::string> install_dir;  // instead of the folder that holds libtenon
  std::optional<std::vector<std::string>> system_dirs;
  std::optional<std::string> state_dir;    // instead of $XDG_STATE_HOME/tenon: quarantine, scan verdicts
  std::optional<std::string> scan_helper;  // instead of tenon-scan beside libtenon or in ../bin

  /// Scans without looking at kept answers, and keeps the new ones: for who wants to know how things are now.
  bool scan_afresh = false;

  /// Discovery, versions and origins as `config` has them.
  static RegistryOptions from_config(const config::Config& config, const tenon_host_api* host_api);
};

/// How far `list` goes. Each level includes the ones before; results are kept until the file changes.
enum class CheckLevel {
  kManifest,  // parsed and chosen
  kFiles,     // all checks that run no code of the provider
  kScan,      // tried in the scan process
};

/// One manifest found, and what became of it.
struct ProviderInfo {
  std::string manifest_path;
  Place place = Place::kSystem;
  std::shared_ptr<const Manifest> manifest;  // null when it could not be parsed
  std::string file_path;  // the library: real path; as written when it could not be resolved

  State state = State::kDiscovered;
  CheckLevel checked = CheckLevel::kManifest;
  Refusal refusal = Refusal::kNone;  // kNone: accepted as far as it was checked
  std::string reason;                // one sentence: why it was refused, or why another version was taken
  std::string cure;                  // empty when there is nothing to cure
  bool chosen = false;               // this is the manifest that its id stands for
  std::vector<DeviceInfo> devices;   // seen by the scan
  uint64_t generation = 0;           // of the loaded build; 0 = not loaded

  /// Accepted and chosen.
  bool usable() const { return chosen && refusal == Refusal::kNone; }
  /// "E_ARCH: cuda 1.2.0 (/opt/x/cuda.tenon.json, place 4 discovery.search): reason; cure".
  std::string explain() const;
  /// The refusal as a Status of kind kProviderRefused; OK when there is none.
  Status status() const;
};

/// NOT_FOUND when there is neither a manifest file nor a folder of them at `path`.
Status check_registered_path(const std::string& path);

/// What is installed when it is made: each session makes one of its own, and so sees what was dropped in, removed or
/// replaced. What is known of files that did not change, and the builds that are loaded, are shared by all registries of a
/// process. Thread-safe. Providers it gave out live on without it.
class ProviderRegistry {
 public:
  /// Never fails: what goes wrong with one manifest or place is told by list() and notices().
  explicit ProviderRegistry(RegistryOptions options);
  ~ProviderRegistry();
  ProviderRegistry(const ProviderRegistry&) = delete;
  ProviderRegistry& operator=(const ProviderRegistry&) = delete;

  /// Every manifest found, in search order, with its verdict. Runs the checks up to `level` for all of them.
  std::vector<ProviderInfo> list(CheckLevel level = CheckLevel::kManifest);
  /// The chosen manifest of `id`. Errors: kProviderMissing with the ids there are and the nearest;
  /// kProviderRefused.
  Result<ProviderInfo> find(std::string_view id, CheckLevel level = CheckLevel::kManifest);
  /// Ids of the chosen manifests that are enabled and parse, by descending manifest priority, then id. Those
  /// found only in discovery.search, the user's place or by path, and those with a priority below 0, are left out when
  /// `automatic` (they must be named).
  std::vector<std::string> ids(bool automatic = false);

  /// Runs all stages for the chosen manifest of `id` and loads it; later calls give the same object while it
  /// lives. `version`: a range that replaces the configured one for this call; several versions may be loaded
  /// side by side. Errors: kProviderMissing; kProviderRefused with the refusal code, cause and cure.
  Result<std::shared_ptr<LoadedProvider>> load(std::string_view id, std::string_view version = {});

  /// Builds that one would expect to be used and are not, for the ids in `named`, or for all when it is null (the
  /// automatic order): refused ones that come before the one that is taken, others that a path, a version range or their
  /// place keeps out. As far as they were checked: call it after load().
  std::vector<PassedOver> passed_over(const std::vector<std::string>* named);

  /// What happened during discovery that belongs to no manifest: a folder that cannot be read, variables that
  /// were ignored under elevated privileges. One line each.
  std::vector<std::string> notices();

  /// The known ids and options for config::Config::check_providers. Valid while the result lives.
  struct Known {
    std::vector<std::shared_ptr<const Manifest>> manifests;
    std::vector<config::KnownProvider> providers;
  };
  Known known();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::provider
