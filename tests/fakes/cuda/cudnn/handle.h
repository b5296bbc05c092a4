// A context of the library, which belongs to a context of the driver.
#pragma once

#include <cudnn_graph.h>

#include "tests/fakes/cuda/library/device_work.h"

struct cudnnContext {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
};

namespace fake_cudnn {

/// Whether a call may use the handle now: it was created and not destroyed, and its context is current.
bool is_usable(cudnnHandle_t handle);

}  // namespace fake_cudnn
