#include "tools/tenon/provider_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kSuffix = ".tenon.json";
constexpr const char* kAside = ".off";

Error provider_error(const std::string& id, const std::string& message) {
  return Error(TENON_FAILURE_PROVIDER_MISSING, TENON_FAILED_PRECONDITION, "provider '" + id + "'", message);
}

/// Turns an exception of the file system into a tenon::Error.
template <class F>
auto on_disk(F&& work) {
  try {
    return work();
  } catch (const fs::filesystem_error& error) {
    throw input_error(error.path1().string(), error.code().message() + " (" + error.what() + ")");
  }
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw input_error(path.string(), "cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw input_error(path.string(), "cannot be written");
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string text_at(const Json& json, const std::string& pointer) {
  const Json::json_pointer at(pointer);
  return json.contains(at) && json.at(at).is_string() ? json.at(at).get<std::string>() : "";
}

/// True when `word` can safely be part of a folder's name, as ids and versions are.
bool is_plain(const std::string& word) {
  return !word.empty() && word[0] != '.' && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '+' || c == '_';
  });
}

InstalledProvider read_manifest(const fs::path& path) {
  InstalledProvider out;
  out.manifest = path;
  out.content = Json::parse(read_file(path), nullptr, false);
  out.id = text_at(out.content, "/provider/id");
  out.version = text_at(out.content, "/provider/version");
  if (!is_plain(out.id) || !is_plain(out.version) || text_at(out.content, "/library/path").empty())
    throw input_error(path.string(),
                      "is not a manifest: it needs provider.id, provider.version and library.path");
  return out;
}

/// The paths of a manifest's files as written there, the library first.
std::vector<std::string> named_files(const Json& manifest) {
  std::vector<std::string> out{text_at(manifest, "/library/path")};
  for (const Json& file : manifest.value("files", Json::array())) out.push_back(file.value("path", ""));
  return out;
}

Json describe_found(const SessionFlags& flags) {
  const Json found = Json::parse(describe_providers(flags.config(), true, false), nullptr, false);
  return found.is_array() ? found : Json::array();
}

/// Unsets TENON_PROVIDER_FILES while it lives, because the variable replaces discovery.search.
class WithoutProviderFiles {
 public:
  WithoutProviderFiles() {
    const char* list = std::getenv(kName);
    if (list == nullptr) return;
    kept_ = list;
    unsetenv(kName);
  }
  ~WithoutProviderFiles() {
    if (!kept_.empty()) setenv(kName, kept_.c_str(), 1);
  }

 private:
  static constexpr const char* kName = "TENON_PROVIDER_FILES";
  std::string kept_;
};

/// The host's verdict on one manifest, which may be in any folder.
InstalledProvider judge(SessionFlags flags, const fs::path& manifest) {
  const WithoutProviderFiles only_here;
  flags.settings.push_back("discovery.search=" + Json{manifest.parent_path().string()}.dump());
  for (const Json& entry : describe_found(flags)) {
    if (!fs::equivalent(entry.value("manifest", ""), manifest)) continue;
    InstalledProvider out;
    out.refusal = entry.value("refusal", "");
    out.reason = entry.value("reason", "");
    out.cure = entry.value("cure", "");
    return out;
  }
  throw input_error(manifest.string(), "is not found by the host");
}

std::string listed(const std::vector<InstalledProvider>& all, const std::string& id) {
  std::string out;
  for (const InstalledProvider& entry : all)
    if (entry.id == id)
      out += (out.empty() ? "" : ", ") + entry.version + (entry.aside ? " (set aside)" : "");
  return out.empty() ? "none" : out;
}

const InstalledProvider* chosen(const std::vector<InstalledProvider>& all, const std::string& id) {
  for (const InstalledProvider& entry : all)
    if (entry.id == id && entry.chosen) return &entry;
  return nullptr;
}

/// Prints `done`, and the version that the next session uses.
void report(const SessionFlags& flags, const std::string& id, const std::string& done) {
  const std::vector<InstalledProvider> all = installed_providers(flags);
  const InstalledProvider* taken = chosen(all, id);
  std::printf("%s\n", done.c_str());
  const bool is_found = std::any_of(
      all.begin(), all.end(), [&](const InstalledProvider& entry) { return entry.id == id && !entry.aside; });
  if (taken == nullptr) {
    std::printf("sessions use no version of %s now%s\n", id.c_str(),
                is_found ? ": see `tenon providers doctor`" : "");
  } else {
    std::printf("the next session uses %s %s (%s); running sessions keep theirs\n", id.c_str(),
                taken->version.c_str(), taken->manifest.c_str());
  }
}

fs::path aside_name(const fs::path& manifest) { return manifest.string() + kAside; }

fs::path manifest_in(const fs::path& source) {
  if (!fs::is_directory(source)) return source;
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(source))
    if (ends_with(entry.path().filename().string(), kSuffix)) found.push_back(entry.path());
  if (found.size() == 1) return found[0];
  throw input_error(source.string(), "holds " + std::to_string(found.size()) + " manifests (*" + kSuffix +
                                         "): name the one to install");
}

/// Copies a provider's files to folder/<id>/<version>, and writes a manifest with the new paths.
fs::path copy_into(const InstalledProvider& provider, const fs::path& folder) {
  const fs::path place = fs::path(provider.id) / provider.version;
  fs::create_directories(folder / place);
  Json content = provider.content;
  std::set<std::string> names;
  const auto copy = [&](Json& path) {
    const fs::path named(path.get<std::string>());
    const std::string name = named.filename().string();
    if (named.is_absolute() || name.empty() || !names.insert(name).second)
      throw input_error(
          provider.manifest.string(),
          "names '" + named.string() + "': file names must be unique and relative to the manifest");
    const fs::path from = provider.manifest.parent_path() / named, to = folder / place / name;
    if (!fs::is_regular_file(from))
      throw input_error(from.string(), "is named by the manifest but is not a file");
    fs::copy_file(from, to);
    fs::permissions(to, fs::perms(0755));
    path = (place / name).generic_string();
  };
  copy(content["library"]["path"]);
  if (content.contains("files"))
    for (Json& file : content["files"]) copy(file["path"]);
  fs::path manifest = folder / (provider.id + "-" + provider.version + kSuffix);
  write_file(manifest, content.dump(2) + "\n");
  return manifest;
}

/// Empty when neither XDG_DATA_HOME nor HOME is set.
fs::path user_provider_folder() {
  const char *data = std::getenv("XDG_DATA_HOME"), *home = std::getenv("HOME");
  if (data != nullptr && *data == '/') return fs::path(data) / "tenon/providers.d";
  if (home != nullptr && *home == '/') return fs::path(home) / ".local/share/tenon/providers.d";
  return {};
}

bool is_searched(const SessionFlags& flags, const fs::path& manifest) {
  for (const Json& entry : describe_found(flags))
    if (fs::equivalent(entry.value("manifest", ""), manifest)) return true;
  return false;
}

std::string digest(const Json& manifest) { return text_at(manifest, "/library/sha256"); }

}  // namespace

fs::path default_provider_folder() {
  if (geteuid() == 0) return "/usr/local/lib/tenon/providers.d";
  fs::path own = user_provider_folder();
  if (own.empty()) throw input_error("providers install", "there is no HOME: name a folder with --to");
  return own;
}

std::vector<InstalledProvider> installed_providers(const SessionFlags& flags) {
  std::vector<InstalledProvider> out;
  std::set<fs::path> folders;
  for (const Json& entry : describe_found(flags)) {
    InstalledProvider provider;
    provider.manifest = entry.value("manifest", "");
    provider.id = entry.value("id", "");
    provider.version = entry.value("version", "");
    provider.refusal = entry.value("refusal", "");
    provider.reason = entry.value("reason", "");
    provider.cure = entry.value("cure", "");
    provider.chosen = entry.value("chosen", false);
    folders.insert(provider.manifest.parent_path());
    out.push_back(std::move(provider));
  }
  folders.insert(geteuid() == 0 ? default_provider_folder() : user_provider_folder());
  for (const fs::path& folder : folders) {
    std::error_code absent;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, absent)) {
      if (!ends_with(entry.path().filename().string(), std::string(kSuffix) + kAside)) continue;
      InstalledProvider provider = read_manifest(entry.path());
      provider.aside = true;
      out.push_back(std::move(provider));
    }
  }
  return out;
}

void install_provider(const SessionFlags& flags, const fs::path& source, const fs::path& folder) {
  on_disk([&] {
    const InstalledProvider provider = read_manifest(manifest_in(source));
    const fs::path manifest = folder / (provider.id + "-" + provider.version + kSuffix);
    const std::string name = provider.id + " " + provider.version;
    if (fs::exists(aside_name(manifest)))
      throw provider_error(provider.id, provider.version + " is set aside in " + folder.string() +
                                            ": take it back with `tenon providers restore " + name +
                                            "`, or delete it with `tenon providers remove --purge " + name +
                                            "`");
    if (fs::exists(manifest)) {
      if (digest(read_manifest(manifest).content) != digest(provider.content))
        throw provider_error(provider.id, "another build of " + provider.version + " is in " +
                                              folder.string() +
                                              ": raise the version, or remove that one first");
      return report(flags, provider.id, name + " is installed already");
    }
    fs::create_directories(folder);
    const fs::path staging = folder / (".installing-" + provider.id + "-" + provider.version);
    fs::remove_all(staging);  // left over from an interrupted installation
    try {
      const InstalledProvider verdict = judge(flags, copy_into(provider, staging));
      if (!verdict.refusal.empty())
        throw Error(
            TENON_FAILURE_PROVIDER_REFUSED, TENON_FAILED_PRECONDITION, "provider '" + provider.id + "'",
            verdict.refusal + ": " + verdict.reason + "; nothing was installed. Cure: " + verdict.cure);
    } catch (...) {
      fs::remove_all(staging);
      throw;
    }
    const fs::path place = fs::path(provider.id) / provider.version;
    fs::create_directories(folder / provider.id);
    fs::remove_all(folder / place);  // left over, because no manifest names it
    fs::rename(staging / place, folder / place);
    fs::rename(staging / manifest.filename(), manifest);
    fs::remove_all(staging);
    report(flags, provider.id, "installed " + name + " into " + folder.string());
    if (!is_searched(flags, manifest))
      std::printf("%s is not searched: set discovery.search = [\"%s\"]%s\n", folder.c_str(),
                  fs::absolute(folder).c_str(),
                  folder == user_provider_folder() ? ", or discovery.user = true" : "");
  });
}

void roll_back_provider(const SessionFlags& flags, const std::string& id) {
  on_disk([&] {
    const std::vector<InstalledProvider> all = installed_providers(flags);
    const InstalledProvider* current = chosen(all, id);
    if (current == nullptr)
      throw provider_error(id, "sessions use no version of it; installed: " + listed(all, id));
    const bool another = std::any_of(all.begin(), all.end(), [&](const InstalledProvider& entry) {
      return entry.id == id && !entry.aside && entry.refusal.empty() && entry.version != current->version;
    });
    if (!another)
      throw provider_error(id, "there is no other version to go back to; installed: " + listed(all, id));
    fs::rename(current->manifest, aside_name(current->manifest));
    report(flags, id,
           id + " " + current->version + " is set aside; `tenon providers restore " + id + " " +
               current->version + "` takes it back");
  });
}

void restore_provider(const SessionFlags& flags, const std::string& id, const std::string& version) {
  on_disk([&] {
    const std::vector<InstalledProvider> all = installed_providers(flags);
    std::vector<const InstalledProvider*> found;
    for (const InstalledProvider& entry : all)
      if (entry.aside && entry.id == id && (version.empty() || entry.version == version))
        found.push_back(&entry);
    if (found.size() != 1)
      throw provider_error(id, std::string(found.empty() ? "no such version is" : "several versions are") +
                                   " set aside; installed: " + listed(all, id));
    std::string name = found[0]->manifest.string();
    name.resize(name.size() - std::string(kAside).size());
    if (fs::exists(name)) throw provider_error(id, name + " exists again: remove it first");
    fs::rename(found[0]->manifest, name);
    report(flags, id, id + " " + found[0]->version + " is back");
  });
}

void remove_provider(const SessionFlags& flags, const std::string& id, const std::string& version,
                     bool purge) {
  on_disk([&] {
    const std::vector<InstalledProvider> all = installed_providers(flags);
    std::vector<const InstalledProvider*> found;
    for (const InstalledProvider& entry : all)
      if (entry.id == id && entry.version == version && (purge || !entry.aside)) found.push_back(&entry);
    if (found.empty()) throw provider_error(id, version + " is not installed; installed: " + listed(all, id));
    if (found.size() > 1)
      throw provider_error(id, version + " is installed in " + found[0]->manifest.parent_path().string() +
                                   " and in " + found[1]->manifest.parent_path().string() +
                                   ": remove the files of one by hand");
    const fs::path manifest = found[0]->manifest, aside = found[0]->aside ? manifest : aside_name(manifest);
    if (!found[0]->aside) fs::rename(manifest, aside);
    if (!purge)
      return report(flags, id,
                    id + " " + version + " is set aside; `tenon providers restore " + id + " " + version +
                        "` takes it back, `remove --purge` deletes its files");
    for (const std::string& file : named_files(read_manifest(aside).content)) {
      const fs::path path = (aside.parent_path() / file).lexically_normal();
      const fs::path inside = path.lexically_relative(aside.parent_path().lexically_normal());
      if (inside.empty() || *inside.begin() == "..")
        continue;  // outside the provider's folder: not ours to delete
      fs::remove(path);
      std::error_code not_empty;
      for (fs::path up = inside.parent_path(); !up.empty(); up = up.parent_path())
        if (!fs::remove(aside.parent_path() / up, not_empty)) break;
    }
    fs::remove(aside);
    report(flags, id, id + " " + version + " is deleted");
  });
}

}  // namespace tenon::cli
