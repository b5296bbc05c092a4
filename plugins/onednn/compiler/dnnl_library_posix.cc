#include <dlfcn.h>

#include <string>

#include "compiler/dnnl_library.h"
#include "tenon/ep.hpp"

namespace tenon::onednn {
namespace {

/// A library without code beside the provider. It needs our OpenMP functions and oneDNN, in this order, so
/// that the loader binds oneDNN to ours. See openmp/team.h.
constexpr const char* kFile = "libtenon_onednn_library-1.so";

/// The path of kFile with the provider's folder. With a bare name, the loader would search beside whichever
/// library intercepts dlopen, such as a sanitizer or a profiler.
std::string beside_the_provider() {
  Dl_info info;
  const bool known =
      dladdr(reinterpret_cast<void*>(&beside_the_provider), &info) != 0 && info.dli_fname != nullptr;
  const std::string own = known ? info.dli_fname : "";
  return own.substr(0, own.rfind('/') + 1) + kFile;
}

void* open() {
  const std::string file = beside_the_provider();
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* why = handle == nullptr ? dlerror() : nullptr;
  ep::require(handle != nullptr, TENON_UNAVAILABLE,
              "oneDNN cannot be loaded: ", why == nullptr ? file : std::string(why),
              "; install it with apt-get install libdnnl2");
  return handle;
}

template <class F>
void find(void* handle, const char* name, F** out) {
  *out = reinterpret_cast<F*>(dlsym(handle, name));
  ep::require(*out != nullptr, TENON_UNAVAILABLE, "the installed oneDNN has no function ", name,
              "; version 2.6 is needed");
}

Library load() {
  Library out;
  void* handle = open();
#define ONEDNN_FIND(name) find(handle, #name, &out.name);
  ONEDNN_FUNCTIONS(ONEDNN_FIND)
#undef ONEDNN_FIND
  return out;
}

}  // namespace

const Library& library() {
  static const Library loaded = load();  // after an exception the next call tries again
  return loaded;
}

}  // namespace tenon::onednn
