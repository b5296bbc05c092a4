// The loader's dlsym, for code that defines a function of that name in order to stand between a library and those that it opens.
#pragma once

#include <dlfcn.h>

namespace tenon::test {

using Dlsym = void* (*)(void*, const char*);

inline Dlsym real_dlsym() {
  static const Dlsym real = [] {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
      if (void* found = dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Dlsym>(found);
    }
    return Dlsym{nullptr};
  }();
  return real;
}

}  // namespace tenon::test
