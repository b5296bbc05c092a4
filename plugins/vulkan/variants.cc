#include "variants.h"

#include <algorithm>
#include <bit>

namespace tenon::vulkan {
namespace {

constexpr size_t kMostOfRow = size_t{1} << 14;  // a work-item on its own does not take long with it

/// Of forms that are about as fast the first is taken, so that noise decides less often.
bool is_faster(int64_t time, int64_t than) { return time < than - than / 10; }

}  // namespace

std::optional<Form> forced_form(std::string_view variants, bool has_subgroups) {
  if (variants == "item") return Form::kItem;
  if (variants == "shared") return Form::kShared;
  if (variants != "subgroup") return std::nullopt;
  ep::require(
      has_subgroups, TENON_INVALID_ARGUMENT,
      "variants = \"subgroup\" needs a device whose compute shaders have the arithmetic operations of "
      "subgroups; leave it at \"auto\"");
  return Form::kSubgroup;
}

Form form_by_rule(const Rows& rows) {
  return rows.length >= 256 && rows.count < 4096 ? Form::kShared : Form::kItem;
}

Rows probe_of(const Rows& rows) {
  const size_t length = std::bit_floor(std::min(rows.length, kMostOfRow));
  return {std::bit_floor(std::min(rows.count, kMostOfProbe / length)), length, rows.across};
}

std::optional<Form> Variants::find(const std::string& question) {
  const std::lock_guard lock(mutex_);
  const auto known = answers_.find(question);
  return known == answers_.end() ? std::nullopt : std::optional(known->second);
}

Form Variants::fastest(std::string_view kernel, const Rows& rows, std::span<const Form> forms,
                       const Measure& measure) {
  const Rows probe = probe_of(rows);
  const std::string question =
      ep::cat(kernel, "/", probe.count, "x", probe.length, probe.across ? "/across" : "");
  if (const std::optional<Form> known = find(question)) return *known;
  const std::lock_guard timing(timing_);  // work of two measurements would slow each other down
  if (const std::optional<Form> known = find(question)) return *known;
  Form best = forms.front();
  int64_t least = INT64_MAX;
  for (const Form form : forms) {
    const int64_t time = measure(form, probe);
    if (!is_faster(time, least)) continue;
    best = form;
    least = time;
  }
  const std::lock_guard lock(mutex_);
  answers_[question] = best;
  is_new_ = true;
  return best;
}

void Variants::load(const ep::InstanceSettings& instance) {
  if (ep::host().cache_get == nullptr || instance.host == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_loaded_, true)) return;
  }
  tenon_str blob{};
  if (ep::host().cache_get(instance.host, ep::to_str(key_), &blob, nullptr) != TENON_OK) return;
  std::string_view text = ep::view(blob);
  {
    const std::lock_guard lock(mutex_);
    // Lines of a question and its answer.
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end + 1);
      if (line.size() < 3 || line.back() < '0' || line.back() > '2') continue;
      answers_.try_emplace(std::string(line.substr(0, line.size() - 2)), Form(line.back() - '0'));
    }
  }
  ep::host().cache_done(instance.host, blob);
}

void Variants::save(const ep::InstanceSettings& instance) {
  if (ep::host().cache_put == nullptr || instance.host == nullptr) return;
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_new_, false)) return;
    for (const auto& [question, answer] : answers_)
      text += ep::cat(question, " ", static_cast<uint32_t>(answer), "\n");
  }
  // Best effort: if the cache is full or read-only, the next process measures again.
  if (ep::host().cache_put(instance.host, ep::to_str(key_), ep::to_str(text), nullptr) == TENON_OK) return;
  const std::lock_guard lock(mutex_);
  is_new_ = true;
}

}  // namespace tenon::vulkan
