#include "flag.h"

namespace tenon::opencl {
IndexFlag::IndexFlag(const Instance& instance, std::string place)
    : instance_(instance), place_(std::move(place)) {
  const cl_mem_flags where = instance.uses_host_memory ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
  buffer_ = instance.device.make_buffer(sizeof(Words), CL_MEM_READ_WRITE | where, &words_);
}

void IndexFlag::enqueue(cl_command_queue queue, Timings* timings, uint64_t work_id) {
  if (instance_.uses_host_memory) return;
  cl_event event = nullptr;
  check(clEnqueueReadBuffer(queue, buffer_.get(), CL_FALSE, 0, sizeof(Words), &words_, 0, nullptr,
                            timings == nullptr ? nullptr : &event),
        "clEnqueueReadBuffer");
  if (timings != nullptr) timings->add(EventHandle(event), ep::cat(place_, ": check of indices"), work_id);
}

std::optional<ep::Error> IndexFlag::take() {
  // The device writes the flag, which the compiler cannot see.
  if (__atomic_load_n(&words_.is_set, __ATOMIC_ACQUIRE) == 0) return std::nullopt;
  const Words found = words_;
  words_ = Words();
  if (!instance_.uses_host_memory)
    check(clEnqueueWriteBuffer(instance_.device.queue(), buffer_.get(), CL_TRUE, 0, sizeof(Words), &words_, 0,
                               nullptr, nullptr),
          "clEnqueueWriteBuffer");
  const int64_t index = static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(found.high)) << 32 |
                                             static_cast<uint32_t>(found.low));
  return ep::Error{TENON_OUT_OF_RANGE,
                   ep::cat("index ", index, " is out of range for an axis of ", found.size),
                   TENON_ERROR_ASYNC, place_};
}

}  // namespace tenon::opencl
