// The provider under test as the command line names it, and its manifest.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tenon/ep.h"

namespace tenon::cts {

struct Target {
  std::string manifest_path;
  std::string device;                // stable id; empty: the first
  std::vector<std::string> options;  // name=value, over the manifest's defaults
  std::vector<std::string> cases;    // folders
  std::string libtenon;              // empty: looked for

  nlohmann::json manifest;  // null when the file is no JSON object; `syntax` says why
  std::string syntax;

  std::string id() const;
  std::string version() const;
  /// Absolute, wherever the manifest says; empty when it does not.
  std::string module_path() const;
  std::string manifest_dir() const;
};

/// Reads the manifest; never throws.
void read_manifest(Target* target);

/// Every way in which a manifest breaks manifest.schema.json, with the place in it.
std::vector<std::string> schema_complaints(const nlohmann::json& manifest);

/// The options of an instance as the manifest types them: its defaults, then what the command line sets.
/// Throws std::runtime_error for an option that the manifest does not have.
class InstanceOptions {
 public:
  explicit InstanceOptions(const Target& target);
  const std::vector<tenon_option>& raw() const { return raw_; }

 private:
  void set(const nlohmann::json& option, const nlohmann::json& value);

  // Texts outlive the options that point to them.
  std::vector<std::unique_ptr<std::string>> texts_;
  std::vector<tenon_option> raw_;
};

}  // namespace tenon::cts
