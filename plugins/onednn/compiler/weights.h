// Constants in the layouts of primitives, made once and shared between the sessions of a process.
#pragma once

#include "compiler/recipe.h"
#include "device.h"

namespace tenon::onednn {

/// Converts the tensor at `data` from layout `from` to layout `to`.
std::shared_ptr<const Packed> pack(const Instance& instance, const void* data, const Layout& from,
                                   const Layout& to);

}  // namespace tenon::onednn
