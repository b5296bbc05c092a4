// The file operations of `tenon providers install`, rollback, restore, remove and pin. Each takes effect by one rename,
// so another process, also after a crash, sees the state before or the state after.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/tenon/command.h"

namespace tenon::cli {

/// A manifest and the host's verdict. A manifest that is set aside has ".off" after its name, and no verdict.
struct InstalledProvider {  // NOLINT(bugprone-exception-escape): the move of its JSON asserts
  std::filesystem::path manifest;
  nlohmann::json content;
  std::string id, version;
  std::string refusal, reason, cure;
  bool chosen = false, aside = false;
};

/// The manifests that a session with these flags finds, then those set aside in the same and the default folders.
std::vector<InstalledProvider> installed_providers(const SessionFlags& flags);

/// The folder of `install` without --to: a system folder for root, else the user's folder.
std::filesystem::path default_provider_folder();

/// Copies the provider of `source` (a manifest, or a folder with one) into `folder`, once the host accepts the copy.
void install_provider(const SessionFlags& flags, const std::filesystem::path& source,
                      const std::filesystem::path& folder);

/// Sets aside the version that sessions use. Later sessions use the next lower version that the host accepts.
void roll_back_provider(const SessionFlags& flags, const std::string& id);

/// Undoes a rollback or a removal. `version` may be empty when only one version is set aside.
void restore_provider(const SessionFlags& flags, const std::string& id, const std::string& version);

/// Sets one version aside, or, with `purge`, deletes its files.
void remove_provider(const SessionFlags& flags, const std::string& id, const std::string& version,
                     bool purge);

/// Writes the version into a config file: that of --config, else of TENON_CONFIG, else the user's.
void pin_provider(const SessionFlags& flags, const std::string& id, const std::string& version);

}  // namespace tenon::cli
