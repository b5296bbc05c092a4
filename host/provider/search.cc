#include "host/provider/search.h"

#include <algorithm>
#include <filesystem>

#include "host/base/environment.h"
#include "host/base/folder.h"
#include "host/base/out_of_memory.h"
#include "host/base/text.h"
#include "host/provider/machine.h"
#include "host/provider/scan.h"

namespace tenon::provider {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".tenon.json";
#if defined(_WIN32)
constexpr char kListSeparator = ';';
#else
constexpr char kListSeparator = ':';
#endif

class Search {
 public:
  Search(const RegistryOptions& options, std::vector<std::string>& notices, std::vector<std::string>& folders)
      : options_(options), notices_(notices), folders_(folders) {}

  std::vector<Found> run() {
    // Paths that the application gives are relative to its current folder.
    for (const std::string& path : options_.registered) add(Place::kRegistered, fs::absolute(path));
    bool replaced = variable(Place::kEnvFiles, "TENON_PROVIDER_FILES");
    variable(Place::kEnvAddFiles, "TENON_ADD_PROVIDER_FILES");
    if (!replaced) fixed_places();
    return std::move(found_);
  }

 private:
  void fixed_places() {
    for (const std::string& folder : options_.discovery.search) add(Place::kConfig, folder);
    std::string own = options_.install_dir ? *options_.install_dir : own_folder();
    if (!own.empty()) add(Place::kLibrary, fs::path(own) / "tenon" / "providers.d", true);
    std::optional<std::string> home = user_directory("DATA", ".local/share");
    if (options_.discovery.user && home) add(Place::kUser, fs::path(*home) / "tenon" / "providers.d", true);
    if (options_.discovery.user && elevated_privileges()) {
      notices_.push_back("discovery.user is ignored: this process has elevated privileges");
    }
    std::vector<std::string> system = options_.system_dirs ? *options_.system_dirs : system_folders();
    for (const std::string& folder : system) add(Place::kSystem, folder, true);
  }

  static std::vector<std::string> system_folders() {
    return {"/etc/tenon/providers.d", "/usr/local/lib/tenon/providers.d",
            str_cat("/usr/lib/", host_arch(), "-linux-gnu/tenon/providers.d")};
  }

  // Returns whether the variable is used.
  bool variable(Place place, const char* name) {
    if (!options_.environment) return false;
    if (environment_ignored(name)) {
      notices_.push_back(str_cat(name, " is ignored: this process has elevated privileges"));
    }
    std::optional<std::string> list = environment(name);
    if (!list) return false;
    for (const std::string& path : split(*list, kListSeparator)) {
      if (fs::path(path).is_absolute()) {
        add(place, path);
      } else {
        notices_.push_back(str_cat(name, ": '", path, "' is ignored: it is not an absolute path"));
      }
    }
    return true;
  }

  // Adds a manifest file, or a folder of them. `may_be_absent`: a missing path is not reported.
  void add(Place place, const fs::path& path, bool may_be_absent = false) {
    std::error_code error;
    fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) {
      folder(place, path);
    } else if (fs::is_regular_file(status)) {
      file(place, path);
    } else if (!may_be_absent) {
      notices_.push_back(
          str_cat(place_name(place), ": '", path.string(), "' is neither a manifest nor a folder"));
    }
  }

  void folder(Place place, const fs::path& path) {
    folders_.push_back(path.string());
    Result<std::vector<std::string>> listed = list_folder(path.string(), kSuffix);
    if (!listed) {
      throw_if_out_of_memory(listed.error());
      notices_.emplace_back(listed.error().message());
      return;
    }
    std::vector<std::string>& names = *listed;
    if (names.empty()) look_below(place, path);
    if (names.size() > kMaxManifestsPerFolder) {
      notices_.push_back(str_cat("'", path.string(), "' contains ", names.size(),
                                 " manifests; only the first ", kMaxManifestsPerFolder, " are used"));
      names.resize(kMaxManifestsPerFolder);
    }
    for (const std::string& name : names) file(place, path / name);
  }

  /// Tells of a folder such as build, named where build/providers.d is meant: no folder is searched below.
  void look_below(Place place, const fs::path& path) {
    const fs::path below = path / "providers.d";
    std::error_code error;
    if (!fs::is_directory(below, error)) return;
    Result<std::vector<std::string>> listed = list_folder(below.string(), kSuffix);
    if (!listed) throw_if_out_of_memory(listed.error());
    if (!listed || listed->empty()) return;
    notices_.push_back(str_cat(place_name(place), ": '", path.string(), "' holds no manifest; name '",
                               below.string(), "', which does"));
  }

  void file(Place place, const fs::path& path) {
    std::string normal = path.lexically_normal().string();
    auto same = [&](const Found& other) { return other.path == normal; };
    if (std::none_of(found_.begin(), found_.end(), same)) found_.push_back({place, std::move(normal)});
  }

  const RegistryOptions& options_;
  std::vector<std::string>& notices_;
  std::vector<std::string>& folders_;
  std::vector<Found> found_;
};

}  // namespace

std::string_view place_name(Place place) {
  constexpr std::string_view kNames[] = {"registered by the application",
                                         "TENON_PROVIDER_FILES",
                                         "TENON_ADD_PROVIDER_FILES",
                                         "discovery.search",
                                         "beside libtenon",
                                         "user's providers.d",
                                         "system's providers"};
  return kNames[static_cast<int>(place)];
}

std::vector<Found> search_manifests(const RegistryOptions& options, std::vector<std::string>& notices,
                                    std::vector<std::string>& folders) {
  return Search(options, notices, folders).run();
}

}  // namespace tenon::provider
