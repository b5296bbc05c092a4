#include "ep-sdk/cts/seal.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ep-sdk/cts/binary.h"
#include "ep-sdk/cts/check.h"
#include "ep-sdk/cts/sha256.h"
#include "ep-sdk/cts/target.h"

namespace tenon::cts {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The manifest as a JSON object, with its keys in their order.
Json read_object(const fs::path& path) {
  Json json;
  try {
    json = Json::parse(read_file(path.string()));
  } catch (const Json::exception& e) {
    throw Failed("the manifest is no JSON: " + std::string(e.what()), "correct it");
  }
  if (!json.is_object()) throw Failed("the manifest holds no JSON object", "write {\"provider\": ...}");
  return json;
}

std::string text_at(const Json& json, const char* pointer) {
  const Json::json_pointer at(pointer);
  if (!json.contains(at)) return {};
  return json.at(at).is_string() ? json.at(at).get<std::string>() : json.at(at).dump();
}

/// The file that an entry of the manifest names, which must lie below the manifest's folder.
std::string read_named(const fs::path& folder, const Json& entry, const std::string& key) {
  const std::string path = entry.is_object() ? text_at(entry, "/path") : std::string();
  const fs::path plain = fs::path(path).lexically_normal();
  if (path.empty() || plain.is_absolute() || *plain.begin() == "..")
    throw Failed("'" + key + ".path' of the manifest is '" + path + "'",
                 "name a file, relative to the manifest's folder and below it");
  if (!fs::is_regular_file(folder / plain))
    throw Failed("'" + (folder / plain).string() + "', which '" + key + ".path' names, is no file",
                 "put it there, or correct the path");
  return read_file((folder / plain).string());
}

void check_note(const Binary& binary, const Json& manifest) {
  if (!binary.has_note)
    throw Failed("the library has no Tenon note",
                 "link provider_note.cc.in of the SDK into it, as tenon_add_provider() does");
  const std::pair<const char*, std::string> wanted[] = {
      {"id", text_at(manifest, "/provider/id")},
      {"version", text_at(manifest, "/provider/version")},
      {"abi", text_at(manifest, "/abi/major") + "." + text_at(manifest, "/abi/max_minor")},
      {"manifest", text_at(manifest, "/manifest_version")}};
  for (const auto& [key, text] : wanted) {
    const auto at = binary.note.find(key);
    const std::string said = at == binary.note.end() ? "nothing" : at->second;
    if (said != text)
      throw Failed("the note in the library says " + std::string(key) + "=" + said + ", the manifest " + text,
                   "seal the manifest that was built with this library, or build both again");
  }
}

/// Writes size and hash into the entry. Returns a line for each that changed.
std::string update(Json& entry, const std::string& key, const std::string& bytes) {
  std::string changes;
  const auto set = [&](const char* name, const Json& value) {
    const std::string before = entry.contains(name) ? entry[name].dump() : "absent";
    if (before == value.dump()) return;
    changes += key + "." + name + ": " + before + " -> " + value.dump() + "\n";
    entry[name] = value;
  };
  set("sha256", sha256(bytes));
  set("size", bytes.size());
  return changes;
}

void replace_file(const fs::path& path, const std::string& text) {
  const fs::path next = path.string() + ".new";  // no name of a manifest: a host does not read it
  std::error_code error;
  {
    std::ofstream out(next, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::permissions(next, fs::status(path).permissions(), error);
  if (!error) fs::rename(next, path, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(next, ignored);
  throw Failed("'" + path.string() + "' cannot be replaced: " + error.message(),
               "give write permission for its folder");
}

}  // namespace

std::string seal(const std::string& manifest_path) {
  if (const std::string why = unreadable(manifest_path); !why.empty())
    throw Failed("'" + manifest_path + "' cannot be read: " + why, "name a manifest");
  std::error_code absent;
  const fs::path path =
      fs::canonical(manifest_path, absent);  // behind a link: the file, not the link, is replaced
  if (absent) throw Failed("'" + manifest_path + "' cannot be read: " + absent.message(), "name a manifest");
  Json manifest = read_object(path);
  if (!manifest.contains("library") || !manifest["library"].is_object())
    throw Failed("the manifest has no object 'library'", "write library.path, os and arch");
  const std::string library = read_named(path.parent_path(), manifest["library"], "library");
  check_note(read_binary(library), manifest);
  std::string changes = update(manifest["library"], "library", library);
  if (manifest.contains("files") && manifest["files"].is_array()) {
    for (size_t i = 0; i < manifest["files"].size(); ++i) {
      const std::string key = "files[" + std::to_string(i) + "]";
      const std::string bytes = read_named(path.parent_path(), manifest["files"][i], key);
      changes += update(manifest["files"][i], key, bytes);
    }
  }
  const std::vector<std::string> complaints = schema_complaints(nlohmann::json::parse(manifest.dump()));
  if (!complaints.empty())
    throw Failed("the manifest is wrong: " + complaints[0], "correct it; manifest.schema.json has its keys");
  if (!changes.empty()) replace_file(path, manifest.dump(2) + "\n");
  return changes;
}

}  // namespace tenon::cts
