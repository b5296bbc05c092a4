#include "stream.h"

#include <chrono>
#include <thread>

namespace tenon::opencl {
namespace {

cl_int status_of(cl_event event) {
  cl_int status = CL_QUEUED;
  check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr),
        "clGetEventInfo");
  return status;
}

}  // namespace

void StreamEvent::record(const Stream& stream) {
  cl_event marker = nullptr;
  check(clEnqueueMarkerWithWaitList(stream.queue.get(), 0, nullptr, &marker), "clEnqueueMarkerWithWaitList");
  marker_ = EventHandle(marker);
  flags_ = stream.flags;
}

void StreamEvent::wait(int64_t timeout_ns) const {
  wait_for_marker(timeout_ns);
  flags_->check();
}

void StreamEvent::wait_for_marker(int64_t timeout_ns) const {
  ep::require(static_cast<bool>(marker_), TENON_FAILED_PRECONDITION,
              "the host waits for an event that was never recorded");
  cl_event marker = marker_.get();
  if (timeout_ns < 0) {
    const cl_int code = clWaitForEvents(1, &marker);
    if (code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) check(code, "clWaitForEvents");
    if (const cl_int status = status_of(marker); status < 0) check(status, "work on the device");
    return;
  }
  // Polls, since OpenCL cannot wait with a timeout.
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  for (;;) {
    const cl_int status = status_of(marker);
    if (status < 0) check(status, "work on the device");
    if (status == CL_COMPLETE) return;
    ep::require(std::chrono::steady_clock::now() < end, TENON_DEADLINE_EXCEEDED, "the work is not done");
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Stream::wait(const StreamEvent& event) const {
  cl_event marker = event.marker_.get();
  if (marker == nullptr) return;
  flags->add(event.flags_);
  check(clEnqueueBarrierWithWaitList(queue.get(), 1, &marker, nullptr), "clEnqueueBarrierWithWaitList");
}

}  // namespace tenon::opencl
