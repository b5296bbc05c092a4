// Accesses to the same memory that no order of streams and events separates.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "protocol.h"
#include "touches.h"

namespace fake_cuda::device {

/// What is known to have been done: for queues of this device, up to which number.
using Clock = std::vector<std::pair<uint32_t, uint64_t>>;

/// One piece of work: a kernel, a copy, a node of a graph.
struct Access {
  std::string name;
  TouchList touches;
};

/// Remembers what the queues of this device have done, as long as something that is not ordered after it may come. Thread-safe.
class Races {
 public:
  /// The command has done this. Ends the process if something else that was not ordered has touched the same.
  void check(uint32_t queue, uint64_t number, Clock clock, std::vector<Access> accesses);
  /// The command has touched nothing. Its clock tells what is no longer needed.
  void pass(uint32_t queue, Clock clock);

 private:
  struct Done {
    uint64_t number = 0;
    std::vector<Access> accesses;
  };
  void forget();

  std::mutex mutex_;
  std::map<uint32_t, std::deque<Done>> done_;  // of each queue, by number
  std::map<uint32_t, Clock> last_;             // of each queue
  size_t count_ = 0, limit_ = 64;
};

/// Ends the process if nodes of a graph that are not ordered touch the same. Those of node i end at ends[i]. `ordered` as in
/// GraphHeader.
void check_nodes(const std::vector<Access>& accesses, const std::vector<size_t>& ends,
                 const unsigned char* ordered);

}  // namespace fake_cuda::device
