// Helpers of the C API: texts, handles, and structs of the caller, which may have another size than this version's.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "host/base/error_struct.h"
#include "host/config/config.h"
#include "tenon/tenon.h"

/// A text that the caller owns.
struct tenon_text {
  std::string text;
};

struct tenon_config {
  tenon::config::Config config;
};

namespace tenon::c_api {

inline std::string_view view(tenon_str text) { return {text.data, text.data == nullptr ? 0 : text.size}; }
inline tenon_str to_str(std::string_view text) { return {text.data(), text.size()}; }

/// A copy of `from` (may be null) in the size of this version. Members that the caller's struct lacks are 0.
template <class T>
Result<T> read_struct(const T* from, std::string_view name) {
  T out{};
  if (from == nullptr) return out;
  if (from->struct_size <= sizeof(uint32_t))
    return invalid_input("struct_size of ", name, " is ", from->struct_size,
                         "; set it to the size of the struct");
  std::memcpy(static_cast<void*>(&out), from, std::min<size_t>(from->struct_size, sizeof(T)));
  return out;
}

/// Writes the members that the caller's struct has, except struct_size.
template <class T>
Status write_struct(T value, T* to) {
  if (to == nullptr || to->struct_size < sizeof(uint32_t))
    return invalid_input("struct_size of an output struct is not set");
  const uint32_t size = to->struct_size;
  std::memcpy(static_cast<void*>(to), &value, std::min<size_t>(size, sizeof(T)));
  to->struct_size = size;
  return ok_status();
}

/// Gives `text` to the caller, who owns it.
Status give_text(std::string text, tenon_text** out);

/// The caller's config, or, when it is null, one made of the default layers.
Result<config::Config> config_or_default(const tenon_config* config);

inline Status check_pointer(const void* pointer, std::string_view name) {
  return pointer != nullptr ? ok_status() : invalid_input(name, " is NULL");
}
inline Status check_text(tenon_str text, std::string_view name) {
  return text.data != nullptr || text.size == 0
             ? ok_status()
             : invalid_input(name, " is NULL, but its size is ", text.size, " bytes");
}

}  // namespace tenon::c_api
