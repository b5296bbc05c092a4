// Checks of tenon_ep_negotiate with older and newer hosts.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "ep-sdk/cts/guarded.h"
#include "ep-sdk/cts/host_table.h"
#include "ep-sdk/cts/library.h"
#include "ep-sdk/cts/process_state.h"

namespace tenon::cts {
namespace {

bool chose_well(const tenon_ep_negotiation& io) {
  if (io.major < io.host_major_lowest || io.major > io.host_major_highest) return false;
  return io.major != io.host_major_highest || io.minor <= io.host_minor;
}

std::string version_text(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

/// Throws Failed unless the answer is a refusal with status and reason, or an acceptance that fits the host.
void require_good_answer(tenon_status status, const tenon_ep_negotiation& io, const std::string& host) {
  const std::string reason = field(io.reason, sizeof io.reason, "the reason of a refusal");
  if (status != TENON_OK) {
    if (reason.empty())
      throw Failed("R4: " + host + " is refused with status " + std::to_string(status) + " and no reason",
                   "write into `reason` what the library needs, for a person");
    return;
  }
  if (!chose_well(io))
    throw Failed("R3: to " + host + " the library answers ABI " + version_text(io.major, io.minor),
                 "choose an ABI in the range that the host offers, or refuse");
  if (io.api == nullptr) throw Failed("R5: " + host + " is accepted, but gets no table", "set `api`");
}

void try_host(const Library& library, uint32_t low, uint32_t high, uint32_t minor) {
  tenon_ep_negotiation io = own_offer();
  io.host_major_lowest = low, io.host_major_highest = high, io.host_minor = minor;
  const std::string host = "a host of ABI " + std::to_string(low) + " to " + version_text(high, minor);
  require_good_answer(negotiate(library, &io), io, host);
}

tenon_ep_negotiation accepted(const Library& library, uint32_t flags = 0) {
  tenon_ep_negotiation io = own_offer(flags);
  const tenon_status status = negotiate(library, &io);
  if (status != TENON_OK)
    throw Failed("the library refuses a host of its own ABI (status " + std::to_string(status) +
                     "): " + field(io.reason, sizeof io.reason, "the reason"),
                 "do what the reason asks for, or run the kit on a machine where the provider can work");
  return io;
}

void require_same(const tenon_ep_negotiation& a, const tenon_ep_negotiation& b, const char* when) {
  const bool same = a.major == b.major && a.minor == b.minor && a.sanitizer == b.sanitizer &&
                    a.api == b.api && std::strcmp(a.provider_id, b.provider_id) == 0 &&
                    std::strcmp(a.provider_version, b.provider_version) == 0 &&
                    std::strcmp(a.build_id, b.build_id) == 0;
  if (!same)
    throw Failed(std::string("R2: the library answers differently ") + when,
                 "answer the same in any process, any time");
}

}  // namespace

TENON_CHECK("negotiation.majors",
            "hosts of other majors are accepted within their range or refused with a reason") {
  const Library library(target);
  constexpr uint32_t kOwn = TENON_EP_ABI_MAJOR;
  try_host(library, kOwn + 1, kOwn + 1, 0);
  try_host(library, kOwn + 1, kOwn + 7, 3);
  try_host(library, 1000, UINT32_MAX, UINT32_MAX);
  try_host(library, kOwn, kOwn + 1, 0);
  if (kOwn > 0) try_host(library, 0, kOwn - 1, 9);
  accepted(library);
}

TENON_CHECK("negotiation.minors",
            "older and newer minors of the host are accepted or refused with a reason") {
  const Library library(target);
  for (const uint32_t minor : {0u, 1u, 2u, 7u, 1000u, UINT32_MAX}) {
    try_host(library, TENON_EP_ABI_MAJOR, TENON_EP_ABI_MAJOR, minor);
  }
  accepted(library);
}

TENON_CHECK("negotiation.sizes",
            "a struct that is too short is refused, and of a longer one only the known fields are written") {
  const Library library(target);
  // The struct of a newer host is longer than this header's.
  GuardedMemory longer(sizeof(tenon_ep_negotiation) + 256);
  tenon_ep_negotiation io = own_offer();
  io.struct_size = sizeof io + 256;
  std::memset(longer.data(), 0xC7, longer.size());
  std::memcpy(longer.data(), &io, sizeof io);
  if (negotiate(library, reinterpret_cast<tenon_ep_negotiation*>(longer.data())) != TENON_OK)
    throw Failed("a struct that is longer than this header's is refused",
                 "compare struct_size with >=, and do not touch the bytes beyond your own fields");
  for (size_t i = sizeof io; i < longer.size(); ++i) {
    if (longer.data()[i] != 0xC7)
      throw Failed("R11: byte " + std::to_string(i) + " is written, beyond the struct of this header",
                   "write your own fields, not memset of struct_size bytes");
  }
  // A struct that ends before the out part, followed by a protected page.
  for (const uint32_t size : {0u, 4u, 16u, 24u, 32u, 48u}) {
    GuardedMemory shorter(std::max(size, 8u));  // at least the struct's alignment
    tenon_ep_negotiation offer = own_offer();
    offer.struct_size = size;
    std::memcpy(shorter.data(), &offer, shorter.size());
    report_activity("tenon_ep_negotiate with a struct of " + std::to_string(size) + " bytes");
    if (library.negotiate(reinterpret_cast<tenon_ep_negotiation*>(shorter.data())) == TENON_OK)
      throw Failed("a struct of " + std::to_string(size) + " bytes, too short for any answer, is accepted",
                   "refuse with INVALID_ARGUMENT a struct that ends before the fields you must set");
  }
}

TENON_CHECK("negotiation.null_slots",
            "a host table that is empty, cut short or NULL is accepted or refused with a reason") {
  const Library library(target);
  tenon_host_api empty{};
  empty.struct_size = sizeof empty;
  empty.abi_minor = TENON_EP_ABI_MINOR;
  GuardedMemory tiny(8);
  const uint32_t words[2] = {8, TENON_EP_ABI_MINOR};
  std::memcpy(tiny.data(), words, sizeof words);
  for (const tenon_host_api* table :
       {static_cast<const tenon_host_api*>(&empty), reinterpret_cast<const tenon_host_api*>(tiny.data()),
        static_cast<const tenon_host_api*>(nullptr)}) {
    tenon_ep_negotiation io = own_offer(TENON_NEGOTIATE_SCAN);
    io.host = table;
    require_good_answer(negotiate(library, &io), io, "a host that lacks functions");
  }
  accepted(library);
}

TENON_CHECK("R2", "negotiation can be repeated, also with SCAN, gives the same answer and leaves no thread") {
  const Library library(target);
  const size_t threads = count_threads();
  const tenon_ep_negotiation first = accepted(library, TENON_NEGOTIATE_SCAN);
  require_same(first, accepted(library, TENON_NEGOTIATE_SCAN), "when it is scanned a second time");
  require_same(first, accepted(library), "after a scan");
  for (int i = 0; i < 100; ++i) require_same(first, accepted(library), "when it is asked again");
  if (count_threads() != threads)
    throw Failed("initialisers and negotiation leave " + std::to_string(count_threads()) +
                     " threads, there was " + std::to_string(threads),
                 "start threads when a device is opened");
}

TENON_CHECK(
    "R3", "the answer names the id, version and sanitizer of the manifest and an ABI that the host offers") {
  const Library library(target);
  const tenon_ep_negotiation io = accepted(library);
  if (!chose_well(io) || (TENON_EP_ABI_MAJOR == 0 && io.minor != TENON_EP_ABI_MINOR))
    throw Failed("the library chose ABI " + version_text(io.major, io.minor) + ", this host has " +
                     version_text(TENON_EP_ABI_MAJOR, TENON_EP_ABI_MINOR),
                 "choose an ABI in the range that the host offers");
  const std::string id = field(io.provider_id, sizeof io.provider_id, "provider_id");
  const std::string version = field(io.provider_version, sizeof io.provider_version, "provider_version");
  field(io.build_id, sizeof io.build_id, "build_id");
  const char* cure =
      "take both from TENON_PROVIDER_ID and TENON_PROVIDER_VERSION, which tenon_add_provider() defines";
  if (id != target.id())
    throw Failed("the library answers as '" + id + "', the manifest says '" + target.id() + "'", cure);
  if (version != target.version())
    throw Failed(
        "the library answers as version '" + version + "', the manifest says '" + target.version() + "'",
        cure);
  constexpr const char* kNames[] = {"none", "address", "thread", "memory"};
  std::string said = target.manifest.value("library", nlohmann::json::object()).value("sanitizer", "none");
  if (said.empty()) said = "none";
  if (io.sanitizer > 3 || said != kNames[io.sanitizer])
    throw Failed(
        "the library says sanitizer " + std::to_string(io.sanitizer) + ", the manifest '" + said + "'",
        "write library.sanitizer into the manifest; tenon_add_provider() does");
}

TENON_CHECK("R4", "a host that does not fit is refused with a status and a reason") {
  const Library library(target);
  tenon_ep_negotiation io = own_offer();
  io.host_major_lowest = io.host_major_highest = TENON_EP_ABI_MAJOR + 1000;
  std::memset(io.reason, 0, sizeof io.reason);
  const tenon_status status = negotiate(library, &io);
  if (status == TENON_OK)
    throw Failed("a host that offers only major " + std::to_string(io.host_major_highest) + " is accepted",
                 "refuse what is outside of the library's majors");
  if (field(io.reason, sizeof io.reason, "the reason").empty())
    throw Failed("a refusal comes without a reason", "write into `reason` what the library needs");
}

TENON_CHECK("R5", "the table has every required function, whole groups, and the size of its header") {
  const Library library(target);
  const tenon_ep_negotiation io = accepted(library);
  if (io.api == nullptr) throw Failed("the library gave no function table", "set `api`");
  if (io.api->struct_size < sizeof(tenon_ep_api))
    throw Failed("the table has " + std::to_string(io.api->struct_size) + " bytes, that of ABI " +
                     version_text(io.major, io.minor) + " has " + std::to_string(sizeof(tenon_ep_api)),
                 "set struct_size = sizeof(tenon_ep_api)");
  const std::string missing = missing_functions(*io.api);
  if (!missing.empty())
    throw Failed("required functions are NULL: " + missing, "fill them; see TENON_EP_SLOTS");
}

}  // namespace tenon::cts
