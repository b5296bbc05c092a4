// What `tenon providers install`, rollback, restore, remove and pin do to files. Each ends in one rename, so that whoever looks
// meanwhile, or after a kill, sees the state before or the state after.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/tenon/command.h"

namespace tenon::cli {

/// A manifest, with what the host says of it. A manifest that is set aside has ".off" behind its name, and no verdict.
struct InstalledProvider {
  std::filesystem::path manifest;
  nlohmann::json content;
  std::string id, version;
  std::string refusal, reason, cure;
  bool chosen = false, aside = false;
};

/// Every manifest that a session with these flags finds, then those that are set aside in the same folders and in the default ones.
std::vector<InstalledProvider> installed_providers(const SessionFlags& flags);

/// Where `install` puts providers when nobody says where: for everybody when root asks, else the user's own folder.
std::filesystem::path default_provider_folder();

/// Copies the provider that `source` (a manifest, or a folder with one) describes into `folder`, once the host takes the copy.
void install_provider(const SessionFlags& flags, const std::filesystem::path& source,
                      const std::filesystem::path& folder);

/// Sets the version that sessions take aside; the next lower one that the host takes is used from then on.
void roll_back_provider(const SessionFlags& flags, const std::string& id);

/// Takes back a rollback or a removal. `version` may be empty when only one is set aside.
void restore_provider(const SessionFlags& flags, const std::string& id, const std::string& version);

/// Sets one version aside, and with `purge` deletes its files.
void remove_provider(const SessionFlags& flags, const std::string& id, const std::string& version,
                     bool purge);

/// Writes the version into a config file: that of --config, of TENON_CONFIG, or the user's.
void pin_provider(const SessionFlags& flags, const std::string& id, const std::string& version);

}  // namespace tenon::cli
