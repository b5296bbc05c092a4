// Inside a provider, failures are exceptions of type Error. At the border guard() turns every exception into a
// tenon_error.
#ifndef TENON_EP_ERROR_HPP_
#define TENON_EP_ERROR_HPP_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/ep.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

inline std::string_view view(tenon_str s) { return {s.data, static_cast<size_t>(s.size)}; }
inline tenon_str to_str(std::string_view s) { return {s.data(), s.size()}; }

/// "{2, ?, 3}".
inline std::string shape_text(std::span<const int64_t> dims) {
  std::string out = "{";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) out += ", ";
    out += dims[i] < 0 ? std::string("?") : std::to_string(dims[i]);
  }
  return out + "}";
}

namespace detail {
template <class T>
void append(std::string& out, const T& part) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out += std::string_view(part);
  } else if constexpr (std::is_same_v<T, char>) {
    out += part;
  } else if constexpr (std::is_convertible_v<const T&, std::span<const int64_t>>) {
    out += shape_text(part);
  } else if constexpr (std::is_floating_point_v<T>) {
    char text[32];
    out.append(text, std::to_chars(text, text + sizeof(text), part).ptr);
  } else {
    out += std::to_string(part);
  }
}
}  // namespace detail

/// Joins strings, numbers, characters and shapes (spans of dims) to one text.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

/// The exception of provider code. The border adds the place, such as "node 'conv1' (Conv)", where `where` is empty. An
/// error of work that an earlier call enqueued has the flag TENON_ERROR_ASYNC and the place of that work.
struct Error {
  tenon_status code = TENON_INTERNAL;
  std::string text;
  uint32_t flags = 0;      // TENON_ERROR_x
  std::string where = {};  // the place, if it is not the one of the call
};

template <class... Parts>
[[noreturn]] void fail(tenon_status code, const Parts&... parts) {
  throw Error{code, cat(parts...)};
}

template <class... Parts>
void require(bool condition, tenon_status code, const Parts&... parts) {
  if (!condition) [[unlikely]]
    fail(code, parts...);
}

namespace detail {

inline void copy_text(char* to, size_t room, std::string_view text) noexcept {
  const size_t n = text.size() < room - 1 ? text.size() : room - 1;
  if (n > 0) std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

/// Fills the fields that the caller's struct_size covers. Returns `code`.
inline tenon_status fill_error(tenon_error* error, tenon_status code, uint32_t flags, std::string_view where,
                               std::string_view message) noexcept {
  if (error == nullptr || error->struct_size < offsetof(tenon_error, where)) return code;
  error->code = code;
  error->flags = flags;
  error->kind = 0;
  if (error->struct_size >= offsetof(tenon_error, message))
    copy_text(error->where, sizeof(error->where), where);
  if (error->struct_size >= offsetof(tenon_error, message) + sizeof(error->message))
    copy_text(error->message, sizeof(error->message), message);
  return code;
}

/// The host's table, set by negotiation. Functions that an older host does not have are NULL.
inline tenon_host_api g_host{};

}  // namespace detail

/// Call in a catch block: fills `error` from the current exception and returns its status. `where` names the node or
/// file, unless the exception names a place itself; it may be empty.
inline tenon_status report(tenon_error* error, std::string_view where) noexcept {
  try {
    throw;
  } catch (const Error& e) {
    return detail::fill_error(error, e.code == TENON_OK ? TENON_INTERNAL : e.code, e.flags,
                              e.where.empty() ? where : std::string_view(e.where), e.text);
  } catch (const std::bad_alloc&) {
    return detail::fill_error(error, TENON_RESOURCE_EXHAUSTED, 0, where, "out of memory");
  } catch (const std::exception& e) {
    return detail::fill_error(error, TENON_INTERNAL, 0, where, e.what());
  } catch (...) {
    return detail::fill_error(error, TENON_INTERNAL, 0, where, "an exception of unknown type");
  }
}

/// Calls a function of the host, or of a sink, whose last parameter is a tenon_error. Throws its failure as Error.
template <class F, class... Args>
void call_host(F* function, Args... args) {
  if (function == nullptr) fail(TENON_UNIMPLEMENTED, "the host lacks a function that this provider needs");
  tenon_error error;
  error.struct_size = sizeof(error);
  error.where[0] = error.message[0] = '\0';
  error.flags = 0;
  if (const tenon_status status = function(args..., &error); status != TENON_OK)
    throw Error{status, error.message, error.flags, error.where};
}

/// A copy of a struct that a host of any minor version passed; fields beyond its size are zero.
template <class Params>
Params read_struct(const Params* from) {
  Params out{};
  std::memcpy(static_cast<void*>(&out), from, std::min<size_t>(from->struct_size, sizeof(out)));
  return out;
}

/// Fills a struct of a host of any minor version, up to the size that the host gave it.
template <class Out>
void write_struct(Out* to, Out from) {
  from.struct_size = to->struct_size;
  std::memcpy(static_cast<void*>(to), &from, std::min<size_t>(to->struct_size, sizeof(from)));
}

/// The host's table. Its functions are thread-safe; a function that the host lacks is NULL.
inline const tenon_host_api& host() { return detail::g_host; }

/// Runs `body` at the border. An exception fills `error` and becomes the returned status.
template <class F>
tenon_status guard(tenon_error* error, F&& body) noexcept {
  try {
    body();
    return TENON_OK;
  } catch (...) {
    return report(error, {});
  }
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_ERROR_HPP_
