// How a stand-in for a library of NVIDIA's finds the stand-in for the driver, and has it do work in the device's process.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "tests/fakes/cuda/driver/library_work.h"

namespace fake_cuda {

/// The context of the calling thread; null if there is none, or no driver.
CUcontext current_context();

/// 90 is 9.0: of all devices that the stand-in for the driver has.
int compute_capability();

/// One piece of work with the memory it needs.
class DeviceWork {
 public:
  /// `function`: one of this library, exported under its name. `label`: in logs and counts.
  DeviceWork(tenon_fake_work function, const char* name, const char* label);

  /// What is read or written from `address`; the index of it in the function's `memory`.
  int reads(const void* address, int64_t bytes) { return add(address, bytes, 0); }
  int writes(const void* address, int64_t bytes) { return add(address, bytes, 1); }

  CUresult enqueue(CUstream stream, const void* arguments, size_t bytes) const;

 private:
  int add(const void* address, int64_t bytes, int writes);

  const tenon_fake_work function_;
  const char* const name_;
  const char* const label_;
  std::vector<tenon_fake_range> ranges_;
};

}  // namespace fake_cuda
