// For programs that ask a library what it answers, line by line: NVIDIA's and its stand-in have to give the same lines.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace ask {

/// A library that is opened by its path.
class Library {
 public:
  explicit Library(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(2);
    }
  }
  template <class Function>
  Function* function(const char* name) const {
    void* const found = dlsym(handle_, name);
    if (found == nullptr) {
      std::fprintf(stderr, "%s is missing\n", name);
      std::exit(2);
    }
    return reinterpret_cast<Function*>(found);
  }

 private:
  void* const handle_;
};

/// A line of its arguments, with spaces between them.
template <class... Parts>
void line(const Parts&... parts) {
  std::ostringstream out;
  const char* space = "";
  ((out << space << parts, space = " "), ...);
  std::puts(out.str().c_str());
}

}  // namespace ask
