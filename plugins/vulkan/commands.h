// Work for the device in order: launches and copies, written into command buffers with the barriers they need.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hazards.h"
#include "memory.h"
#include "pipelines.h"
#include "tenon/ep/device/late_errors.hpp"
#include "timestamps.h"

namespace tenon::vulkan {

class Device;

/// One dispatch. Borrows what it names.
struct Launch {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSet set = VK_NULL_HANDLE;
  Size3 groups{1, 1, 1};
  std::span<const Access> accesses;
};

/// One end of a copy: bytes of a buffer, or an address of the host's memory.
struct Place {
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0;
  char* address = nullptr;  // where the host sees the bytes; null: it does not
};

/// A copy. Borrows both ends.
struct Transfer {
  Place to, from;
  uint64_t bytes = 0;
  /// For traces.
  std::string name() const;
};

/// Written once, then enqueued by a stream: once, or again and again.
class CommandList {
 public:
  /// A command buffer, or a copy that a thread of the host does.
  struct Step {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    Transfer copy;
    Timestamps::HostTimes* times = nullptr;  // of the copy, if the list measures
  };

  /// `timed`: measures each piece of work. `again`: enqueued more than once.
  CommandList(Device& device, bool timed, bool again);
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;

  void add(std::span<const Launch> launches, const std::string& name, uint64_t work_id);
  void add(const Transfer& transfer, uint64_t work_id);
  /// A piece of work that does nothing but take the time.
  void add_mark();
  /// Tells after the work whether it failed.
  void add_check(std::shared_ptr<ep::LateCheck> check) { checks_.push_back(std::move(check)); }
  /// Keeps memory until the list is reset.
  void keep(OwnedPiece piece) { kept_.push_back(std::move(piece)); }
  /// Nothing can be added after it.
  void end();
  /// Empties the list. Its work is done.
  void reset();

  bool is_empty() const { return steps_.empty() && kept_.empty(); }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<std::shared_ptr<ep::LateCheck>>& checks() const { return checks_; }
  /// Null if it does not measure.
  const std::shared_ptr<Timestamps>& times() const { return times_; }

 private:
  VkCommandBuffer open();
  void close();
  void order(std::span<const Access> accesses);
  void copy_on_device(const Place& to, const Place& from, uint64_t bytes);
  void copy_by_host(const Place& to, const Place& from, uint64_t bytes, const std::string& name,
                    uint64_t work_id);

  Device& device_;
  const bool again_;
  CommandPoolHandle pool_;
  std::vector<VkCommandBuffer> buffers_;  // of the pool; the first `used_` hold commands
  size_t used_ = 0;
  VkCommandBuffer open_ = VK_NULL_HANDLE;
  Hazards hazards_;
  std::vector<Step> steps_;
  std::vector<std::shared_ptr<ep::LateCheck>> checks_;
  std::vector<OwnedPiece> kept_;
  std::shared_ptr<Timestamps> times_;
};

}  // namespace tenon::vulkan
