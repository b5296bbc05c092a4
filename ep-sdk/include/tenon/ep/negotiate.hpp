// Negotiation: compares versions, keeps the host's table, fills in the answer. TENON_PROVIDER does it; a library with a
// table of its own, as tests have, calls it:
//
//   extern "C" TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
//     return tenon::ep::negotiate(io, {.id = TENON_PROVIDER_ID, .version = TENON_PROVIDER_VERSION, .api = &kApi});
//   }
#ifndef TENON_EP_NEGOTIATE_HPP_
#define TENON_EP_NEGOTIATE_HPP_

#include "tenon/ep/error.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::ep {

struct ProviderIdentity {
  std::string_view id, version, build_id = {};
  const tenon_ep_api* api = nullptr;  // must live as long as the library
  std::string (*refuse)() = nullptr;  // why this machine or process cannot run it; empty: it can
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

/// Answers `io`, or refuses with a reason. Repeatable (R2, R3). Afterwards host() gives the host's table.
inline tenon_status negotiate(tenon_ep_negotiation* io, const ProviderIdentity& own) noexcept {
  if (io == nullptr || io->struct_size < sizeof(tenon_ep_negotiation)) return TENON_INVALID_ARGUMENT;
  const auto refuse = [&](std::string_view reason) {
    detail::copy_text(io->reason, sizeof(io->reason), reason);
    return TENON_FAILED_PRECONDITION;
  };
  try {
    uint32_t major = TENON_EP_ABI_MAJOR;
    const bool major_fits = io->host_major_lowest <= major && major <= io->host_major_highest;
    const bool unstable = major == 0 && io->host_major_highest == 0;
    if (!major_fits) return refuse(cat("built for ABI ", TENON_EP_ABI_MAJOR, ".", TENON_EP_ABI_MINOR));
    if (unstable && io->host_minor != TENON_EP_ABI_MINOR)
      return refuse(cat("built for ABI 0.", TENON_EP_ABI_MINOR, ", and before 1.0 only the same minor fits"));
    if (io->host != nullptr) detail::g_host = read_struct(io->host);
    if (own.refuse != nullptr) {
      if (const std::string reason = own.refuse(); !reason.empty()) return refuse(reason);
    }
  } catch (const std::bad_alloc&) {
    return TENON_RESOURCE_EXHAUSTED;
  } catch (...) {
    return TENON_INTERNAL;
  }
  io->major = TENON_EP_ABI_MAJOR;
  io->minor = TENON_EP_ABI_MINOR;
  io->sanitizer = own_sanitizer();
  detail::copy_text(io->provider_id, sizeof(io->provider_id), own.id);
  detail::copy_text(io->provider_version, sizeof(io->provider_version), own.version);
  detail::copy_text(io->build_id, sizeof(io->build_id), own.build_id);
  io->api = own.api;
  return TENON_OK;
}

}  // namespace tenon::ep
#pragma GCC visibility pop
#endif  // TENON_EP_NEGOTIATE_HPP_
