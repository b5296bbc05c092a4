// A context of the library, which belongs to a context of the driver.
#pragma once

#include <cublasLt.h>

#include "tests/fakes/cuda/library/device_work.h"

struct cublasLtContext {
  CUcontext context = nullptr;
};

namespace fake_cublaslt {

/// Whether a call may use the handle now: it was created and not destroyed, and its context is current.
bool is_usable(cublasLtHandle_t handle);

}  // namespace fake_cublaslt
