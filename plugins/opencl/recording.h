// Work of a stream that was recorded, to be enqueued as one piece.
//
// It is enqueued command by command: cl_khr_command_buffer, which could record it in the driver, is newer than most
// drivers.
#pragma once

#include <vector>

#include "memory.h"

namespace tenon::opencl {

class Launches;
class Stream;

/// Immutable once the stream has ended it. Borrows the launches and the ends of copies.
///
/// Recordings of several frames may run at once on several streams. Nothing is set on a kernel object then: each binding
/// has its own, with its arguments, and a binding is run by one Run at a time.
class Recording {
 public:
  void add(const Launches& launches, uint64_t work_id) { steps_.push_back({&launches, {}, work_id}); }
  void add(const Transfer& transfer, uint64_t work_id) { steps_.push_back({nullptr, transfer, work_id}); }
  /// Keeps memory that only this recording uses.
  void keep(MemHandle memory) { memory_.push_back(std::move(memory)); }

  /// Enqueues everything in order on the stream, which need not be the one that recorded.
  void run(Stream& stream) const;

 private:
  struct Step {
    const Launches* launches;  // null: `transfer`
    Transfer transfer;
    uint64_t work_id;  // the host's, for times
  };

  std::vector<Step> steps_;
  std::vector<MemHandle> memory_;
};

}  // namespace tenon::opencl
