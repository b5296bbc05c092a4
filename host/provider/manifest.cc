#include "host/provider/manifest.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "host/base/size.h"
#include "host/base/text.h"
#include "host/config/config.h"
#include "host/config/read.h"
#include "host/provider/known_files.h"
#include "host/provider/refusal.h"
#include "tenon/ep.h"

namespace tenon::provider {
namespace {

using config::Array;
using config::Table;
using config::Value;

// The first mistakes in full and the number of the others. The manifest is not trusted yet: a megabyte of mistakes
// must not become gigabytes of text.
struct Complaints {
  std::vector<std::string> first;
  size_t more = 0;
};

// Reads the members of one object and collects complaints with line and dotted name.
class Reader {
 public:
  Reader(const Table& table, const Value& at, std::string prefix, Complaints& errors)
      : table_(table), at_(at), prefix_(std::move(prefix)), errors_(errors) {}

  const Value* find(std::string_view name) const {
    for (const auto& member : table_) {
      if (member.first == name) return &member.second;
    }
    return nullptr;
  }

  template <class... Parts>
  void fail(const Value& at, std::string_view name, const Parts&... parts) {
    if (errors_.first.size() >= kMaxComplaints) {
      ++errors_.more;
      return;
    }
    errors_.first.push_back(str_cat(at.where().to_string(), ": '", prefix_, name, "' ", parts...));
  }

  bool text(std::string_view name, std::string& out, bool required) {
    const Value* value = member(name, required);
    if (value == nullptr) return false;
    if (!value->as_string() || (required && value->as_string()->empty())) {
      fail(*value, name, "must be a ", required ? "non-empty " : "", "string");
      return false;
    }
    out = *value->as_string();
    return true;
  }

  bool integer(std::string_view name, int64_t min, int64_t max, int64_t& out, bool required) {
    const Value* value = member(name, required);
    if (value == nullptr) return false;
    if (!value->as_int() || *value->as_int() < min || *value->as_int() > max) {
      fail(*value, name, "must be an integer from ", min, " to ", max);
      return false;
    }
    out = *value->as_int();
    return true;
  }

  void flag(std::string_view name, bool& out) {
    const Value* value = find(name);
    if (value == nullptr) return;
    if (!value->as_bool()) return fail(*value, name, "must be true or false");
    out = *value->as_bool();
  }

  void strings(std::string_view name, std::vector<std::string>& out) {
    const Value* value = find(name);
    if (value == nullptr) return;
    std::vector<std::string> read;
    for (const Value& element : elements(name)) {
      if (!element.as_string()) return fail(element, name, "must hold strings only");
      read.push_back(*element.as_string());
    }
    if (value->as_array()) out = std::move(read);
  }

  // The elements of an optional list. Complains when the member has another type.
  const Array& elements(std::string_view name) {
    static const Array kNone;
    const Value* value = find(name);
    if (value == nullptr) return kNone;
    if (!value->as_array()) fail(*value, name, "must be a list");
    return value->as_array() ? *value->as_array() : kNone;
  }

  // Calls read(Reader&) for the member object.
  template <class Read>
  void object(std::string_view name, bool required, Read read) {
    const Value* value = member(name, required);
    if (value == nullptr) return;
    if (!value->as_table()) return fail(*value, name, "must be an object");
    Reader inner(*value->as_table(), *value, str_cat(prefix_, name, "."), errors_);
    read(inner);
  }

  // Calls read(Reader&) for each object of a list.
  template <class Read>
  void objects(std::string_view name, Read read) {
    for (const Value& element : elements(name)) {
      if (!element.as_table()) {
        fail(element, name, "must hold objects only");
        continue;
      }
      Reader inner(*element.as_table(), element, str_cat(prefix_, name, "[]."), errors_);
      read(inner);
    }
  }

  const Value& at() const { return at_; }
  const Table& table() const { return table_; }

 private:
  const Value* member(std::string_view name, bool required) {
    const Value* value = find(name);
    if (value == nullptr && required) fail(at_, name, "is missing");
    return value;
  }

  const Table& table_;
  const Value& at_;
  std::string prefix_;
  Complaints& errors_;
};

// True for a relative path that does not leave the folder. Rejects the separators of every system.
bool stays_below(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\\') != std::string_view::npos ||
      path.find(':') != std::string_view::npos || path.find('\0') != std::string_view::npos) {
    return false;
  }
  for (const std::string& part : split(path, '/')) {
    if (part == "..") return false;
  }
  return true;
}

void read_identity(Reader& in, Manifest& out) {
  if (in.text("id", out.id, true) && !config::is_valid_provider_id(out.id)) {
    in.fail(*in.find("id"), "id", "is '", out.id, "'; an id is made of a-z, 0-9, '_' and '-'");
  }
  in.text("name", out.name, true);
  in.text("vendor", out.vendor, true);
  std::string version;
  if (!in.text("version", version, true)) return;
  Result<Version> parsed = parse_version(version);
  if (!parsed) return in.fail(*in.find("version"), "version", "is wrong: ", parsed.error().message());
  out.version = *parsed;
}

void read_abi(Reader& in, Manifest& out) {
  constexpr int64_t kMost = 1 << 20;
  int64_t major = 0, low = 0, high = 0;
  bool all = in.integer("major", 0, kMost, major, true);
  all &= in.integer("min_minor", 0, kMost, low, true);
  all &= in.integer("max_minor", 0, kMost, high, true);
  if (all && low > high) in.fail(*in.find("min_minor"), "min_minor", "is above max_minor");
  out.abi_major = static_cast<uint32_t>(major);
  out.abi_min_minor = static_cast<uint32_t>(low);
  out.abi_max_minor = static_cast<uint32_t>(high);
}

void read_file(Reader& in, ManifestFile& out) {
  if (in.text("path", out.path, true) && !stays_below(out.path)) {
    in.fail(*in.find("path"), "path", "must be relative to the manifest and stay below it, without '..'");
  }
  if (in.text("sha256", out.sha256, true)) {
    bool good =
        out.sha256.size() == 64 && out.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!good) in.fail(*in.find("sha256"), "sha256", "must be 64 lower-case hexadecimal digits");
  }
  int64_t size = 0;
  if (in.integer("size", 1, INT64_MAX, size, true)) out.size = static_cast<uint64_t>(size);
}

/// Complains about an unknown word, because code that looks for a known word would ignore it.
void one_of(Reader& in, std::string_view name, std::string_view given,
            std::initializer_list<std::string_view> known) {
  if (given.empty() || std::find(known.begin(), known.end(), given) != known.end()) return;
  in.fail(*in.find(name), name, "is '", given, "'; it may be ", join({known.begin(), known.end()}, ", "));
}

void read_library(Reader& in, Manifest& out) {
  ManifestLibrary& library = out.file;
  read_file(in, library);
  in.text("os", library.os, true);
  in.text("arch", library.arch, true);
  in.text("libc", library.libc, false);
  in.strings("cpu_features", library.cpu_features);
  if (in.text("sanitizer", library.sanitizer, false))
    one_of(in, "sanitizer", library.sanitizer, {"none", "address", "thread", "memory"});
}

void read_requires(Reader& in, Manifest& out) {
  in.strings("sonames", out.required_sonames);
  in.strings("files", out.required_files);
  in.text("hint", out.required_hint, false);
}

void read_traits(Reader& in, Manifest& out) {
  in.flag("completes", out.traits.completes);
  in.strings("isolation", out.traits.isolation);
  for (const std::string& way : out.traits.isolation) one_of(in, "isolation", way, {"inproc", "process"});
  in.flag("unloadable", out.traits.unloadable);
  in.flag("fork_safe", out.traits.fork_safe);
  in.flag("deterministic", out.traits.deterministic);
}

void read_opsets(Reader& in, Manifest& out) {
  for (const auto& [domain, value] : in.table()) {
    const Array* range = value.as_array();
    bool good = range != nullptr && range->size() == 2 && (*range)[0].as_int() && (*range)[1].as_int() &&
                *(*range)[0].as_int() <= *(*range)[1].as_int();
    if (!good) {
      in.fail(value, domain, "must be [lowest, highest]");
      continue;
    }
    out.opsets[domain] = {*(*range)[0].as_int(), *(*range)[1].as_int()};
  }
}

// Reads a bound: a number, or also a size when the option is one.
void read_bound(Reader& in, std::string_view name, config::OptionType type, std::optional<double>& out) {
  const Value* value = in.find(name);
  if (value == nullptr) return;
  if (value->as_int()) {
    out = static_cast<double>(*value->as_int());
  } else if (value->as_double()) {
    out = *value->as_double();
  } else if (type == config::OptionType::kSize && value->as_string() && parse_size(*value->as_string())) {
    out = static_cast<double>(*parse_size(*value->as_string()));
  } else {
    in.fail(*value, name, "must be a number");
  }
}

void read_option(Reader& in, Manifest& out, std::set<std::string>& names) {
  config::OptionSpec option;
  in.text("name", option.name, true);
  std::string type;
  if (in.text("type", type, true)) {
    auto known = config::option_type_from_name(type);
    if (!known) {
      in.fail(*in.find("type"), "type", "is '", type, "'; types are bool, int, float, string and size");
    } else {
      option.type = *known;
    }
  }
  if (const Value* value = in.find("default")) option.default_value = *value;
  read_bound(in, "min", option.type, option.min);
  read_bound(in, "max", option.type, option.max);
  option.values = in.elements("values");
  in.text("doc", option.doc, false);
  in.flag("live", option.live);
  if (!names.insert(option.name).second) in.fail(in.at(), "name", "'", option.name, "' is declared twice");
  if (const std::string complaint = option.complaint(); !complaint.empty())
    in.fail(in.at(), "values", "of '", option.name, "': the option ", complaint);
  // A default that breaks the option's own rule would make every session fail.
  Result<std::vector<config::OptionSetting>> tried = config::validate_options(out.id, {&option, 1}, {});
  if (!tried) in.fail(in.at(), "default", "does not fit the option itself: ", tried.error().message());
  out.options.push_back(std::move(option));
}

void read_device(Reader& in, Manifest& out) {
  ManifestDevice device;
  if (in.text("kind", device.kind, true)) one_of(in, "kind", device.kind, {"cpu", "gpu", "npu", "other"});
  in.text("pci_vendor", device.pci_vendor, false);
  out.devices.push_back(std::move(device));
}

void read_root(Reader& in, Manifest& out) {
  in.object("provider", true, [&](Reader& inner) { read_identity(inner, out); });
  in.object("abi", true, [&](Reader& inner) { read_abi(inner, out); });
  in.object("library", true, [&](Reader& inner) { read_library(inner, out); });
  in.objects("files", [&](Reader& inner) { read_file(inner, out.files.emplace_back()); });
  in.object("requires", false, [&](Reader& inner) { read_requires(inner, out); });
  in.objects("devices", [&](Reader& inner) { read_device(inner, out); });
  in.object("traits", false, [&](Reader& inner) { read_traits(inner, out); });
  in.object("opsets", false, [&](Reader& inner) { read_opsets(inner, out); });
  if (in.text("ops_file", out.ops_file, false) && !stays_below(out.ops_file)) {
    in.fail(*in.find("ops_file"), "ops_file",
            "must be relative to the manifest and stay below it, without '..'");
  }
  std::set<std::string> names;
  in.objects("options", [&](Reader& inner) { read_option(inner, out, names); });
  in.integer("priority", -1000000, 1000000, out.priority, false);
  in.object("conformance", false, [&](Reader& inner) {
    inner.text("kit", out.conformance_kit, false);
    inner.strings("classes", out.conformance_classes);
    inner.text("report", out.conformance_report, false);
  });
  in.text("signature", out.signature, false);
}

constexpr std::string_view kKnownKeys[] = {
    "manifest_version", "provider", "abi",     "library",  "files",       "requires",  "devices", "traits",
    "opsets",           "ops_file", "options", "priority", "conformance", "signature", "$schema"};

}  // namespace

std::string Manifest::path_of(const ManifestFile& entry) const {
  return (std::filesystem::path(directory) / entry.path).string();
}

Result<Manifest> parse_manifest(std::string_view json, const std::string& path) {
  if (json.size() > kMaxManifestBytes) {
    return refuse(Refusal::kManifestSyntax, str_cat("manifest '", path, "' is larger than 1 MiB"));
  }
  Result<Value> root = config::read_json(json, path);
  if (!root) return refuse(Refusal::kManifestSyntax, root.error().message());
  Manifest manifest;
  manifest.path = path;
  manifest.directory = std::filesystem::path(path).parent_path().string();
  Complaints errors;
  Reader in(*root->as_table(), *root, "", errors);
  int64_t version = 0;
  if (in.integer("manifest_version", 1, UINT32_MAX, version, true) && version != TENON_EP_MANIFEST_VERSION) {
    return refuse(Refusal::kManifestVersion, str_cat("manifest '", path, "' has version ", version,
                                                     "; this host reads ", TENON_EP_MANIFEST_VERSION));
  }
  manifest.manifest_version = static_cast<uint32_t>(version);
  read_root(in, manifest);
  if (errors.more != 0) errors.first.push_back(str_cat("and ", errors.more, " more"));
  if (!errors.first.empty()) return refuse(Refusal::kManifestSyntax, join(errors.first, "\n"));
  for (const auto& [key, value] : *root->as_table()) {
    if (std::find(std::begin(kKnownKeys), std::end(kKnownKeys), key) == std::end(kKnownKeys)) {
      manifest.unknown[key] = value;
    }
  }
  return manifest;
}

Result<std::shared_ptr<const Manifest>> read_manifest(const std::string& path) {
  static constinit KnownFiles<Manifest> known;
  const Result<std::unique_ptr<OpenFile>> file = OpenFile::open(path);
  if (!file && file.error().kind() == ErrorKind::kOutOfMemory) return file.error();
  if (!file) return refuse(Refusal::kManifestSyntax, file.error().message());
  return known.get(**file, [&]() -> Result<Manifest> {
    const Result<std::string> text = (*file)->text(kMaxManifestBytes);
    if (!text) return refuse(Refusal::kManifestSyntax, text.error().message());
    return parse_manifest(*text, path);
  });
}

}  // namespace tenon::provider
