// Names of error codes.
#pragma once

#include <cuda.h>

namespace fake_cuda {

/// "CUDA_ERROR_OUT_OF_MEMORY"; "unknown error" for other numbers.
const char* error_name(CUresult code);

}  // namespace fake_cuda
