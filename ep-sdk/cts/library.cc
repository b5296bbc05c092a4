#include "ep-sdk/cts/library.h"

#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "ep-sdk/cts/host_table.h"
#include "ep-sdk/cts/loader.h"
#include "ep-sdk/cts/step.h"
#include "ep-sdk/cts/subject.h"

namespace tenon::cts {

Library::Library(const Target& target) {
  enter(Step::kLibrary);
  const std::string path = target.module_path();
  if (path.empty()) throw NotApplicable("the manifest names no library");
  report_activity("the library's initialisers");
  std::string why;
  handle_ = load_library(path, &why);
  if (handle_ == nullptr) {
    throw Failed(
        "the dynamic loader refuses the library: " + why,
        "install the libraries that it needs or link them statically, and link what defines its undefined "
        "symbols "
        "(the linker names them with -Wl,-z,defs)");
  }
  negotiate = reinterpret_cast<tenon_ep_negotiate_fn>(find_symbol(handle_, "tenon_ep_negotiate"));
  if (negotiate == nullptr) throw Failed("the library does not export tenon_ep_negotiate", kEntryCure);
}

void Library::close() {
  if (handle_ != nullptr) unload_library(std::exchange(handle_, nullptr));
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
  enter(Step::kAnswer);
  report_activity("tenon_ep_negotiate");
  const char* what = "of unknown type";
  try {
    return library.negotiate(io);
  } catch (const std::exception& e) {
    what = e.what();
    throw Failed("R8: an exception came out of tenon_ep_negotiate: " + std::string(what),
                 "catch everything in it; TENON_PROVIDER of the SDK does");
  } catch (...) {
    throw Failed("R8: an exception came out of tenon_ep_negotiate",
                 "catch everything in it; TENON_PROVIDER of the SDK does");
  }
}

std::string field(const char* text, size_t size, const char* name) {
  const void* end = std::memchr(text, 0, size);
  if (end == nullptr)
    throw Failed(std::string(name) + " is not terminated", "end every text with a zero byte");
  return text;
}

tenon_ep_negotiation accepted(const Library& library, const tenon_ep_negotiation& offer) {
  tenon_ep_negotiation io = offer;
  const tenon_status status = negotiate(library, &io);
  if (status == TENON_OK) return io;
  throw Failed("the library refuses a host of its own ABI (status " + std::to_string(status) +
                   "): " + field(io.reason, sizeof io.reason, "the reason"),
               "do what the reason asks for, or run the kit on a machine where the provider can work");
}

namespace {

/// The names of required functions, alone or in a group, that are NULL.
std::string missing_functions(const tenon_ep_api& api) {
  enum Need { REQUIRED, OPTIONAL, DOMAIN, MAP, BIND, STREAM, RECORD };
  const bool record = api.record_begin != nullptr, times = api.stream_times != nullptr;
  const std::map<Need, bool> needed = {{REQUIRED, true},
                                       {OPTIONAL, false},
                                       {DOMAIN, api.device_domains != nullptr || api.allocate != nullptr},
                                       {MAP, api.map != nullptr},
                                       {BIND, api.bind != nullptr},
                                       {STREAM, api.stream_create != nullptr || record || times},
                                       {RECORD, record}};
  std::string out;
  if ((record || times) && api.stream_create == nullptr) out = "stream_create";
#define TENON_CTS_NEEDS(function, need, threads, time) \
  if (needed.at(need) && api.function == nullptr) out += (out.empty() ? "" : ", ") + std::string(#function);
  TENON_EP_SLOTS(TENON_CTS_NEEDS)
#undef TENON_CTS_NEEDS
  return out;
}

}  // namespace

void require_table(const tenon_ep_negotiation& answer) {
  enter(Step::kTable);
  const tenon_ep_api* api = answer.api;
  if (api == nullptr)
    throw Failed("R5: the library accepts the host and gives no function table", "set `api`");
  constexpr size_t kOldest = offsetof(tenon_ep_api, get_extension) + sizeof(tenon_ep_api::get_extension);
  if (api->struct_size < kOldest)
    throw Failed("R5: the table has " + std::to_string(api->struct_size) + " bytes, that of ABI " +
                     std::to_string(TENON_EP_ABI_MAJOR) + "." + std::to_string(TENON_EP_ABI_OLDEST_MINOR) +
                     " has " + std::to_string(kOldest),
                 "set struct_size = sizeof(tenon_ep_api)");
  const std::string missing = missing_functions(table_of(*api));
  if (!missing.empty())
    throw Failed("R5: required functions are NULL: " + missing,
                 "fill them, as TENON_PROVIDER of the SDK does; see TENON_EP_SLOTS");
}

}  // namespace tenon::cts
