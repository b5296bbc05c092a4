// Making and ending streams.
#pragma once

#include "call.h"

namespace fake_cuda {

/// A stream on a queue that nobody uses. Queue 0, of the null stream, is the first.
Stream& add_stream(Device& device, unsigned flags, int priority);

}  // namespace fake_cuda
