// The first talk with a provider library: calling its one symbol and judging the answer. The scan process and
// the host itself judge by the same code. Depends on nothing but the SDK header, so that the scan helper
// stays small.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "host/provider/refusal.h"
#include "tenon/ep.h"

namespace tenon::provider {

/// What both sides agreed on.
struct Agreement {
  uint32_t major = 0, minor = 0;
  std::string provider_id, provider_version, build_id;
  /// The provider's table as this host knows it: what the provider's own table lacks is zero.
  tenon_ep_api api{};
};

/// What was expected of the library, from its manifest; empty texts are not compared.
struct Expectation {
  std::string provider_id, provider_version;
  uint32_t sanitizer = TENON_SANITIZER_NONE;  // of this host
};

struct Negotiation {
  Refusal refusal = Refusal::kNone;
  std::string reason;  // when refused
  Agreement agreement;
};

/// Calls `entry` with `flags` and checks version, sanitizer, identity, struct sizes and required slots.
/// Refusals: E_NEGOTIATE, E_ABI_TOO_OLD, E_ABI_TOO_NEW, E_SANITIZER, E_SLOT_MISSING. An exception that leaves
/// the library is caught here and refused. Memory that runs out there says nothing of the library and is the error
/// kOutOfMemory. `host` may be used by the library as long as it is loaded.
Result<Negotiation> negotiate(tenon_ep_negotiate_fn entry, uint32_t flags, const tenon_host_api* host,
                              const Expectation& expected);

/// Calls provider_create. `library_path`, `manifest_dir` and `host` must outlive the call, `host` the
/// provider. An exception that leaves the library becomes TENON_INTERNAL, and std::bad_alloc TENON_RESOURCE_EXHAUSTED.
tenon_status create_provider(const tenon_ep_api& api, uint32_t flags, tenon_host_provider* host,
                             const std::string& library_path, const std::string& manifest_dir,
                             tenon_provider** out_provider, tenon_error& out_error);

/// Names of the required slots that are NULL, "compile, run"; empty when none is.
std::string missing_slots(const tenon_ep_api& api);

/// The text of a fixed-size field, which its writer may have forgotten to end; bytes that are no printable
/// ASCII or UTF-8 become '?'.
std::string bounded_text(const char* text, uint64_t capacity);

}  // namespace tenon::provider
