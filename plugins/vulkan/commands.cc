#include "commands.h"

#include "device.h"

namespace tenon::vulkan {
namespace {

constexpr VkPipelineStageFlags kWork = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kReads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
             VkAccessFlags writes, VkAccessFlags uses) {
  auto memory = make_struct<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  memory.srcAccessMask = writes;
  memory.dstAccessMask = uses;
  vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

}  // namespace

std::string Transfer::name() const {
  const bool up = from.buffer == VK_NULL_HANDLE, down = to.buffer == VK_NULL_HANDLE;
  return ep::cat("copy of ", bytes, " bytes ", up ? "to" : down ? "from" : "within", " the device");
}

CommandList::CommandList(Device& device, bool timed, bool again) : device_(device), again_(again) {
  auto create = make_struct<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  create.queueFamilyIndex = device.family();
  VkCommandPool pool = VK_NULL_HANDLE;
  check(vkCreateCommandPool(device.get(), &create, nullptr, &pool), "vkCreateCommandPool");
  pool_ = CommandPoolHandle(device.get(), pool);
  if (timed && device.limits().timestamp_ns != 0) times_ = std::make_shared<Timestamps>(device);
}

VkCommandBuffer CommandList::open() {
  if (open_ != VK_NULL_HANDLE) return open_;
  if (used_ == buffers_.size()) {
    auto allocate = make_struct<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    allocate.commandPool = pool_.get();
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    VkCommandBuffer made = VK_NULL_HANDLE;
    check(vkAllocateCommandBuffers(device_.get(), &allocate, &made), "vkAllocateCommandBuffers");
    buffers_.push_back(made);
  }
  const VkCommandBuffer commands = buffers_[used_];
  auto begin = make_struct<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  if (!again_) begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  ++used_;
  // After all work that was submitted before, and after what the host wrote.
  barrier(commands, kWork | VK_PIPELINE_STAGE_HOST_BIT, kWork, kWrites | VK_ACCESS_HOST_WRITE_BIT,
          kReads | kWrites);
  hazards_.clear();
  steps_.push_back({commands, {}, nullptr});
  open_ = commands;
  return open_;
}

void CommandList::close() {
  if (open_ == VK_NULL_HANDLE) return;
  barrier(open_, kWork, VK_PIPELINE_STAGE_HOST_BIT, kWrites, VK_ACCESS_HOST_READ_BIT);
  check(vkEndCommandBuffer(open_), "vkEndCommandBuffer");
  open_ = VK_NULL_HANDLE;
}

void CommandList::end() { close(); }

void CommandList::order(std::span<const Access> accesses) {
  if (hazards_.need_barrier(accesses)) barrier(open_, kWork, kWork, kWrites, kReads | kWrites);
}

void CommandList::add(std::span<const Launch> launches, const std::string& name, uint64_t work_id) {
  if (launches.empty()) return;
  const VkCommandBuffer commands = open();
  if (times_ != nullptr) times_->begin(commands, name, work_id);
  for (const Launch& launch : launches) {
    order(launch.accesses);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, launch.pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, launch.layout, 0, 1, &launch.set, 0,
                            nullptr);
    vkCmdDispatch(commands, static_cast<uint32_t>(launch.groups[0]), static_cast<uint32_t>(launch.groups[1]),
                  static_cast<uint32_t>(launch.groups[2]));
  }
  if (times_ != nullptr) times_->end(commands);
}

void CommandList::copy_on_device(const Place& to, const Place& from, uint64_t bytes) {
  const VkCommandBuffer commands = open();
  const Access accesses[] = {{{from.buffer, from.offset, bytes}, false},
                             {{to.buffer, to.offset, bytes}, true}};
  order(accesses);
  const VkBufferCopy region{from.offset, to.offset, bytes};
  vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
}

void CommandList::copy_by_host(const Place& to, const Place& from, uint64_t bytes, const std::string& name,
                               uint64_t work_id) {
  close();
  steps_.push_back(
      {VK_NULL_HANDLE, {to, from, bytes}, times_ == nullptr ? nullptr : &times_->add_host(name, work_id)});
}

void CommandList::add(const Transfer& transfer, uint64_t work_id) {
  if (transfer.bytes == 0) return;
  const Place &to = transfer.to, &from = transfer.from;
  if (to.buffer != VK_NULL_HANDLE && from.buffer != VK_NULL_HANDLE) {
    if (times_ != nullptr) times_->begin(open(), transfer.name(), work_id);
    copy_on_device(to, from, transfer.bytes);
    if (times_ != nullptr) times_->end(open());
    return;
  }
  if (to.address != nullptr && from.address != nullptr)
    return copy_by_host(to, from, transfer.bytes, transfer.name(), work_id);
  // One end is plain memory of the host, and the host does not see the other: by way of memory that both see.
  OwnedPiece between(device_.staging_memory(), transfer.bytes);
  const Place middle{between.get().buffer(), between.get().offset, between.get().address()};
  if (from.buffer == VK_NULL_HANDLE) {
    copy_by_host(middle, from, transfer.bytes, transfer.name(), work_id);
    copy_on_device(to, middle, transfer.bytes);
  } else {
    copy_on_device(middle, from, transfer.bytes);
    copy_by_host(to, middle, transfer.bytes, transfer.name(), work_id);
  }
  keep(std::move(between));
}

void CommandList::add_mark() {
  times_->begin(open(), "mark", 0);
  times_->end(open());
}

void CommandList::reset() {
  close();
  check(vkResetCommandPool(device_.get(), pool_.get(), 0), "vkResetCommandPool");
  used_ = 0;
  steps_.clear();
  checks_.clear();
  kept_.clear();
  if (times_ != nullptr) times_->clear();
}

}  // namespace tenon::vulkan
