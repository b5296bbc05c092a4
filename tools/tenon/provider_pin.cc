#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/base/file.h"
#include "tools/tenon/provider_files.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

fs::path config_file(const SessionFlags& flags) {
  if (!flags.config_path.empty()) return flags.config_path;
  if (const char* named = std::getenv("TENON_CONFIG"); named != nullptr && *named != '\0') return named;
  const char *config = std::getenv("XDG_CONFIG_HOME"), *home = std::getenv("HOME");
  if (config != nullptr && *config == '/') return fs::path(config) / "tenon/config.toml";
  if (home != nullptr && *home == '/') return fs::path(home) / ".config/tenon/config.toml";
  throw input_error("providers pin", "there is no HOME: name the file with --config");
}

std::string trimmed(const std::string& line) {
  const size_t begin = line.find_first_not_of(" \t"), end = line.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
}

bool sets_version(const std::string& line) {
  return line.compare(0, 7, "version") == 0 && trimmed(line.substr(7)).compare(0, 1, "=") == 0;
}

/// The text with provider.<id>.version set. All other lines, comments included, are unchanged.
std::string with_version(const std::string& text, const std::string& id, const std::string& version) {
  const std::string setting = "version = \"=" + version + "\"", header = "[provider." + id + "]";
  std::istringstream in(text);
  std::string out, line;
  bool inside = false, done = false;
  while (std::getline(in, line)) {
    const std::string words = trimmed(line);
    if (!words.empty() && words[0] == '[') inside = words.compare(0, header.size(), header) == 0;
    if (inside && sets_version(words)) continue;  // replaced
    out += line + "\n";
    if (inside && !done && words.compare(0, header.size(), header) == 0) {
      out += setting + "\n";
      done = true;
    }
  }
  if (done) return out;
  if (trimmed(text).empty()) out += "schema = 1\n";
  return out + "\n" + header + "\n" + setting + "\n";
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

void pin_provider(const SessionFlags& flags, const std::string& id, const std::string& version) {
  const fs::path file = config_file(flags);
  std::error_code error;
  fs::create_directories(file.parent_path().empty() ? "." : file.parent_path(), error);
  const fs::path next = file.string() + ".next";
  error = write_file(next.string(), with_version(read(file), id, version));
  if (error) throw input_error(next.string(), "cannot be written: " + error.message());
  // The new file is tried before it replaces the old one: sessions must use the pinned version.
  SessionFlags pinned = flags;
  pinned.config_path = next.string();
  std::string taken;
  try {
    for (const InstalledProvider& entry : installed_providers(pinned))
      if (entry.id == id && entry.chosen) taken = entry.version;
  } catch (const Error&) {
    fs::remove(next, error);
    throw;
  }
  if (taken != version) {
    fs::remove(next, error);
    throw Error(TENON_FAILURE_PROVIDER_MISSING, TENON_FAILED_PRECONDITION, "provider '" + id + "'",
                "version " + version + " would not be used" +
                    (taken.empty() ? "" : " (the session would use " + taken + ")") +
                    ": see `tenon providers list`; " + file.string() + " was not changed");
  }
  fs::rename(next, file, error);
  if (error) throw input_error(file.string(), error.message());
  std::printf("%s pins %s to %s; sessions with this config use only that version\n", file.c_str(), id.c_str(),
              version.c_str());
}

}  // namespace tenon::cli
