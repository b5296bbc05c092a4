#include "tests/unit/host/provider/provider_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "host/provider/open_file.h"
#include "host/provider/scan.h"
#include "tests/support/paths.h"

namespace tenon::provider {
namespace {

namespace fs = std::filesystem;

nlohmann::json read_json_file(const std::string& path) { return nlohmann::json::parse(std::ifstream(path)); }

void write_text(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  // A new file each time, as a package manager does it: the old one may be mapped.
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << text;
}

// Only the zoo's well-formed members have a generated manifest; the others borrow that of `good`.
nlohmann::json manifest_for(const std::string& zoo, const std::string& name) {
  if (fs::exists(zoo + "/" + name + ".tenon.json")) return read_json_file(zoo + "/" + name + ".tenon.json");
  nlohmann::json manifest = read_json_file(zoo + "/good.tenon.json");
  manifest["provider"]["id"] = name;
  manifest["library"]["path"] = name + "/1.0.0/tenon_ep_" + name + ".so";
  return manifest;
}

}  // namespace

ProviderFolder::ProviderFolder() {
  static std::atomic<int> count{0};
  path_ =
      ::testing::TempDir() + "tenon_providers_" + std::to_string(getpid()) + "_" + std::to_string(count++);
  fs::create_directories(providers());
  path_ = fs::canonical(path_).string();
}

ProviderFolder::~ProviderFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ProviderFolder::add(const std::string& name, const std::string& file) {
  std::string zoo = test::fakes_dir() + "/defects";
  nlohmann::json manifest = manifest_for(zoo, name);
  std::string library = manifest["library"]["path"];
  fs::create_directories(fs::path(providers() + "/" + library).parent_path());
  fs::copy_file(zoo + "/" + library, providers() + "/" + library, fs::copy_options::overwrite_existing);
  std::string path = providers() + "/" + (file.empty() ? name + ".tenon.json" : file);
  write_text(path, manifest.dump(1));
  rehash(path);
  return path;
}

void ProviderFolder::edit(const std::string& manifest_path, const std::string& pointer,
                          const nlohmann::json& value) {
  nlohmann::json manifest = read_json_file(manifest_path);
  manifest[nlohmann::json::json_pointer(pointer)] = value;
  write_text(manifest_path, manifest.dump(1));
}

std::string ProviderFolder::write(const std::string& name, const std::string& text) {
  write_text(path_ + "/" + name, text);
  return path_ + "/" + name;
}

std::string ProviderFolder::library_of(const std::string& manifest_path) {
  std::string relative = read_json_file(manifest_path)["library"]["path"];
  return (fs::path(manifest_path).parent_path() / relative).string();
}

void ProviderFolder::rehash(const std::string& manifest_path) {
  auto file = OpenFile::open(library_of(manifest_path));
  ASSERT_TRUE(file.ok());
  edit(manifest_path, "/library/sha256", (*file)->sha256().value_or(""));
  edit(manifest_path, "/library/size", (*file)->size());
}

RegistryOptions ProviderFolder::options() const {
  static const tenon_host_api kHost = [] {
    tenon_host_api api{};
    api.struct_size = sizeof api;
    return api;
  }();
  RegistryOptions options;
  options.host_api = &kHost;
  options.discovery = config::Config()->discovery;
  options.environment = false;
  options.system_dirs = std::vector<std::string>{providers()};
  options.install_dir = "";
  options.state_dir = state();
  options.scan_helper = test::lib_dir() + "/tenon-scan";
  return options;
}

}  // namespace tenon::provider
