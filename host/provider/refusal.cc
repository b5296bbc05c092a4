#include "host/provider/refusal.h"

namespace tenon::provider {
namespace {

struct Row {
  Refusal code;
  std::string_view name, cause, cure;
};

constexpr Row kRows[] = {{Refusal::kNone, "", "", ""},
#define TENON_REFUSAL_ROW(enumerator, name, cause, cure) {Refusal::enumerator, name, cause, cure},
                         TENON_REFUSALS(TENON_REFUSAL_ROW)
#undef TENON_REFUSAL_ROW
};

const Row& row(Refusal code) {
  auto index = static_cast<size_t>(code);
  return index < std::size(kRows) ? kRows[index] : kRows[0];
}

}  // namespace

std::string_view refusal_name(Refusal code) { return row(code).name; }
std::string_view refusal_cause(Refusal code) { return row(code).cause; }
std::string_view refusal_cure(Refusal code) { return row(code).cure; }

Refusal refusal_from_name(std::string_view name) {
  for (const Row& known : kRows) {
    if (known.name == name) return known.code;
  }
  return Refusal::kNone;
}

Status refuse(Refusal code, std::string_view reason, std::string_view cure) {
  return Status(StatusCode::kFailedPrecondition, std::string(reason), ErrorKind::kProviderRefused)
      .with_cure(refusal_cause(code), cure.empty() ? refusal_cure(code) : cure)
      .with_refusal(refusal_name(code));
}

}  // namespace tenon::provider
