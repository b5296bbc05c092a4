// The table that the host gives to providers.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "tenon/ep.h"

namespace tenon::runtime {

/// The table of the process; static. Every function is thread-safe.
const tenon_host_api* host_api();

// Functions that the application's table also has.
tenon_status value_make_tensor(uint32_t dtype, uint32_t rank, const int64_t* dims, tenon_value** out_value,
                               void** out_data, tenon_error* error) noexcept;
tenon_status value_make_strings(uint32_t rank, const int64_t* dims, const int64_t* offsets, const char* bytes,
                                tenon_value** out_value, tenon_error* error) noexcept;
tenon_status value_make(uint32_t kind, uint32_t dtype, tenon_value* const* elements, uint64_t n,
                        tenon_value** out_value, tenon_error* error) noexcept;
void value_retain(tenon_value* value) noexcept;
void value_release(tenon_value* value) noexcept;
uint32_t value_kind(const tenon_value* value) noexcept;
uint64_t value_size(const tenon_value* value) noexcept;
tenon_value* value_element(const tenon_value* value, uint64_t index) noexcept;
tenon_status value_tensor(const tenon_value* value, tenon_tensor* out_tensor) noexcept;

}  // namespace tenon::runtime
