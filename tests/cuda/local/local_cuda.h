// A driver for tests of the stand-ins for libraries: work that is enqueued runs at once, in this process, on copies of the memory it
// named. What it reads beside them is NaN, and what it writes there is an error.
#pragma once

#include <string>
#include <vector>

#include "tests/fakes/cuda/driver/library_work.h"

namespace local_cuda {

/// What was enqueued, in order.
struct Call {
  std::string library, function, label;
  std::vector<tenon_fake_range> ranges;
  CUstream stream = nullptr;
  std::string error;  // empty if all went well
};

}  // namespace local_cuda

extern "C" {
/// The calls since the last one of this function.
std::vector<local_cuda::Call>* local_cuda_take_calls();
/// What cuCtxGetCurrent() gives from now on.
void local_cuda_set_context(CUcontext context);
/// What the next tenon_fake_cuda_enqueue() returns instead of doing anything.
void local_cuda_fail_next(CUresult result);
}
