// When the work of a stream ran, for traces.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "api.h"
#include "tenon/ep/sinks.hpp"

namespace tenon::cuda {

/// Times of pieces of work on one stream, by an event before and one after each. Calls do not overlap, and are made with the
/// stream's context.
class Timestamps {
 public:
  explicit Timestamps(CUstream stream) : stream_(stream) {}

  void begin(std::string name, uint64_t work_id);
  void end();
  /// Gives the pieces that are done, and forgets them. Waits for the work on the stream.
  void give(const ep::TimeSink& sink);

 private:
  struct Piece {
    std::string name;
    uint64_t work_id;
    EventHandle begin, end;
    bool is_whole;  // both were recorded
  };
  /// An event, and when it was on the clock of the host.
  struct Reference {
    EventHandle event;
    int64_t ns = 0;
  };
  EventHandle take_event();
  Reference make_reference();

  CUstream stream_;
  std::deque<Piece> pieces_;
  std::vector<EventHandle> spare_;
};

}  // namespace tenon::cuda
