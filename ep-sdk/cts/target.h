// The command line's description of the provider under test, and its manifest.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tenon/ep.h"

namespace tenon::cts {

struct Target {  // NOLINT(bugprone-exception-escape): it moves without exceptions because json does
  std::string manifest_path;
  std::string device;                // stable id; empty: the first
  std::vector<std::string> options;  // name=value; override the manifest's defaults
  std::vector<std::string> cases;    // folders
  std::string libtenon;              // empty: the kit searches for it

  nlohmann::json manifest;  // null when the file is not a JSON object; `syntax` says why
  std::string syntax;

  std::string id() const;
  std::string version() const;
  /// Absolute path of the library; empty when the manifest names none.
  std::string module_path() const;
  std::string manifest_dir() const;
};

/// Reads the manifest; never throws.
void read_manifest(Target* target);

/// Each violation of manifest.schema.json, with its place in the manifest.
std::vector<std::string> schema_complaints(const nlohmann::json& manifest);

/// The options of an instance: the manifest's types and defaults, overridden by the command line. The constructor
/// throws std::runtime_error for an option that the manifest does not have.
class InstanceOptions {
 public:
  explicit InstanceOptions(const Target& target);
  const std::vector<tenon_option>& raw() const { return raw_; }

 private:
  void set(const nlohmann::json& option, const nlohmann::json& value);

  // The options point to these texts.
  std::vector<std::unique_ptr<std::string>> texts_;
  std::vector<tenon_option> raw_;
};

}  // namespace tenon::cts
