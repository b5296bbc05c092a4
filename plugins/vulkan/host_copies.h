// Copies to and from plain memory of the host, in the order of a stream.
//
// The device cannot reach that memory. A thread waits for the work before the copy, copies, and signals the semaphore of
// the stream, for which the work after it waits on the device. It starts with the first such copy.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "commands.h"

namespace tenon::vulkan {

/// One value of a timeline semaphore.
struct Moment {
  VkDevice device;
  VkSemaphore semaphore;
  uint64_t value;
};

/// Thread-safe.
class HostCopies {
 public:
  HostCopies(VkDevice device, VkSemaphore semaphore);
  /// Ends the thread. Copies that still wait are not done.
  ~HostCopies();
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  /// Copies after all of `waits`, then signals `value`. `copy` of 0 bytes only signals.
  /// `times`: receives when it copied; may be null.
  void add(std::vector<Moment> waits, const Transfer& copy, Timestamps::HostTimes* times, uint64_t value);

 private:
  struct Job {
    std::vector<Moment> waits;
    Transfer copy;
    Timestamps::HostTimes* times;
    uint64_t value;
  };
  void work();
  bool wait_for(const Moment& moment);

  const VkDevice device_;
  const VkSemaphore semaphore_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tenon::vulkan
