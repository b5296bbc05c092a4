#include "host_copies.h"

#include <cstring>

namespace tenon::vulkan {
namespace {

constexpr uint64_t kLookEvery = 50'000'000;  // ns; how soon the thread sees that it must end

}  // namespace

HostCopies::HostCopies(VkDevice device, VkSemaphore semaphore)
    : device_(device), semaphore_(semaphore), thread_([this] { work(); }) {}

HostCopies::~HostCopies() {
  if (is_forked()) {
    thread_.detach();  // it does not exist here
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HostCopies::add(std::vector<Moment> waits, const Transfer& copy, Timestamps::HostTimes* times,
                     uint64_t value) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(waits), copy, times, value});
  }
  changed_.notify_all();
}

/// False if the thread must end first, or the device is lost.
bool HostCopies::wait_for(const Moment& moment) {
  auto info = make_struct<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  info.semaphoreCount = 1;
  info.pSemaphores = &moment.semaphore;
  info.pValues = &moment.value;
  for (;;) {
    const VkResult code = vkWaitSemaphores(moment.device, &info, kLookEvery);
    if (code == VK_SUCCESS) return true;
    if (code != VK_TIMEOUT) return false;
    const std::lock_guard lock(mutex_);
    if (ends_) return false;
  }
}

void HostCopies::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    bool is_ready = true;
    for (const Moment& moment : job.waits) is_ready = is_ready && wait_for(moment);
    if (is_ready) {
      const uint64_t begin = ep::now_ns();
      if (job.copy.bytes != 0) std::memmove(job.copy.to.address, job.copy.from.address, job.copy.bytes);
      if (job.times != nullptr)
        *job.times = {static_cast<int64_t>(begin), static_cast<int64_t>(ep::now_ns())};
      auto signal = make_struct<VkSemaphoreSignalInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO);
      signal.semaphore = semaphore_;
      signal.value = job.value;
      vkSignalSemaphore(device_, &signal);  // fails only with the device, which the waiting thread sees
    }
    lock.lock();
    if (!is_ready) return;
  }
}

}  // namespace tenon::vulkan
