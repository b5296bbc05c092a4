#if !defined(_WIN32)

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "host/base/environment.h"

namespace tenon {

bool elevated_privileges() {
#if defined(__linux__)
  return getauxval(AT_SECURE) != 0;
#else
  return issetugid() != 0;
#endif
}

std::optional<std::string> environment(const char* name) {
  if (elevated_privileges()) return std::nullopt;
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

bool environment_ignored(const char* name) { return elevated_privileges() && std::getenv(name) != nullptr; }

std::vector<std::string> environment_names(std::string_view prefix) {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.substr(0, prefix.size()) == prefix) out.emplace_back(text.substr(0, text.find('=')));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<std::string> user_directory(const char* kind, const char* fallback) {
  std::string variable = std::string("XDG_") + kind + "_HOME";
  std::optional<std::string> directory = environment(variable.c_str());
  if (directory && directory->front() == '/') return directory;  // XDG: relative paths are ignored
  std::optional<std::string> home = environment("HOME");
  if (!home || home->front() != '/') return std::nullopt;
  return *home + "/" + fallback;
}

}  // namespace tenon

#endif
