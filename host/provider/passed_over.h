// What somebody who looks at the config and the installed files would expect to be used, and is not.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tenon::provider {

// X(enumerator, "NAME", "cure"): ways to be passed over besides the refusals of refusal.h. A name is never given another
// meaning.
#define TENON_SKIPS(X)                                                                                   \
  X(kEmulated, "S_EMULATED", "name it in select.order to use a device that software emulates")           \
  X(kUnnamed, "S_UNNAMED", "name it in select.order: only what the installation brings is used unasked") \
  X(kByName, "S_BY_NAME", "name it in select.order")                                                     \
  X(kOverridden, "S_OVERRIDDEN",                                                                         \
    "remove the path that comes first, or put the version there that is to be used")                     \
  X(kVersion, "S_VERSION", "change provider.<id>.version to let it in")                                  \
  X(kUnusable, "S_UNUSABLE", "see the reason; tenon providers doctor tells more")

enum class Skip {
#define TENON_SKIP_ENUM(enumerator, name, cure) enumerator,
  TENON_SKIPS(TENON_SKIP_ENUM)
#undef TENON_SKIP_ENUM
};
std::string_view skip_name(Skip skip);
std::string_view skip_cure(Skip skip);

struct PassedOver {
  std::string provider;  // id, or entry of select.order; of a manifest that cannot be read, its path
  std::string version;   // empty when it is not known
  std::string code;      // refusal_name() or skip_name()
  std::string reason, cure;
  std::string instead;  // "onednn 1.2.0": the build of the same id that is used; empty when none is

  /// One line: "onednn 1.3.0 is not used (E_SHA_MISMATCH), onednn 1.2.0 is: reason; cure".
  std::string text() const;
};

PassedOver passed_over(std::string provider, std::string version, Skip skip, std::string reason);
/// With the refusal's code, reason and cure where `status` is a refusal; else kUnusable.
PassedOver passed_over(std::string provider, std::string version, const Status& status);

}  // namespace tenon::provider
