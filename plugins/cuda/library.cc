#include "library.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace tenon::cuda {

#if defined(_WIN32)

Library::Library(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    handle_ = static_cast<void*>(LoadLibraryA(name.c_str()));
    if (handle_ != nullptr) return;
    if (!why_not_.empty()) why_not_ += "; ";
    why_not_ += name + ": error " + std::to_string(GetLastError());
  }
}

void* Library::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr
                            : reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), name));
}

#else

Library::Library(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    const char* const said = dlerror();
    if (!why_not_.empty()) why_not_ += "; ";
    why_not_ += said == nullptr ? name + ": cannot be opened" : said;
  }
}

void* Library::symbol(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

#endif

}  // namespace tenon::cuda
