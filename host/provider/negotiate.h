// Negotiation: calls a library's only symbol and checks the answer. The scan process and the host share this code.
// It depends only on the SDK header, so that the scan helper stays small.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "host/provider/refusal.h"
#include "tenon/ep.h"

namespace tenon::provider {

/// What the library and the host agreed on.
struct Agreement {
  uint32_t major = 0, minor = 0;
  std::string provider_id, provider_version, build_id;
  /// The provider's table as this host knows it. Functions that the provider's table lacks are zero.
  tenon_ep_api api{};
};

/// What the manifest says about the library. Empty texts are not compared.
struct Expectation {
  std::string provider_id, provider_version;
  uint32_t sanitizer = TENON_SANITIZER_NONE;  // this host's sanitizer
};

/// The minors of TENON_EP_ABI_MAJOR that a host works with.
struct MinorRange {
  uint32_t oldest = TENON_EP_ABI_OLDEST_MINOR, newest = TENON_EP_ABI_MINOR;
};

/// kNone when a provider of ABI `major` that speaks the minors `lowest` to `highest` can work with a host of `host`:
/// majors are equal and the ranges overlap. Otherwise E_ABI_TOO_OLD or E_ABI_TOO_NEW. The manifest's range and the
/// minor that negotiation chose (`lowest` = `highest`) are judged by it.
Refusal judge_abi(uint32_t major, uint32_t lowest, uint32_t highest, const MinorRange& host = {});

struct Negotiation {
  Refusal refusal = Refusal::kNone;
  std::string reason;  // set when refused
  Agreement agreement;
};

/// Calls `entry` with `flags` and checks version, sanitizer, identity, struct sizes and required functions. A table that
/// is larger than this host's is cut; functions beyond a smaller one are NULL. Refusals:
/// E_NEGOTIATE (also when an exception leaves the library), E_ABI_TOO_OLD, E_ABI_TOO_NEW, E_SANITIZER,
/// E_SLOT_MISSING. Running out of memory is not a refusal but the error kOutOfMemory. `host` must live as long as
/// the library is loaded.
Result<Negotiation> negotiate(tenon_ep_negotiate_fn entry, uint32_t flags, const tenon_host_api* host,
                              const Expectation& expected);

/// Calls provider_create. `library_path` and `manifest_dir` must outlive the call, `host` the provider. An
/// exception that leaves the library becomes TENON_INTERNAL; std::bad_alloc becomes TENON_RESOURCE_EXHAUSTED.
tenon_status create_provider(const tenon_ep_api& api, uint32_t flags, tenon_host_provider* host,
                             const std::string& library_path, const std::string& manifest_dir,
                             tenon_provider** out_provider, tenon_error& out_error);

/// Names of the required functions that are NULL, as in "compile, run"; empty when all are set. A group is required when
/// its first function is set; RECORD requires STREAM too.
std::string missing_functions(const tenon_ep_api& api);

/// The text of a fixed-size field that may lack its terminator. Bytes that are not printable ASCII or UTF-8 become '?'.
std::string bounded_text(const char* text, uint64_t capacity);

}  // namespace tenon::provider
