// ProviderRegistry finds manifests, decides which providers may be used and in which version, keeps the reason for
// each decision, and loads a provider when it is first needed. No other code loads provider libraries.
//
// It does not run code of a provider in this process before load() (the scan runs in its own process). It does not
// choose providers for nodes, and it knows no provider id.
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

/// Where a manifest was found. The numbers give the search order. Places 0-2 win over 3-6.
enum class Place {
  kRegistered = 0,   // by the application, in code
  kEnvFiles = 1,     // TENON_PROVIDER_FILES; replaces 3-6
  kEnvAddFiles = 2,  // TENON_ADD_PROVIDER_FILES
  kConfig = 3,       // discovery.search
  kLibrary = 4,      // <folder of libtenon>/tenon/providers.d
  kUser = 5,         // $XDG_DATA_HOME/tenon/providers.d, when discovery.user is set
  kSystem = 6,       // /etc/tenon, /usr/local/lib/tenon and /usr/lib/<triplet>/tenon, each with /providers.d
};

/// For messages: "discovery.search", "TENON_PROVIDER_FILES".
std::string_view place_name(Place place);

struct RegistryOptions {
  /// The table passed to providers. It must outlive their use of it. May be null when nothing is loaded.
  const tenon_host_api* host_api = nullptr;
  config::Discovery discovery;
  /// Where `discovery.deny` and `discovery.allow` were written, for messages. May be empty.
  std::string deny_origin, allow_origin;
  /// Version ranges by provider id, from `provider.<id>.version`. Without one the highest compatible version is used.
  std::map<std::string, std::string> versions;
  /// Place 0: manifest files, or folders of them.
  std::vector<std::string> registered;

  /// Environment and fixed places. Tests replace them.
  bool environment = true;                 // read TENON_PROVIDER_FILES and TENON_ADD_PROVIDER_FILES
  std::optional<std::string> install_dir;  // instead of libtenon's folder
  std::optional<std::vector<std::string>> system_dirs;
  std::optional<std::string> state_dir;  // instead of $XDG_STATE_HOME/tenon; for quarantine and scan verdicts
  std::optional<std::string> scan_helper;  // instead of find_scan_helper()

  /// Scan without using kept answers, and keep the new ones.
  bool scan_afresh = false;

  /// Discovery settings, versions and origins of `config`.
  static RegistryOptions from_config(const config::Config& config, const tenon_host_api* host_api);
};

/// How far checks go. Each level includes those before it. Results are kept until the file changes.
enum class CheckLevel {
  kManifest,  // parsed and chosen
  kFiles,     // all checks that run no code of the provider
  kScan,      // tried in the scan process
};

/// A manifest that was found, and the verdict on it.
struct ProviderInfo {
  std::string manifest_path;
  Place place = Place::kSystem;
  std::shared_ptr<const Manifest> manifest;  // null when it could not be parsed
  std::string file_path;                     // the library's real path; as written when it cannot be resolved

  State state = State::kDiscovered;
  CheckLevel checked = CheckLevel::kManifest;
  Refusal refusal = Refusal::kNone;  // kNone: accepted as far as it was checked
  std::string reason;                // one sentence: why it was refused, or why another version was chosen
  std::string cure;                  // empty when none is needed
  bool chosen = false;               // the id selects this manifest
  std::vector<DeviceInfo> devices;   // found by the scan
  uint64_t generation = 0;           // the loaded build's number; 0 = not loaded

  /// Accepted and chosen.
  bool usable() const { return chosen && refusal == Refusal::kNone; }
  /// "E_ARCH: cuda 1.2.0 (/opt/x/cuda.tenon.json, place 3 discovery.search): reason; cure".
  std::string explain() const;
  /// The refusal as a Status of kind kProviderRefused; OK when there is none.
  Status status() const;
};

/// NOT_FOUND unless `path` is a manifest file or a folder of manifests.
Status check_registered_path(const std::string& path);

/// The providers that are installed when the registry is made. Each session makes its own registry, so it sees
/// files that were added, removed or replaced. All registries of a process share what is known about unchanged
/// files, and the loaded builds. Thread-safe. Providers that it returned may outlive it.
class ProviderRegistry {
 public:
  /// Never fails. list() and notices() report problems with manifests and places.
  explicit ProviderRegistry(RegistryOptions options);
  ~ProviderRegistry();
  ProviderRegistry(const ProviderRegistry&) = delete;
  ProviderRegistry& operator=(const ProviderRegistry&) = delete;

  /// Every manifest that was found, in search order, with its verdict. Checks all of them up to `level`.
  std::vector<ProviderInfo> list(CheckLevel level = CheckLevel::kManifest);
  /// The chosen manifest of `id`. Errors: kProviderMissing, with the known ids and the nearest one; kProviderRefused.
  Result<ProviderInfo> find(std::string_view id, CheckLevel level = CheckLevel::kManifest);
  /// Ids of the chosen manifests that are enabled and parse, by descending manifest priority, then id. With
  /// `automatic`, leaves out providers that must be named: those found only in discovery.search, the user's place
  /// or by path, and those with a priority below 0.
  std::vector<std::string> ids(bool automatic = false);

  /// Checks the chosen manifest of `id` completely and loads it. Later calls return the same object while it
  /// lives. `version` is a range that replaces the configured one for this call, so several versions may be loaded
  /// side by side. Errors: kProviderMissing; kProviderRefused with code, cause and cure.
  Result<std::shared_ptr<LoadedProvider>> load(std::string_view id, std::string_view version = {});

  /// Builds that a user would expect to be used and that are not: refused builds that rank before the one in use,
  /// and builds that a path, a version range or their place excludes. For the ids in `named`, or for all ids
  /// (automatic order) when it is null. Only knows what was checked so far, so call it after load().
  std::vector<PassedOver> passed_over(const std::vector<std::string>* named);

  /// Problems of discovery that belong to no manifest, one line each: a folder that cannot be read, variables that
  /// were ignored under elevated privileges.
  std::vector<std::string> notices();

  /// The known ids and options for config::Config::check_providers. Its spans are valid while the result lives.
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
