// Running out of memory while a manifest or library is checked must not become a refusal of it.
#pragma once

#include <new>

#include "core/base/status.h"

namespace tenon {

/// Throws std::bad_alloc if `status` says that memory ran out, as a failed allocation would. The border turns it
/// into an error.
inline void throw_if_out_of_memory(const Status& status) {
  if (status.kind() == ErrorKind::kOutOfMemory) throw std::bad_alloc();
}

}  // namespace tenon
