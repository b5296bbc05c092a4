// The command line's description of the provider under test, and its manifest.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ep-sdk/shared/option.h"
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

/// Why the path leads to no file that can be read. Empty: it does.
std::string unreadable(const std::string& path);
/// Reads the manifest; what is wrong with the file or its syntax goes to `syntax`.
void read_manifest(Target* target);

/// Each violation of manifest.schema.json, with its place in the manifest.
std::vector<std::string> schema_complaints(const nlohmann::json& manifest);

/// The options of an instance: the manifest's types and defaults, overridden by the command line. The constructor
/// throws std::runtime_error for an option that the manifest does not have and for a value that it does not allow.
class InstanceOptions {
 public:
  explicit InstanceOptions(const Target& target);
  const std::vector<tenon_option>& raw() const { return raw_; }

 private:
  void set(const std::string& name, const shared::OptionValue& value);

  // The options point to these texts.
  std::vector<std::unique_ptr<std::string>> texts_;
  std::vector<tenon_option> raw_;
};

}  // namespace tenon::cts
