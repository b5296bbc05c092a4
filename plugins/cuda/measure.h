// Times of work on a device, to choose between ways to do the same.
#pragma once

#include <cstdint>
#include <functional>

#include "instance.h"

namespace tenon::cuda {

/// Nanoseconds that the device takes for what `enqueue` gives to a stream: the least of several times. It is called several times.
int64_t time_of(const Device& device, const std::function<void(CUstream)>& enqueue);

}  // namespace tenon::cuda
