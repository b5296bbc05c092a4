// Memory that ran out while a manifest or library was looked at says nothing of it: it is no refusal.
#pragma once

#include <new>

#include "core/base/status.h"

namespace tenon {

/// Throws std::bad_alloc, as the allocations around it do, so that no verdict is made of it; the border turns it into the
/// error.
inline void throw_if_out_of_memory(const Status& status) {
  if (status.kind() == ErrorKind::kOutOfMemory) throw std::bad_alloc();
}

}  // namespace tenon
