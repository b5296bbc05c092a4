// Used by every file of the fake accelerator: the host's table, and errors at the border.
//
// The fake behaves like a discrete accelerator, but is stricter than a real one. Only the fake can touch its
// memory, and only while it works. Work does not start before it is flushed. The fake checks and reports what
// the host owes a provider: alignment, domains, one Run of a binding at a time.
#pragma once

#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/ep.h"

namespace accelerator {

struct Failure {
  tenon_status code;
  std::string text;
  uint32_t flags = 0;
};

template <class... Parts>
[[noreturn]] void fail(tenon_status code, const Parts&... parts) {
  std::string text;
  const auto add = [&](const auto& part) {
    if constexpr (std::is_convertible_v<decltype(part), std::string_view>) {
      text += std::string_view(part);
    } else {
      text += std::to_string(part);
    }
  };
  (add(parts), ...);
  throw Failure{code, std::move(text), 0};
}

template <class... Parts>
void require(bool condition, tenon_status code, const Parts&... parts) {
  if (!condition) fail(code, parts...);
}

inline std::string_view view(tenon_str s) { return {s.data, static_cast<size_t>(s.size)}; }
inline tenon_str to_str(std::string_view s) { return {s.data(), s.size()}; }

inline tenon_status report(tenon_error* error, const Failure& failure) noexcept {
  if (error == nullptr || error->struct_size < sizeof(tenon_error)) return failure.code;
  error->code = failure.code;
  error->flags = failure.flags;
  error->where[0] = '\0';
  const size_t n = std::min(failure.text.size(), sizeof(error->message) - 1);
  std::memcpy(error->message, failure.text.data(), n);
  error->message[n] = '\0';
  return failure.code;
}

/// Runs `body` and converts exceptions into a status.
template <class Body>
tenon_status guard(tenon_error* error, Body&& body) noexcept {
  try {
    body();
    return TENON_OK;
  } catch (const Failure& failure) {
    return report(error, failure);
  } catch (const std::bad_alloc&) {
    return TENON_RESOURCE_EXHAUSTED;
  } catch (...) {
    return TENON_INTERNAL;
  }
}

/// Set during negotiation.
inline const tenon_host_api* g_host = nullptr;

}  // namespace accelerator
