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
  std::optional<ep::Error> error = ep::take_report(words_.report, place_);
  if (error && !instance_.uses_host_memory)
    check(clEnqueueWriteBuffer(instance_.device.queue(), buffer_.get(), CL_TRUE, 0, sizeof(Words), &words_, 0,
                               nullptr, nullptr),
          "clEnqueueWriteBuffer");
  return error;
}

}  // namespace tenon::opencl
