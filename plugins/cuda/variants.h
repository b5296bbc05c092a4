// The forms of kernels that go over rows. Which of them is the fastest is measured (kernels/common/rows.h), or follows from a
// rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon::cuda {

/// Who does a row: a thread, or a block, whose threads combine what they found.
enum class Form : uint32_t { kThread, kBlock };

/// The rows of a launch.
struct Rows {
  size_t count = 0;
  size_t length = 0;    // elements of a row; 0: no block can do it
  bool across = false;  // neighbours in memory are of different rows
};

/// What the option `variants` asks for; nothing for "auto".
std::optional<Form> forced_form(std::string_view variants);

/// The form where nothing may be measured.
Form form_by_rule(const Rows& rows);

/// Rows that stand for all of about the same count and length: powers of two, of no more than kMostOfProbe elements.
Rows probe_of(const Rows& rows);
inline constexpr size_t kMostOfProbe = size_t{1} << 22;

}  // namespace tenon::cuda
