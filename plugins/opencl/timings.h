// When the commands of a stream ran, for traces.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "cl.h"
#include "tenon/ep/sinks.hpp"

namespace tenon::opencl {

/// Times of the commands on an in-order queue with CL_QUEUE_PROFILING_ENABLE. Calls do not overlap.
class Timings {
 public:
  explicit Timings(cl_command_queue queue) : queue_(queue) {}

  /// Notes a command that was just enqueued. `work_id`: the host's number of it.
  void add(EventHandle event, std::string name, uint64_t work_id) {
    commands_.push_back({std::move(event), std::move(name), work_id});
  }
  /// Gives the commands that are done, and forgets them. Waits for the work on the queue.
  void give(const ep::TimeSink& sink);

 private:
  struct Command {
    EventHandle event;
    std::string name;
    uint64_t work_id;
  };
  /// What to add to a time of the device for the time of the host.
  int64_t measure_offset() const;

  cl_command_queue queue_;
  std::deque<Command> commands_;
};

}  // namespace tenon::opencl
