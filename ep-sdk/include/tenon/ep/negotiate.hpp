// Negotiation: compares versions, keeps the host's table, fills in the answer. TENON_PROVIDER does it; a library with a
// table of its own, as tests have, calls it:
//
//   extern "C" TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
//     return tenon::ep::negotiate(io, {.id = TENON_PROVIDER_ID, .version = TENON_PROVIDER_VERSION, .api = &kApi});
//   }
#ifndef TENON_EP_NEGOTIATE_HPP_
#define TENON_EP_NEGOTIATE_HPP_

#include "tenon/ep/error.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

struct ProviderIdentity {
  std::string_view id, version, build_id = {};
  const tenon_ep_api* api = nullptr;  // must live as long as the library
  std::string (*refuse)() = nullptr;  // why this machine or process cannot run it; empty: it can
  uint32_t min_minor =
      TENON_EP_ABI_OLDEST_MINOR;  // the oldest minor of a host that has what the provider needs
};

/// The sanitizer that this file is compiled with.
constexpr uint32_t own_sanitizer() {
#if defined(__SANITIZE_ADDRESS__)
  return TENON_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__)
  return TENON_SANITIZER_THREAD;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return TENON_SANITIZER_ADDRESS;
#elif __has_feature(thread_sanitizer)
  return TENON_SANITIZER_THREAD;
#elif __has_feature(memory_sanitizer)
  return TENON_SANITIZER_MEMORY;
#else
  return TENON_SANITIZER_NONE;
#endif
#else
  return TENON_SANITIZER_NONE;
#endif
}

namespace detail {

// What every host of TENON_EP_ABI_OLDEST_MINOR or later has. Later minors append fields, and do not change these sizes.
inline constexpr size_t kOldestHostTable = offsetof(tenon_host_api, graph_fingerprint) + sizeof(void*);
inline constexpr size_t kOldestNegotiation =
    offsetof(tenon_ep_negotiation, reason) + sizeof(tenon_ep_negotiation::reason);

/// Why host and provider do not fit each other; empty when they do.
inline std::string misfit(const tenon_ep_negotiation& io, uint32_t min_minor) {
  const std::string own = cat("built for ABI ", TENON_EP_ABI_MAJOR, ".", TENON_EP_ABI_MINOR);
  if (io.host_major != TENON_EP_ABI_MAJOR) return cat(own, ", and the host asks for major ", io.host_major);
  if (io.host_minor < min_minor)
    return cat(own, ", and needs a host of ABI ", TENON_EP_ABI_MAJOR, ".", min_minor, " or later");
  if (io.host_oldest_minor > TENON_EP_ABI_MINOR)
    return cat(own, ", and the host needs ABI ", TENON_EP_ABI_MAJOR, ".", io.host_oldest_minor, " or later");
  if (io.host != nullptr && io.host->struct_size < kOldestHostTable)
    return cat(own, ", and the table of the host has ", io.host->struct_size, " bytes instead of ",
               kOldestHostTable, " or more");
  return {};
}

/// Writes the reason as far as the host's struct has room for it. Returns `status`.
inline tenon_status refuse(tenon_ep_negotiation* io, tenon_status status, std::string_view reason) noexcept {
  constexpr size_t at = offsetof(tenon_ep_negotiation, reason);
  if (io->struct_size > at)
    copy_text(io->reason, std::min<size_t>(sizeof(io->reason), io->struct_size - at), reason);
  return status;
}

}  // namespace detail

/// Answers `io`, or refuses with a reason. Repeatable (R2, R3). Afterwards host() gives the host's table.
inline tenon_status negotiate(tenon_ep_negotiation* io, const ProviderIdentity& own) noexcept {
  if (io == nullptr) return TENON_INVALID_ARGUMENT;
  try {
    if (io->struct_size < detail::kOldestNegotiation)
      return detail::refuse(io, TENON_INVALID_ARGUMENT,
                            cat("tenon_ep_negotiation has ", io->struct_size, " bytes instead of ",
                                detail::kOldestNegotiation, " or more"));
    std::string reason = detail::misfit(*io, own.min_minor);
    if (!reason.empty()) return detail::refuse(io, TENON_FAILED_PRECONDITION, reason);
    if (io->host != nullptr) detail::g_host = read_struct(io->host);
    if (own.refuse != nullptr) reason = own.refuse();
    if (!reason.empty()) return detail::refuse(io, TENON_FAILED_PRECONDITION, reason);
  } catch (const std::bad_alloc&) {
    return detail::refuse(io, TENON_RESOURCE_EXHAUSTED, "out of memory");
  } catch (const Error& e) {
    return detail::refuse(io, e.code == TENON_OK ? TENON_INTERNAL : e.code, e.text);
  } catch (const std::exception& e) {
    return detail::refuse(io, TENON_INTERNAL, e.what());
  } catch (...) {
    return detail::refuse(io, TENON_INTERNAL, "an exception of unknown type");
  }
  io->major = TENON_EP_ABI_MAJOR;
  io->minor = std::min<uint32_t>(io->host_minor, TENON_EP_ABI_MINOR);
  io->sanitizer = own_sanitizer();
  detail::copy_text(io->provider_id, sizeof(io->provider_id), own.id);
  detail::copy_text(io->provider_version, sizeof(io->provider_version), own.version);
  detail::copy_text(io->build_id, sizeof(io->build_id), own.build_id);
  io->api = own.api;
  return TENON_OK;
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_NEGOTIATE_HPP_
