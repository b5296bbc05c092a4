// Constants in the layouts of primitives, made once and shared between the sessions of a process.
#pragma once

#include <string>

#include "compiler/recipe.h"
#include "device.h"

namespace tenon::onednn {

/// The host's name for the content of a constant, as text; empty when the host does not offer names.
std::string constant_id(const ep::GraphView& graph, uint32_t value);

/// Converts the tensor at `data` from layout `from` to layout `to`. `name` names the bytes at `data`; the result is
/// shared with all who give the same name and layouts. With an empty name it is not shared.
std::shared_ptr<const Packed> pack(const Instance& instance, const std::string& name, const void* data,
                                   const Layout& from, const Layout& to);

}  // namespace tenon::onednn
