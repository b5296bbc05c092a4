// The forms of kernels that go over rows. Which of them is the fastest is measured (kernels/common/rows.h), or follows from a
// rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/ep/device/rows.hpp"

namespace tenon::cuda {

/// Who does a row: a thread, or a block, whose threads combine what they found.
enum class Form : uint32_t { kThread, kBlock };

/// What the option `variants` asks for; nothing for "auto".
std::optional<Form> forced_form(std::string_view variants);

/// The form where nothing may be measured.
Form form_by_rule(const ep::Rows& rows);

}  // namespace tenon::cuda
