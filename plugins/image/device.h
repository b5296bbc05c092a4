// The one device: the processor.
#pragma once

#include "tenon/ep.hpp"

namespace tenon::image {

void describe_device(const ep::DeviceSink& sink);

}  // namespace tenon::image
