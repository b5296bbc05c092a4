#include "host/provider/negotiate.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>

#include "core/base/utf8.h"

namespace tenon::provider {
namespace {

// The size of the table in minor 3 (TENON_EP_ABI_OLDEST_MINOR), whose last function is get_extension.
static_assert(TENON_EP_ABI_OLDEST_MINOR == 3, "name the last function of the oldest minor below");
constexpr uint32_t kOldestApiSize =
    offsetof(tenon_ep_api, get_extension) + sizeof(tenon_ep_api::get_extension);

Negotiation refused(Refusal code, std::string reason) { return {code, std::move(reason), {}}; }

// Calls the library. Returns false and sets `reason` when an exception leaves it. std::bad_alloc becomes a status.
bool call(tenon_ep_negotiate_fn entry, tenon_ep_negotiation& io, tenon_status& out_status,
          std::string& reason) {
  try {
    out_status = entry(&io);
    return true;
  } catch (const std::bad_alloc&) {
    out_status = TENON_RESOURCE_EXHAUSTED;
    return true;
  } catch (const std::exception& exception) {
    reason = str_cat("a C++ exception crossed the border: ", exception.what());
  } catch (...) {
    reason = "an exception crossed the border";
  }
  return false;
}

}  // namespace

Refusal judge_abi(uint32_t major, uint32_t lowest, uint32_t highest, const MinorRange& host) {
  constexpr uint32_t kMajor = TENON_EP_ABI_MAJOR;
  if (major != kMajor) return major > kMajor ? Refusal::kAbiTooNew : Refusal::kAbiTooOld;
  if (lowest > host.newest) return Refusal::kAbiTooNew;
  if (highest < host.oldest) return Refusal::kAbiTooOld;
  return Refusal::kNone;
}

std::string bounded_text(const char* text, uint64_t capacity) {
  const void* end = capacity == 0 ? nullptr : std::memchr(text, 0, static_cast<size_t>(capacity));
  size_t size = end == nullptr ? static_cast<size_t>(capacity)
                               : static_cast<size_t>(static_cast<const char*>(end) - text);
  std::string_view raw(text, size);
  std::string out;
  for (size_t at = 0; at < raw.size();) {
    size_t length = utf8_length(raw.substr(at));
    bool control = length == 1 && (static_cast<unsigned char>(raw[at]) < 0x20 || raw[at] == 0x7F);
    if (length == 0 || control) {
      out += raw[at] == '\n' || raw[at] == '\t' ? ' ' : '?';
      ++at;
    } else {
      out += raw.substr(at, length);
      at += length;
    }
  }
  return out;
}

std::string missing_functions(const tenon_ep_api& api) {
  enum Need { REQUIRED, OPTIONAL, DOMAIN, MAP, BIND, STREAM, RECORD };
  const bool record = api.record_begin != nullptr, times = api.stream_times != nullptr;
  // Indexed by Need.
  const bool is_needed[] = {true,
                            false,
                            api.device_domains != nullptr || api.allocate != nullptr,
                            api.map != nullptr,
                            api.bind != nullptr,
                            api.stream_create != nullptr || record || times,
                            record};
  std::string missing = (record || times) && api.stream_create == nullptr ? "stream_create" : "";
#define TENON_CHECK_FUNCTION(function, need, threads, time)  \
  if (is_needed[need] && api.function == nullptr) {          \
    missing += missing.empty() ? #function : ", " #function; \
  }
  TENON_EP_SLOTS(TENON_CHECK_FUNCTION)
#undef TENON_CHECK_FUNCTION
  return missing;
}

tenon_status create_provider(const tenon_ep_api& api, uint32_t flags, tenon_host_provider* host,
                             const std::string& library_path, const std::string& manifest_dir,
                             tenon_provider** out_provider, tenon_error& out_error) {
  tenon_provider_params params{sizeof(tenon_provider_params),
                               flags,
                               host,
                               {library_path.data(), library_path.size()},
                               {manifest_dir.data(), manifest_dir.size()}};
  try {
    return api.provider_create(&params, out_provider, &out_error);
  } catch (const std::bad_alloc&) {
    return TENON_RESOURCE_EXHAUSTED;
  } catch (const std::exception& exception) {
    std::string text = str_cat("a C++ exception crossed the border: ", exception.what());
    text.copy(out_error.message, sizeof out_error.message - 1);
  } catch (...) {
    out_error.message[0] = '\0';
  }
  return TENON_INTERNAL;
}

Result<Negotiation> negotiate(tenon_ep_negotiate_fn entry, uint32_t flags, const tenon_host_api* host,
                              const Expectation& expected) {
  tenon_ep_negotiation io{};
  io.struct_size = sizeof io;
  io.host_major = TENON_EP_ABI_MAJOR;
  io.host_minor = TENON_EP_ABI_MINOR;
  io.host_oldest_minor = TENON_EP_ABI_OLDEST_MINOR;
  io.flags = flags;
  io.host = host;
  tenon_status status = TENON_OK;
  std::string reason;
  if (!call(entry, io, status, reason)) return refused(Refusal::kNegotiate, "tenon_ep_negotiate: " + reason);
  if (status != TENON_OK) {
    std::string said = bounded_text(io.reason, sizeof io.reason);
    if (status == TENON_RESOURCE_EXHAUSTED)
      return out_of_memory("tenon_ep_negotiate: ", said.empty() ? "no memory is left" : said);
    return refused(Refusal::kNegotiate, str_cat("the library refuses this host (status ", status,
                                                "): ", said.empty() ? "it gives no reason" : said));
  }
  if (Refusal code = judge_abi(io.major, io.minor, io.minor); code != Refusal::kNone) {
    return refused(code, str_cat("the library chose ABI ", io.major, ".", io.minor, ", but this host has ",
                                 TENON_EP_ABI_MAJOR, ".", TENON_EP_ABI_OLDEST_MINOR, " to ",
                                 TENON_EP_ABI_MAJOR, ".", TENON_EP_ABI_MINOR));
  }
  if (io.sanitizer != TENON_SANITIZER_NONE && io.sanitizer != expected.sanitizer) {
    return refused(Refusal::kSanitizer, str_cat("the library reports sanitizer ", io.sanitizer,
                                                ", but this host has ", expected.sanitizer));
  }
  Negotiation out;
  Agreement& agreed = out.agreement;
  agreed.major = io.major;
  agreed.minor = io.minor;
  agreed.provider_id = bounded_text(io.provider_id, sizeof io.provider_id);
  agreed.provider_version = bounded_text(io.provider_version, sizeof io.provider_version);
  agreed.build_id = bounded_text(io.build_id, sizeof io.build_id);
  bool same = (expected.provider_id.empty() || agreed.provider_id == expected.provider_id) &&
              (expected.provider_version.empty() || agreed.provider_version == expected.provider_version);
  if (!same) {
    return refused(Refusal::kNegotiate, str_cat("the library identifies itself as '", agreed.provider_id,
                                                "' ", agreed.provider_version, ", but its manifest says '",
                                                expected.provider_id, "' ", expected.provider_version));
  }
  if (io.api == nullptr) return refused(Refusal::kNegotiate, "the library gave no function table");
  if (io.api->struct_size < kOldestApiSize) {
    return refused(Refusal::kNegotiate, str_cat("the library's function table has ", io.api->struct_size,
                                                " bytes, the oldest supported one has ", kOldestApiSize));
  }
  const uint32_t smaller = std::min<uint32_t>(TENON_EP_ABI_MINOR, io.api->abi_minor);
  if (io.minor != smaller) {
    return refused(Refusal::kNegotiate,
                   str_cat("the library chose ABI minor ", io.minor, ", but the smaller of this host's, ",
                           TENON_EP_ABI_MINOR, ", and its table's, ", io.api->abi_minor, ", is ", smaller));
  }
  std::memcpy(&agreed.api, io.api, std::min<size_t>(io.api->struct_size, sizeof agreed.api));
  agreed.api.struct_size = sizeof agreed.api;
  if (std::string missing = missing_functions(agreed.api); !missing.empty()) {
    return refused(Refusal::kSlotMissing, "required functions are NULL: " + missing);
  }
  return out;
}

}  // namespace tenon::provider
