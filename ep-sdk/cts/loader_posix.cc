#include <dlfcn.h>
#include <limits.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ep-sdk/cts/loader.h"

namespace tenon::cts {

void* load_library(const std::string& path, std::string* why) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* text = dlerror();
  *why = text == nullptr ? "no reason" : text;
  return nullptr;
}

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

void unload_library(void* library) { dlclose(library); }

bool is_loaded(const std::string& path) {
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    if (line.size() >= path.size() && line.compare(line.size() - path.size(), path.size(), path) == 0)
      return true;
  }
  return false;
}

std::string find_libtenon() {
  constexpr const char* kLibrary =
      "libtenon.so.0";  // its SONAME; the name without a number is only for linking
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::filesystem::path program(std::string(path, n > 0 ? static_cast<size_t>(n) : 0));
  for (const char* place : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    const std::filesystem::path library = program.parent_path().parent_path() / place / kLibrary;
    if (std::filesystem::exists(library)) return library.string();
  }
  return kLibrary;
}

}  // namespace tenon::cts
