#include "host/provider/file_checks.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "host/base/text.h"
#include "host/provider/elf_reader.h"
#include "host/provider/known_files.h"
#include "host/provider/machine.h"
#include "host/provider/refusal.h"
#include "tenon/ep.h"

namespace tenon::provider {
namespace {

using config::Trust;

constexpr std::string_view kEntry = "tenon_ep_negotiate";

Status check_content(const ManifestFile& entry, const OpenFile& file, const std::string& real_path) {
  if (file.size() != entry.size) {
    return refuse(Refusal::kShaMismatch, str_cat("'", real_path, "' has ", file.size(),
                                                 " bytes, but its manifest says ", entry.size));
  }
  Result<std::string> hash = file.sha256();
  if (!hash) return refuse(Refusal::kShaMismatch, hash.error().message());
  if (*hash == entry.sha256) return ok_status();
  return refuse(Refusal::kShaMismatch,
                str_cat("'", real_path, "' has the SHA-256 ", hash->substr(0, 12),
                        "..., but its manifest says ", entry.sha256.substr(0, 12), "..."));
}

/// An open file that the manifest names, and its path with links resolved.
struct Opened {
  std::string real_path;
  std::unique_ptr<OpenFile> file;
};

/// Opens the file and checks, as `trust` demands, that nobody else may write it and that its content is the manifest's.
Result<Opened> open_checked(const Manifest& manifest, const ManifestFile& entry, std::string_view what,
                            Trust trust) {
  std::error_code error;
  std::filesystem::path real = std::filesystem::canonical(manifest.path_of(entry), error);
  if (error == std::errc::not_enough_memory)
    return out_of_memory("'", manifest.path_of(entry), "': ", error.message());
  if (error) {
    return refuse(Refusal::kLoad,
                  str_cat("the ", what, " '", manifest.path_of(entry), "': ", error.message()),
                  "install the provider's package again, library and manifest together");
  }
  Result<std::unique_ptr<OpenFile>> file = OpenFile::open(real.string());
  if (!file) return refuse(Refusal::kLoad, file.error().message());
  if (trust != Trust::kNone) RETURN_IF_ERROR(check_writers(real.string()));
  if (trust == Trust::kHash || trust == Trust::kSignature)
    RETURN_IF_ERROR(check_content(entry, **file, real.string()));
  return Opened{real.string(), std::move(*file)};
}

Status check_note(const Manifest& manifest, const BinaryInfo& info) {
  if (!info.has_note) return refuse(Refusal::kNoteMismatch, "the library has no Tenon note");
  auto compare = [&](const std::string& key, const std::string& wanted) {
    auto found = info.note.find(key);
    std::string given = found == info.note.end() ? "nothing" : "'" + found->second + "'";
    if (found != info.note.end() && found->second == wanted) return ok_status();
    return refuse(Refusal::kNoteMismatch, str_cat("the library's note says ", given, " for '", key,
                                                  "', but the manifest says '", wanted, "'"));
  };
  RETURN_IF_ERROR(compare("id", manifest.id));
  RETURN_IF_ERROR(compare("version", manifest.version.to_string()));
  RETURN_IF_ERROR(compare("abi", str_cat(manifest.abi_major, ".", manifest.abi_max_minor)));
  return compare("manifest", str_cat(manifest.manifest_version));
}

std::string some_of(std::vector<std::string> names) {
  constexpr size_t kShown = 3;
  size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  std::string text = join(names, ", ");
  return more == 0 ? text : str_cat(text, " and ", more, " more");
}

Status check_exports(const BinaryInfo& info) {
  std::vector<std::string> others;
  bool has_entry = false;
  for (const std::string& name : info.exports) {
    if (name == kEntry) {
      has_entry = true;
    } else {
      others.push_back(name);
    }
  }
  if (!has_entry) return refuse(Refusal::kNoEntry, str_cat("the library does not export ", kEntry));
  if (!info.unique.empty()) {
    return refuse(Refusal::kExports, str_cat("the library exports symbols that are unique in the process: ",
                                             some_of(info.unique)));
  }
  if (!others.empty())
    return refuse(Refusal::kExports, str_cat("the library also exports ", some_of(std::move(others))));
  return ok_status();
}

Status check_binary(const Manifest& manifest, const OpenFile& file, const std::string& real_path) {
  static constinit KnownFiles<BinaryInfo> known;
  const Result<std::shared_ptr<const BinaryInfo>> read = known.get(file, [&] { return read_elf(file); });
  if (!read) return refuse(Refusal::kLoad, str_cat("'", real_path, "': ", read.error().message()));
  const BinaryInfo* info = read->get();
  if (info->arch != host_arch()) {
    return refuse(Refusal::kArch,
                  str_cat("'", real_path, "' is compiled for ", info->arch, ", this host is ", host_arch()));
  }
  if (!info->is_shared_library)
    return refuse(Refusal::kLoad, str_cat("'", real_path, "' is not a shared library"));
  RETURN_IF_ERROR(check_note(manifest, *info));
  return check_exports(*info);
}

Status check_required_files(const Manifest& manifest) {
  const std::string missing = shared::missing_files(manifest.required_files);
  return missing.empty() ? ok_status() : refuse(Refusal::kDepMissing, missing, manifest.required_hint);
}

}  // namespace

bool CheckedFile::is_fresh() const {
  const auto same = [](const std::string& path, const FileIdentity& before) {
    Result<FileIdentity> now = identity_of(path);
    return now && *now == before;
  };
  return same(real_path, identity) && std::all_of(others.begin(), others.end(), [&](const Other& other) {
           return same(other.real_path, other.identity);
         });
}

Result<CheckedFile> check_files(const Manifest& manifest, Trust trust) {
  ASSIGN_OR_RETURN(Opened library, open_checked(manifest, manifest.file, "library", trust));
  if (trust != Trust::kNone) {
    std::error_code error;
    std::filesystem::path manifest_path = std::filesystem::canonical(manifest.path, error);
    if (error == std::errc::not_enough_memory)
      return out_of_memory("'", manifest.path, "': ", error.message());
    if (!error) RETURN_IF_ERROR(check_writers(manifest_path.string()));
  }
  CheckedFile out{library.real_path, library.file->identity(), {}};
  for (const ManifestFile& entry : manifest.files) {
    ASSIGN_OR_RETURN(Opened other, open_checked(manifest, entry, "file", trust));
    out.others.push_back({other.real_path, other.file->identity()});
  }
  if (trust == Trust::kSignature) {
    return refuse(Refusal::kSignature, manifest.signature.empty()
                                           ? "the manifest has no signature"
                                           : "this host has no key to check the signature with");
  }
  RETURN_IF_ERROR(check_binary(manifest, *library.file, library.real_path));
  RETURN_IF_ERROR(check_required_files(manifest));
  return out;
}

}  // namespace tenon::provider
