// The forms of kernels that go over rows, and which of them is the fastest: measured on the device, and kept for later processes.
//
// It knows nothing of shaders and launches; kernels/common/rows.h does.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/ep.hpp"
#include "tenon/ep/device/answers.hpp"
#include "tenon/ep/device/rows.hpp"

namespace tenon::vulkan {

/// Who does a row: a work-item, or a work-group. The members of a work-group combine what they found in shared memory, or
/// within their subgroups first.
enum class Form : uint32_t { kItem, kShared, kSubgroup };

/// What the option `variants` asks for; nothing for "auto". Throws INVALID_ARGUMENT for subgroups that the device lacks.
std::optional<Form> forced_form(std::string_view variants, bool has_subgroups);

/// The form where nothing may be measured.
Form form_by_rule(const ep::Rows& rows);

/// The most elements of the rows that are timed.
inline constexpr size_t kMostOfProbe = size_t{1} << 20;

/// What was measured on a device. Thread-safe.
class Variants {
 public:
  /// `key`: of the device, in the host's cache.
  explicit Variants(std::string key) : answers_(std::move(key)) {}

  /// Nanoseconds of a launch over such rows in this form.
  using Measure = std::function<int64_t(Form, const ep::Rows&)>;

  /// Measures each of `forms` once per kernel and probe_of() rows, one at a time. `kernel`: a name without spaces.
  Form fastest(std::string_view kernel, const ep::Rows& rows, std::span<const Form> forms,
               const Measure& measure);

  /// Adds what earlier processes measured.
  void load(const ep::InstanceSettings& instance) { answers_.load(instance); }
  /// Stores what was measured, unless nothing is new.
  void save(const ep::InstanceSettings& instance) { answers_.save(instance); }

 private:
  ep::MeasuredAnswers answers_;
};

}  // namespace tenon::vulkan
