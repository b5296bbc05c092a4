// Constants in the layouts that primitives want, made once and shared between the sessions of a process.
#pragma once

#include "compiler/plan.h"
#include "device.h"

namespace tenon::onednn {

/// The tensor at `data`, which lies as `from` says, as `to` says.
std::shared_ptr<const Packed> pack(const Instance& instance, const void* data, const Layout& from,
                                   const Layout& to);

}  // namespace tenon::onednn
