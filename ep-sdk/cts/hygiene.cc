#include "ep-sdk/cts/hygiene.h"

#include <algorithm>
#include <optional>

#include "ep-sdk/cts/check.h"
#include "ep-sdk/cts/sha256.h"
#include "ep-sdk/shared/machine.h"
#include "ep-sdk/shared/option.h"
#include "ep-sdk/shared/size.h"

namespace tenon::cts {
namespace {

using Json = nlohmann::json;
using shared::OptionRule;
using shared::OptionValue;

/// A bound: a number, or also a text such as "4MiB" when the option is a size.
std::optional<double> bound_of(const Json& option, const char* name, const OptionRule& rule) {
  const auto at = option.find(name);
  if (at == option.end()) return std::nullopt;
  if (at->is_number()) return at->get<double>();
  const std::optional<uint64_t> bytes = at->is_string() && rule.type == shared::OptionType::kSize
                                            ? shared::read_size(at->get<std::string>())
                                            : std::nullopt;
  if (!bytes)
    throw Failed("'" + std::string(name) + "' of the option '" + option.value("name", "") + "' is no number",
                 "write a number, or for a size also a text such as \"4MiB\"");
  return static_cast<double>(*bytes);
}

}  // namespace

OptionValue value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.is_string() ? json.get<std::string>() : json.dump();
}

OptionRule rule_of(const Json& option) {
  OptionRule rule;
  rule.type = shared::option_type_from_name(option.value("type", "")).value_or(shared::OptionType::kString);
  rule.min = bound_of(option, "min", rule);
  rule.max = bound_of(option, "max", rule);
  for (const Json& value : option.value("values", Json::array())) rule.values.push_back(value_of(value));
  return rule;
}

void check_manifest(const Target& target) {
  if (!target.syntax.empty())
    throw Failed("the manifest cannot be read: " + target.syntax, "write JSON; tenon_add_provider() does");
  std::string complaints;
  for (const std::string& one : schema_complaints(target.manifest))
    complaints += (complaints.empty() ? "" : "; ") + one;
  if (!complaints.empty())
    throw Failed(complaints, "keep to manifest.schema.json; tenon_add_provider() fills in what it can");
  const Json& abi = target.manifest.at("abi");
  if (abi["min_minor"] > abi["max_minor"])
    throw Failed("'abi' has min_minor above max_minor",
                 "name the range of minors that the library can work with");
  const Json opsets = target.manifest.value("opsets", Json::object());
  for (const auto& [domain, range] : opsets.items()) {
    if (range[0] > range[1])
      throw Failed("'opsets' of the domain '" + domain + "' begins above its end", "write [lowest, highest]");
  }
}

void check_options(const Target& target) {
  std::vector<std::string> names;
  for (const Json& option : target.manifest.value("options", Json::array())) {
    const std::string name = option.value("name", "");
    if (std::count(names.begin(), names.end(), name) != 0)
      throw Failed("the option '" + name + "' occurs twice", "give each option its own name");
    names.push_back(name);
    const OptionRule rule = rule_of(option);
    const std::string type(shared::option_type_name(rule.type));
    if (const std::string wrong = shared::complaint_of(rule); !wrong.empty())
      throw Failed("the option '" + name + "' " + wrong,
                   "write bounds and values that an option of type " + type + " can have");
    if (!option.contains("default")) continue;
    const std::optional<OptionValue> fallback = shared::as_type(rule.type, value_of(option["default"]));
    if (!fallback)
      throw Failed("the default of '" + name + "' is not of type " + type,
                   "write a default of the option's type");
    if (const std::string wrong = shared::complaint_of(rule, *fallback); !wrong.empty())
      throw Failed("the default of '" + name + "' " + wrong, "write a default that the option allows");
  }
}

void check_content(const Json& entry, const std::string& path, const std::string& bytes) {
  const std::string cure =
      "write the manifest after the last step that changes the file (strip, patchelf, sign): tenon-cts "
      "--seal does";
  if (entry.value("size", uint64_t{0}) != bytes.size())
    throw Failed("'" + path + "' has " + std::to_string(bytes.size()) + " bytes, the manifest says " +
                     std::to_string(entry.value("size", uint64_t{0})),
                 cure);
  const std::string hash = sha256(bytes);
  if (entry.value("sha256", "") != hash)
    throw Failed(
        "'" + path + "' has the SHA-256 " + hash + ", the manifest says " + entry.value("sha256", ""), cure);
}

void check_platform(const Target& target, const Binary& binary) {
  const Json& entry = target.manifest.at("library");
  const std::string os = entry.value("os", ""), arch = entry.value("arch", "");
  if (shared::canonical_arch(arch) != binary.arch)
    throw Failed("the library is compiled for " + binary.arch + ", the manifest says " + arch,
                 "write the manifest of the build that it describes");
  if (os != binary.os)
    throw Failed("a library for " + binary.os + " in a manifest for " + os,
                 "name the system it is built for");
}

namespace {

constexpr const char* kMachineCure =
    "run the kit on a machine for which the manifest says that the library works, or correct os, arch, libc "
    "and "
    "cpu_features of the manifest";

}  // namespace

void check_system(const Target& target) {
  const Json& library = target.manifest.at("library");
  const std::string os = library.value("os", "");
  if (os != shared::host_os())
    throw Failed(shared::other_system(os, library.value("arch", "")), kMachineCure);
}

void check_machine(const Target& target) {
  const Json& library = target.manifest.at("library");
  std::string why = shared::other_system(library.value("os", ""), library.value("arch", ""));
  if (why.empty()) why = shared::other_libc(library.value("libc", ""));
  if (why.empty()) why = shared::lacking_feature(library.value("cpu_features", std::vector<std::string>{}));
  if (!why.empty()) throw Failed(why, kMachineCure);
  const Json needs = target.manifest.value("requires", Json::object());
  why = shared::missing_files(needs.value("files", std::vector<std::string>{}));
  const std::string hint = needs.value("hint", "");
  if (!why.empty()) throw Failed(why, hint.empty() ? "install what the manifest requires" : hint);
}

}  // namespace tenon::cts
