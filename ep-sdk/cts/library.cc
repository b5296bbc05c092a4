#include "ep-sdk/cts/library.h"

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <utility>

#include "ep-sdk/cts/host_table.h"

namespace tenon::cts {

Library::Library(const Target& target) {
  const std::string path = target.module_path();
  if (path.empty()) throw NotApplicable("the manifest names no library");
  report_activity("the library's initialisers");
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* text = dlerror();
    throw Failed(
        "the dynamic loader refuses the library: " + std::string(text == nullptr ? "no reason" : text),
        "install what it needs, or link it statically");
  }
  negotiate = reinterpret_cast<tenon_ep_negotiate_fn>(dlsym(handle_, "tenon_ep_negotiate"));
  if (negotiate == nullptr)
    throw Failed("the library does not export tenon_ep_negotiate",
                 "define it with TENON_EP_EXPORT and C linkage");
}

void Library::close() {
  if (handle_ != nullptr) dlclose(std::exchange(handle_, nullptr));
}

Library::~Library() { close(); }

tenon_ep_negotiation own_offer(uint32_t flags) {
  tenon_ep_negotiation io{};
  io.struct_size = sizeof io;
  io.host_major = TENON_EP_ABI_MAJOR;
  io.host_minor = TENON_EP_ABI_MINOR;
  io.host_oldest_minor = TENON_EP_ABI_OLDEST_MINOR;
  io.flags = flags;
  io.host = &host_table();
  return io;
}

tenon_status negotiate(const Library& library, tenon_ep_negotiation* io) {
  report_activity("tenon_ep_negotiate");
  const char* what = "of unknown type";
  try {
    return library.negotiate(io);
  } catch (const std::exception& e) {
    what = e.what();
    throw Failed("R8: an exception came out of tenon_ep_negotiate: " + std::string(what),
                 "catch everything in it; ep.hpp's TENON_KERNEL_PROVIDER does");
  } catch (...) {
    throw Failed("R8: an exception came out of tenon_ep_negotiate", "catch everything in it");
  }
}

std::string field(const char* text, size_t size, const char* name) {
  const void* end = std::memchr(text, 0, size);
  if (end == nullptr)
    throw Failed(std::string(name) + " is not terminated", "end every text with a zero byte");
  return text;
}

std::string missing_functions(const tenon_ep_api& api) {
  enum Need { REQUIRED, OPTIONAL, DOMAIN, MAP, BIND, STREAM, RECORD };
  const bool record = api.record_begin != nullptr;
  const std::map<Need, bool> needed = {{REQUIRED, true},
                                       {OPTIONAL, false},
                                       {DOMAIN, api.device_domains != nullptr || api.allocate != nullptr},
                                       {MAP, api.map != nullptr},
                                       {BIND, api.bind != nullptr},
                                       {STREAM, api.stream_create != nullptr || record},
                                       {RECORD, record}};
  std::string out;
  if (record && api.stream_create == nullptr) out = "stream_create";
#define TENON_CTS_NEEDS(function, need, threads, time) \
  if (needed.at(need) && api.function == nullptr) out += (out.empty() ? "" : ", ") + std::string(#function);
  TENON_EP_SLOTS(TENON_CTS_NEEDS)
#undef TENON_CTS_NEEDS
  return out;
}

}  // namespace tenon::cts
