// When the work of a command list ran, for traces.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tenon/ep/sinks.hpp"
#include "vk.h"

namespace tenon::vulkan {

class Device;

/// Times of pieces of work in command buffers that are executed in order. Calls do not overlap.
class Timestamps {
 public:
  explicit Timestamps(Device& device) : device_(device) {}

  void begin(VkCommandBuffer commands, std::string name, uint64_t work_id);
  void end(VkCommandBuffer commands);
  /// A piece of work that the host does: it writes begin and end on its own clock there.
  struct HostTimes {
    int64_t begin_ns = 0, end_ns = 0;
  };
  HostTimes& add_host(std::string name, uint64_t work_id);
  bool is_empty() const { return pieces_.empty(); }
  /// The work is done. `offset_ns`: what to add to a time of the device for the time of the host.
  void give(const ep::TimeSink& sink, int64_t offset_ns) const;
  /// The begin of the first piece on the clock of the device.
  int64_t first_ns() const;
  void clear();

 private:
  struct Piece {
    std::string name;
    uint64_t work_id;
    size_t query = 0;           // of the begin; the end has the next one
    HostTimes* host = nullptr;  // not null: the times of the host
  };
  int64_t time(size_t query) const;

  Device& device_;
  std::vector<QueryPoolHandle> pools_;
  std::vector<Piece> pieces_;
  size_t queries_ = 0;
  std::deque<HostTimes> of_host_;
};

}  // namespace tenon::vulkan
