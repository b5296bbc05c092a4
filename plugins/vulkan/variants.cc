#include "variants.h"

#include <vector>

namespace tenon::vulkan {
namespace {

constexpr size_t kMostOfRow = size_t{1} << 14;  // a work-item on its own does not take long with it

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

Form form_by_rule(const ep::Rows& rows) {
  return rows.length >= 256 && rows.count < 4096 ? Form::kShared : Form::kItem;
}

Form Variants::fastest(std::string_view kernel, const ep::Rows& rows, std::span<const Form> forms,
                       const Measure& measure) {
  const ep::Rows probe = ep::probe_of(rows, kMostOfRow, kMostOfProbe);
  std::vector<uint32_t> ways;
  for (const Form form : forms) ways.push_back(static_cast<uint32_t>(form));
  return Form(answers_.fastest(ep::cat(kernel, "/", ep::text_of(probe)), ways,
                               [&](uint32_t way) { return measure(Form(way), probe); }));
}

}  // namespace tenon::vulkan
