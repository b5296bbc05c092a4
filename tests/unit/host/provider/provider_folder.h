// A folder of providers for one test: copies from the defect zoo, with manifests that can be edited, and a
// registry that sees this folder and nothing else of the machine.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "host/provider/registry.h"

namespace tenon::provider {

class ProviderFolder {
 public:
  ProviderFolder();
  ~ProviderFolder();
  ProviderFolder(const ProviderFolder&) = delete;
  ProviderFolder& operator=(const ProviderFolder&) = delete;

  /// Copies library and manifest of tests/fakes/defects/<name>; a manifest is made for those that have none.
  /// `file` names the manifest, default <name>.tenon.json. Returns the manifest's path.
  std::string add(const std::string& name, const std::string& file = {});
  /// Changes one value of a manifest: edit(path, "/abi/major", 7).
  static void edit(const std::string& manifest_path, const std::string& pointer, const nlohmann::json& value);
  /// Writes any file below the folder; returns its path.
  std::string write(const std::string& name, const std::string& text);
  /// The library that a manifest of this folder names.
  static std::string library_of(const std::string& manifest_path);
  /// Brings hash and size of a manifest up to date with its library.
  static void rehash(const std::string& manifest_path);

  const std::string& path() const { return path_; }
  std::string providers() const { return path_ + "/providers.d"; }
  std::string state() const { return path_ + "/state"; }
  /// Place 7 is this folder; there are no others and no environment.
  RegistryOptions options() const;

 private:
  std::string path_;
};

}  // namespace tenon::provider
