// Contexts that are current in a thread.
#pragma once

#include "call.h"

namespace fake_cuda {

/// Null if there is none.
Context* current_context();

}  // namespace fake_cuda
