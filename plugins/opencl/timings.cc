#include "timings.h"

#include <algorithm>

namespace tenon::opencl {
namespace {

int64_t time_of(cl_event event, cl_profiling_info what) {
  cl_ulong out = 0;
  check(clGetEventProfilingInfo(event, what, sizeof(out), &out, nullptr), "clGetEventProfilingInfo");
  return static_cast<int64_t>(out);
}

}  // namespace

int64_t Timings::measure_offset() const {
  // OpenCL 1.2 does not tell how the two clocks differ. A command is enqueued after the host looked at its clock, and done
  // before the host looks again. Each round narrows what the difference can be.
  constexpr int kRounds = 5;
  int64_t least = INT64_MIN, most = INT64_MAX;
  for (int i = 0; i < kRounds; ++i) {
    const auto before = static_cast<int64_t>(ep::now_ns());
    cl_event raw = nullptr;
    check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &raw), "clEnqueueMarkerWithWaitList");
    const EventHandle marker(raw);
    check(clWaitForEvents(1, &raw), "clWaitForEvents");
    const auto after = static_cast<int64_t>(ep::now_ns());
    least = std::max(least, before - time_of(raw, CL_PROFILING_COMMAND_QUEUED));
    most = std::min(most, after - time_of(raw, CL_PROFILING_COMMAND_END));
  }
  return least + (most - least) / 2;
}

void Timings::give(const ep::TimeSink& sink) {
  if (commands_.empty()) return;
  const int64_t offset = measure_offset();
  for (; !commands_.empty(); commands_.pop_front()) {
    const Command& command = commands_.front();
    const cl_int status = status_of(command.event.get());
    if (status > CL_COMPLETE) return;
    if (status < CL_COMPLETE) continue;  // a command that failed has no times
    const int64_t begin = time_of(command.event.get(), CL_PROFILING_COMMAND_START) + offset;
    const int64_t end = time_of(command.event.get(), CL_PROFILING_COMMAND_END) + offset;
    sink.add({command.name, command.work_id, static_cast<uint64_t>(begin), static_cast<uint64_t>(end)});
  }
}

}  // namespace tenon::opencl
