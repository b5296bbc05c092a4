// tenon new-provider: writes the project of a provider from the templates that the SDK installs.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/tenon/command.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// What the templates have for the id, and for the same as the name of a Python module.
constexpr std::string_view kId = "@id@", kModule = "@module@";
// The word of select.order, Tenon itself, and its own providers.
constexpr const char* kReserved[] = {"auto", "tenon", "cpu", "cuda", "image", "onednn", "opencl", "vulkan"};

/// The template folders, found from the command's own binary: an installation may be moved.
fs::path template_folder() {
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  fs::path folder = (binary.parent_path() / TENON_TEMPLATES).lexically_normal();
  if (error || !fs::is_directory(folder, error))
    throw input_error(
        folder.string(),
        "is missing: it comes with the SDK (package tenon-sdk, component sdk), which must have the "
        "command's prefix");
  return folder;
}

/// Throws unless the manifest's schema allows the id and no provider that the host finds has it.
void check_id(const std::string& id) {
  const auto is_plain = [](unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto is_allowed = [&](unsigned char c) { return is_plain(c) || c == '_' || c == '-'; };
  if (id.empty() || id.size() > 63 || !is_plain(static_cast<unsigned char>(id[0])) ||
      !std::all_of(id.begin(), id.end(), is_allowed))
    throw input_error(
        "'" + id + "'",
        "is no provider id: it has 1 to 63 of a-z, 0-9, _ and -, and begins with a letter or digit");
  if (std::find(std::begin(kReserved), std::end(kReserved), id) != std::end(kReserved))
    throw input_error("'" + id + "'", "is reserved by Tenon: choose another id");
  const Json found = Json::parse(describe_providers(Config(), false), nullptr, false);
  if (!found.is_array()) return;
  for (const Json& entry : found)
    if (entry.value("id", "") == id)
      throw input_error("'" + id + "'", "is the id of the provider in " + entry.value("manifest", "") +
                                            ": choose another id, or remove that provider first");
}

std::string read_template(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw input_error(path.string(), "cannot be read: install the SDK again");
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_new(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw input_error(path.string(), "cannot be written");
}

void replace_all(std::string& text, std::string_view placeholder, const std::string& word) {
  for (size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos; at += word.size())
    text.replace(at, placeholder.size(), word);
}

std::string with_id(std::string text, const std::string& id) {
  std::string module = id;
  std::replace(module.begin(), module.end(), '-', '_');
  replace_all(text, kId, id);
  replace_all(text, kModule, module);
  return text;
}

/// Writes the files of one template folder below `target`.
void fill(const fs::path& source, const fs::path& target, const std::string& id) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source)) {
    const fs::path to = target / entry.path().lexically_relative(source);
    if (entry.is_directory()) {
      fs::create_directories(to);
    } else {
      write_new(to, with_id(read_template(entry.path()), id));
    }
  }
}

/// Where the project goes: absolute, without a slash at the end. Its folder above must exist.
fs::path target_folder(const std::string& id, const std::string& into) {
  fs::path target = fs::absolute(into.empty() ? id : into).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (fs::exists(target)) {
    if (!fs::is_directory(target))
      throw input_error(target.string(), "is a file: name another folder with --into");
    if (!fs::is_empty(target))
      throw input_error(target.string(), "is not empty: empty it, or name another folder with --into");
  } else if (!fs::is_directory(target.parent_path())) {
    throw input_error(target.parent_path().string(), "is no folder: make it first");
  }
  return target;
}

/// Moves what is in `staging` to `target`, which is absent or an empty folder. On failure nothing of it stays.
void put_in_place(const fs::path& staging, const fs::path& target) {
  if (!fs::exists(target)) return fs::rename(staging, target);
  // An empty folder is filled and not replaced: it may be somebody's current folder.
  std::vector<fs::path> moved;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(staging)) {
      fs::rename(entry.path(), target / entry.path().filename());
      moved.push_back(target / entry.path().filename());
    }
  } catch (...) {
    std::error_code ignored;
    for (const fs::path& path : moved) fs::remove_all(path, ignored);
    throw;
  }
  fs::remove(staging);
}

void write_project(const std::string& id, const std::string& style, const fs::path& target) {
  const fs::path templates = template_folder();
  // Beside the target, so that it is moved by a rename.
  const fs::path staging =
      target.parent_path() / ("." + target.filename().string() + ".new-" + std::to_string(getpid()));
  if (!fs::create_directory(staging))
    throw input_error(staging.string(), "exists: it is left over from a command that was stopped; remove it");
  try {
    fill(templates / "common", staging, id);
    fill(templates / style, staging, id);
    put_in_place(staging, target);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(staging, ignored);
    throw;
  }
}

int new_provider(const std::string& id, const std::string& style, const std::string& into) {
  try {
    check_id(id);
    const fs::path target = target_folder(id, into);
    write_project(id, style, target);
    std::printf(
        "wrote the provider %s (%s style) into %s\nnext: cd %s && cmake -B build && cmake --build build && "
        "ctest --test-dir build\n",
        id.c_str(), style.c_str(), target.c_str(), target.c_str());
  } catch (const fs::filesystem_error& error) {
    throw input_error(error.path1().string(), error.code().message() + " (" + error.what() + ")");
  }
  return kSuccess;
}

}  // namespace

void add_new_provider(CLI::App& app, int& exit) {
  struct Flags {
    std::string id, style = "kernel", into;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("new-provider", "Write the project of a new provider, with tests and packaging");
  command->add_option("id", flags->id, "Id of the provider: a-z, 0-9, _ and -")->required();
  command
      ->add_option(
          "--style", flags->style,
          "kernel: one node at a time; compile: groups of nodes; device: with memory, streams and recordings")
      ->capture_default_str()
      ->check(CLI::IsMember({"kernel", "compile", "device"}));
  command->add_option("--into", flags->into, "Folder to make, or an empty one; default: the id")
      ->type_name("FOLDER");
  command->footer("Example: tenon new-provider acme --style device");
  command->callback([flags, &exit] { exit = new_provider(flags->id, flags->style, flags->into); });
}

}  // namespace tenon::cli
