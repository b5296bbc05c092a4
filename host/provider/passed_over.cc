#include "host/provider/passed_over.h"

namespace tenon::provider {

std::string_view skip_name(Skip skip) {
  switch (skip) {
#define TENON_SKIP_NAME(enumerator, name, cure) \
  case Skip::enumerator:                        \
    return name;
    TENON_SKIPS(TENON_SKIP_NAME)
#undef TENON_SKIP_NAME
  }
  return "";
}

std::string_view skip_cure(Skip skip) {
  switch (skip) {
#define TENON_SKIP_CURE(enumerator, name, cure) \
  case Skip::enumerator:                        \
    return cure;
    TENON_SKIPS(TENON_SKIP_CURE)
#undef TENON_SKIP_CURE
  }
  return "";
}

std::string PassedOver::text() const {
  std::string out =
      str_cat("provider ", provider, version.empty() ? "" : " ", version, " is not used (", code, ")");
  if (!instead.empty()) out += str_cat(", ", instead, " is");
  out += ": " + reason;
  return cure.empty() ? out : str_cat(out, "; ", cure);
}

PassedOver passed_over(std::string provider, std::string version, Skip skip, std::string reason) {
  return {std::move(provider), std::move(version),           std::string(skip_name(skip)),
          std::move(reason),   std::string(skip_cure(skip)), ""};
}

PassedOver passed_over(std::string provider, std::string version, const Status& status) {
  if (status.refusal().empty())
    return passed_over(std::move(provider), std::move(version), Skip::kUnusable,
                       std::string(status.message()));
  return {std::move(provider),          std::move(version),         std::string(status.refusal()),
          std::string(status.reason()), std::string(status.cure()), ""};
}

}  // namespace tenon::provider
