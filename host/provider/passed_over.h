// Provider builds that a user would expect to be used and that are not.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tenon::provider {

// X(enumerator, "NAME", "cure"): reasons other than the refusals of refusal.h. The meaning of a name never changes.
#define TENON_SKIPS(X)                                                                                    \
  X(kEmulated, "S_EMULATED", "name it in select.order to use a device that software emulates")            \
  X(kUnnamed, "S_UNNAMED",                                                                                \
    "name it in select.order; only providers of the installation are used automatically")                 \
  X(kByName, "S_BY_NAME", "name it in select.order")                                                      \
  X(kOverridden, "S_OVERRIDDEN", "remove the path that comes first, or install the wanted version there") \
  X(kVersion, "S_VERSION", "change provider.<id>.version so that it includes this version")               \
  X(kUnusable, "S_UNUSABLE", "see the reason, and run: tenon providers doctor")

enum class Skip {
#define TENON_SKIP_ENUM(enumerator, name, cure) enumerator,
  TENON_SKIPS(TENON_SKIP_ENUM)
#undef TENON_SKIP_ENUM
};
std::string_view skip_name(Skip skip);
std::string_view skip_cure(Skip skip);

struct PassedOver {
  std::string provider;  // its id or entry of select.order; for an unreadable manifest, its path
  std::string version;   // empty when unknown
  std::string code;      // refusal_name() or skip_name()
  std::string reason, cure;
  std::string instead;  // the build of the same id that is used, such as "onednn 1.2.0"; may be empty

  /// One line: "onednn 1.3.0 is not used (E_SHA_MISMATCH), onednn 1.2.0 is: reason; cure".
  std::string text() const;
};

PassedOver passed_over(std::string provider, std::string version, Skip skip, std::string reason);
/// Takes code, reason and cure from `status` if it is a refusal; else uses kUnusable.
PassedOver passed_over(std::string provider, std::string version, const Status& status);

}  // namespace tenon::provider
