#if !defined(_WIN32)

#include <cstdlib>
#if defined(__linux__)
#include <sys/auxv.h>
#else
#include <unistd.h>
#endif

#include "host/config/environment.h"

namespace tenon::config {

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

std::optional<std::string> user_directory(const char* kind, const char* fallback) {
  std::string variable = std::string("XDG_") + kind + "_HOME";
  std::optional<std::string> directory = environment(variable.c_str());
  if (directory && directory->front() == '/') return directory;  // the XDG rules ignore relative ones
  std::optional<std::string> home = environment("HOME");
  if (!home || home->front() != '/') return std::nullopt;
  return *home + "/" + fallback;
}

}  // namespace tenon::config

#endif
