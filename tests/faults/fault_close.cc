// fault_close ORDER PROVIDER MODEL WRAPPER
//
// Opens and closes a library that uses Tenon, three times, in a program that does not use it otherwise: closing may unmap
// Tenon too. ORDER close_library: its sessions are gone; close_library_live: one is left, which goes with the library.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

int main(int argument_count, char** words) {
  if (argument_count != 5) return 2;
  const bool live = std::string(words[1]) == "close_library_live";
  for (int i = 0; i < 3; ++i) {
    void* const library = ::dlopen(words[4], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", ::dlerror());
      return 1;
    }
    using Use = int (*)(const char*, const char*, int);
    const auto use = reinterpret_cast<Use>(::dlsym(library, "wrapper_use"));
    if (use == nullptr || use(words[3], words[2], live ? 1 : 0) != 0) return 1;
    ::dlclose(library);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(5));  // a thread that lost its code would run into nothing
  }
  return 0;
}
