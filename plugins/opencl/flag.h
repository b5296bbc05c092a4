// Reports of indices that are out of range. Kernels read indices on the device, where they cannot throw. A kernel writes
// the first bad index into a flag, and the host checks the flag after it has waited for the work.
#pragma once

#include <string>

#include "device.h"
#include "tenon/ep/device/indices.hpp"
#include "tenon/ep/device/late_errors.hpp"
#include "timings.h"

namespace tenon::opencl {

/// The flag of one bound node.
class IndexFlag : public ep::LateCheck {
 public:
  IndexFlag(const Instance& instance, std::string place);
  IndexFlag(const IndexFlag&) = delete;
  IndexFlag& operator=(const IndexFlag&) = delete;

  cl_mem buffer() const { return buffer_.get(); }
  /// Call it after the node's launches: copies the flag to the host if the device has its own memory.
  void enqueue(cl_command_queue queue, Timings* timings, uint64_t work_id);
  std::optional<ep::Error> take() override;
  const std::string& place() const { return place_; }

 private:
  struct alignas(64) Words {
    ep::IndexReport report;
  };
  const Instance& instance_;
  std::string place_;
  Words words_;
  MemHandle buffer_;
};

}  // namespace tenon::opencl
