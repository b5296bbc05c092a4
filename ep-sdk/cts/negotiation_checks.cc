// Checks of tenon_ep_negotiate with older and newer hosts.

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "ep-sdk/cts/guarded.h"
#include "ep-sdk/cts/host_table.h"
#include "ep-sdk/cts/library.h"
#include "ep-sdk/cts/process_state.h"
#include "ep-sdk/cts/step.h"

namespace tenon::cts {
namespace {

/// What every host of TENON_EP_ABI_OLDEST_MINOR has. Later minors append functions.
constexpr size_t kOldestHostTable = offsetof(tenon_host_api, graph_fingerprint) + sizeof(void*);

bool chose_well(const tenon_ep_negotiation& io) {
  return io.major == io.host_major && io.minor <= io.host_minor && io.minor >= io.host_oldest_minor;
}

std::string version_text(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

/// A host of `major` that works with the minors from `oldest` to `minor`.
tenon_ep_negotiation host_of(uint32_t major, uint32_t oldest, uint32_t minor) {
  tenon_ep_negotiation io = own_offer();
  io.host_major = major, io.host_oldest_minor = oldest, io.host_minor = minor;
  return io;
}

std::string name_of(const tenon_ep_negotiation& io) {
  return "a host of ABI " + version_text(io.host_major, io.host_oldest_minor) + " to " +
         version_text(io.host_major, io.host_minor);
}

void require_version(const tenon_ep_negotiation& io, const std::string& host) {
  if (!chose_well(io))
    throw Failed("R3: to " + host + " the library answers ABI " + version_text(io.major, io.minor),
                 "choose the host's major and a minor in its range, or refuse");
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
  require_version(io, host);
  if (io.api != nullptr) return;
  enter(Step::kTable);
  throw Failed("R5: " + host + " is accepted, but gets no table", "set `api`");
}

void try_host(const Library& library, tenon_ep_negotiation io) {
  const std::string host = name_of(io);
  require_good_answer(negotiate(library, &io), io, host);
}

/// Throws Failed unless the host is refused with a reason.
void require_refused(const Library& library, tenon_ep_negotiation io) {
  const std::string host = name_of(io);
  const tenon_status status = negotiate(library, &io);
  require_good_answer(status, io, host);
  if (status == TENON_OK)
    throw Failed(
        "R3: " + host + " is accepted, although the manifest says that it does not fit",
        "refuse a host_minor below your oldest minor, and a host_oldest_minor above your newest one");
}

/// A number of the manifest's `abi`; that of this header when the manifest has none.
uint32_t manifest_minor(const Target& target, const char* name, uint32_t own) {
  const nlohmann::json abi = target.manifest.is_object()
                                 ? target.manifest.value("abi", nlohmann::json::object())
                                 : nlohmann::json::object();
  return abi.is_object() ? abi.value(name, own) : own;
}

void require_minor(const Target& target, const tenon_ep_negotiation& io, const std::string& host) {
  const uint32_t wanted = std::min(io.host_minor, manifest_minor(target, "max_minor", TENON_EP_ABI_MINOR));
  if (io.minor != wanted)
    throw Failed("R3: to " + host + " the library answers minor " + std::to_string(io.minor) +
                     " instead of " + std::to_string(wanted),
                 "answer the smaller one of the host's minor and your own");
}

/// Throws Failed unless the host is accepted with the smaller one of its minor and the provider's.
void require_accepted(const Target& target, const Library& library, tenon_ep_negotiation io) {
  const std::string host = name_of(io);
  const tenon_status status = negotiate(library, &io);
  if (status != TENON_OK)
    throw Failed(host + " is refused, although the manifest says that it fits: " +
                     field(io.reason, sizeof io.reason, "the reason"),
                 "compare your oldest minor with host_minor, and your newest one with host_oldest_minor");
  require_good_answer(status, io, host);
  require_minor(target, io, host);
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
            "a host of another major is answered with that major or refused with a reason") {
  const Library library(target);
  constexpr uint32_t kOwn = TENON_EP_ABI_MAJOR;
  try_host(library, host_of(kOwn + 1, 0, 0));
  try_host(library, host_of(kOwn + 7, 1, 3));
  try_host(library, host_of(1000, 0, UINT32_MAX));
  try_host(library, host_of(UINT32_MAX, UINT32_MAX, UINT32_MAX));
  if (kOwn > 0) try_host(library, host_of(kOwn - 1, 0, 9));
  accepted(library);
}

TENON_CHECK(
    "negotiation.minors",
    "hosts of the manifest's minors and newer ones are answered with the smaller minor, others are refused "
    "with a reason") {
  const Library library(target);
  constexpr uint32_t kOwn = TENON_EP_ABI_MAJOR, kOldest = TENON_EP_ABI_OLDEST_MINOR;
  const uint32_t least = manifest_minor(target, "min_minor", kOldest),
                 last = manifest_minor(target, "max_minor", TENON_EP_ABI_MINOR);
  for (uint32_t minor = std::max(least, kOldest); minor <= last; ++minor)
    require_accepted(target, library, host_of(kOwn, kOldest, minor));
  for (const uint32_t newer : {last + 1, last + 1000, UINT32_MAX})
    require_accepted(target, library, host_of(kOwn, kOldest, newer));
  // The host's newest minor is too old for the provider, or the provider's for the host.
  for (uint32_t older = 0; older < least; ++older) require_refused(library, host_of(kOwn, older, older));
  for (const uint32_t newer : {last + 1, UINT32_MAX}) require_refused(library, host_of(kOwn, newer, newer));
  accepted(library);
}

TENON_CHECK("negotiation.tables", "the table of a host is accepted from the size of the oldest minor on") {
  const Library library(target);
  const uint32_t first =
      std::max(manifest_minor(target, "min_minor", TENON_EP_ABI_OLDEST_MINOR), TENON_EP_ABI_OLDEST_MINOR);
  // A protected page follows the table. Only a host of the oldest minor has a table of the oldest size.
  for (const bool newer : {false, true}) {
    if (!newer && first != TENON_EP_ABI_OLDEST_MINOR) continue;
    const size_t size = newer ? sizeof(tenon_host_api) + 64 : kOldestHostTable;
    const GuardedMemory memory(size, alignof(tenon_host_api));
    std::memset(memory.data(), 0, size);
    std::memcpy(memory.data(), &host_table(), std::min(size, sizeof(tenon_host_api)));
    auto* table = reinterpret_cast<tenon_host_api*>(memory.data());
    table->struct_size = static_cast<uint32_t>(size);
    table->abi_minor = newer ? TENON_EP_ABI_MINOR + 1 : TENON_EP_ABI_OLDEST_MINOR;
    memory.protect(Access::kRead);
    tenon_ep_negotiation io = host_of(TENON_EP_ABI_MAJOR, TENON_EP_ABI_OLDEST_MINOR, table->abi_minor);
    io.host = table;
    require_accepted(target, library, io);
  }
  accepted(library);  // the provider keeps the table of the last negotiation
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
  const tenon_ep_negotiation first = accepted(library, own_offer(TENON_NEGOTIATE_SCAN));
  require_same(first, accepted(library, own_offer(TENON_NEGOTIATE_SCAN)), "when it is scanned a second time");
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
  require_version(io, name_of(io));
  require_minor(target, io, name_of(io));
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
  tenon_ep_negotiation io = host_of(TENON_EP_ABI_MAJOR + 1000, 0, 0);
  const tenon_status status = negotiate(library, &io);
  if (status == TENON_OK)
    throw Failed("a host of major " + std::to_string(io.host_major) + " is accepted",
                 "refuse what is outside of the library's majors");
  if (field(io.reason, sizeof io.reason, "the reason").empty())
    throw Failed("a refusal comes without a reason", "write into `reason` what the library needs");
}

TENON_CHECK("R5", "the table has every required function, whole groups, and the size of its header") {
  const Library library(target);
  require_table(accepted(library));
}

}  // namespace tenon::cts
