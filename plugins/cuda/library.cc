#include "library.h"

#include "tenon/ep/error.hpp"

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace tenon::cuda {

#if defined(_WIN32)

constexpr std::string_view kSearchPath = "PATH";

std::string driver_library() { return "nvcuda.dll"; }
std::string nvrtc_library(int major) { return ep::cat("nvrtc64_", major, "0_0.dll"); }
std::string numbered_library(std::string_view stem, int major) { return ep::cat(stem, "64_", major, ".dll"); }

Library::Library(const std::string& name) : handle_(static_cast<void*>(LoadLibraryA(name.c_str()))) {
  if (handle_ == nullptr) why_not_ = ep::cat(name, ": error ", GetLastError());
}

void* Library::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr
                            : reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), name));
}

#else

constexpr std::string_view kSearchPath = "LD_LIBRARY_PATH";

std::string driver_library() { return "libcuda.so.1"; }
std::string nvrtc_library(int major) { return numbered_library("nvrtc", major); }
std::string numbered_library(std::string_view stem, int major) { return ep::cat("lib", stem, ".so.", major); }

Library::Library(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* const said = dlerror();
  why_not_ = said == nullptr ? name + ": cannot be opened" : said;
}

void* Library::symbol(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

#endif

std::string install_cure(std::string_view what, std::string_view package, std::string_view wheel) {
  return ep::cat("install ", what, " (Debian/Ubuntu package ", package, " or, from PyPI, ", wheel,
                 ") where the loader finds it, for example by ", kSearchPath);
}

}  // namespace tenon::cuda
