// The manifest of a provider, `*.tenon.json`: its identity, its library, its needs and its features. Reading a
// manifest runs no code of the provider and trusts nothing in it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "host/base/version.h"
#include "host/config/options.h"

namespace tenon::provider {

/// A device that the provider supports, for messages about what to install. The provider itself matches devices.
struct ManifestDevice {
  std::string kind;        // "cpu", "gpu", "npu", "other"
  std::string pci_vendor;  // "0x10de"; empty = any
};

struct ManifestFile {
  std::string path;    // as written: relative to the manifest's folder, without ".."
  std::string sha256;  // 64 lower-case hex digits
  uint64_t size = 0;
};

struct ManifestLibrary : ManifestFile {
  std::string os;                         // "linux", "windows" or "macos"
  std::string arch;                       // "x86_64", "aarch64", ...
  std::string libc;                       // oldest supported C library, such as "glibc 2.36"; empty = unknown
  std::vector<std::string> cpu_features;  // "avx2", ...
  std::string sanitizer;                  // "none", "address", "thread", "memory"
};

struct ManifestTraits {
  bool completes = false;  // the provider may be last and run every operator
  std::vector<std::string> isolation = {"inproc"};
  bool unloadable = false;
  bool fork_safe = false;
  bool deterministic = false;
};

struct Manifest {
  std::string path;       // the file itself, absolute
  std::string directory;  // its folder, absolute
  uint32_t manifest_version = 0;

  std::string id, name, vendor;
  Version version;

  uint32_t abi_major = 0, abi_min_minor = 0, abi_max_minor = 0;
  ManifestLibrary file;             // the manifest's `library`
  std::vector<ManifestFile> files;  // the provider's other files: libraries, tables, weights

  std::vector<std::string> required_sonames, required_files;
  std::string required_hint;  // what to install when a required library or file is missing

  std::vector<ManifestDevice> devices;
  ManifestTraits traits;
  std::map<std::string, std::array<int64_t, 2>> opsets;  // domain -> {lowest, highest}
  std::string ops_file;                                  // relative; empty = no file
  std::vector<config::OptionSpec> options;
  int64_t priority = 0;  // higher is preferred by select.order = "auto"; below 0: used only by name

  std::string conformance_kit, conformance_report;
  std::vector<std::string> conformance_classes;
  std::string signature;

  /// Top-level keys that this host does not know. They are kept and otherwise ignored.
  std::map<std::string, config::Value> unknown;

  /// directory + file.path, with links not resolved.
  std::string file_path() const { return path_of(file); }
  std::string path_of(const ManifestFile& entry) const;
};

/// Limits of a manifest file. The size is checked before parsing.
inline constexpr uint64_t kMaxManifestBytes = 1 << 20;
inline constexpr int kMaxManifestDepth = 32;

/// Parses the text and checks it against the schema. Refusals: E_MANIFEST_SYNTAX, which lists all mistakes, and
/// E_MANIFEST_VERSION. `path` is only recorded.
Result<Manifest> parse_manifest(std::string_view json, const std::string& path);
/// Reads at most kMaxManifestBytes of a regular file. The result is kept for the process until the file changes.
Result<std::shared_ptr<const Manifest>> read_manifest(const std::string& path);

}  // namespace tenon::provider
