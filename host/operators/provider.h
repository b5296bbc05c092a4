// The provider of an application's operators: it is inside the library, and the host uses it by the functions of ep.h, as
// it uses every other provider.
#pragma once

#include <memory>

#include "core/ops/registered.h"
#include "host/provider/loaded_provider.h"

namespace tenon::operators {

/// Its id, which instances and messages show.
inline constexpr const char* kProviderId = "custom";

/// A provider that runs the nodes of `operators`, all made by make_operator(), on its one device.
std::shared_ptr<provider::LoadedProvider> make_provider(const ops::RegisteredOperators& operators);

}  // namespace tenon::operators
