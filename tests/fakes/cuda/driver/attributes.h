// What a device says of itself.
#pragma once

#include "state.h"

namespace fake_cuda {

/// 0 for attributes of things that the stand-in lacks.
int device_attribute(const Device& device, CUdevice_attribute attribute);

}  // namespace fake_cuda
