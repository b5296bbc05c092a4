#include "timestamps.h"

#include "device.h"

namespace tenon::vulkan {
namespace {

constexpr uint32_t kQueriesPerPool = 128;  // even: a piece has both in one pool

}  // namespace

void Timestamps::begin(VkCommandBuffer commands, std::string name, uint64_t work_id) {
  const size_t query = queries_;
  if (query / kQueriesPerPool == pools_.size()) {
    auto create = make_struct<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    create.queryType = VK_QUERY_TYPE_TIMESTAMP;
    create.queryCount = kQueriesPerPool;
    VkQueryPool pool = VK_NULL_HANDLE;
    check(vkCreateQueryPool(device_.get(), &create, nullptr, &pool), "vkCreateQueryPool");
    pools_.emplace_back(device_.get(), pool);
  }
  const VkQueryPool pool = pools_[query / kQueriesPerPool].get();
  const auto at = static_cast<uint32_t>(query % kQueriesPerPool);
  if (at == 0) vkCmdResetQueryPool(commands, pool, 0, kQueriesPerPool);
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool, at);
  pieces_.push_back({std::move(name), work_id, query});
  queries_ += 2;
}

void Timestamps::end(VkCommandBuffer commands) {
  const size_t query = queries_ - 1;
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pools_[query / kQueriesPerPool].get(),
                      static_cast<uint32_t>(query % kQueriesPerPool));
}

int64_t Timestamps::time(size_t query) const {
  uint64_t ticks = 0;
  check(vkGetQueryPoolResults(device_.get(), pools_[query / kQueriesPerPool].get(),
                              static_cast<uint32_t>(query % kQueriesPerPool), 1, sizeof(ticks), &ticks,
                              sizeof(ticks), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
        "vkGetQueryPoolResults");
  const Limits& limits = device_.limits();
  return static_cast<int64_t>(static_cast<double>(ticks & limits.timestamp_mask) * limits.timestamp_ns);
}

Timestamps::HostTimes& Timestamps::add_host(std::string name, uint64_t work_id) {
  HostTimes& out = of_host_.emplace_back();
  pieces_.push_back({std::move(name), work_id, 0, &out});
  return out;
}

int64_t Timestamps::first_ns() const { return time(pieces_.front().query); }

void Timestamps::give(const ep::TimeSink& sink, int64_t offset_ns) const {
  for (const Piece& piece : pieces_) {
    const int64_t begin = piece.host != nullptr ? piece.host->begin_ns : time(piece.query) + offset_ns;
    const int64_t end = piece.host != nullptr ? piece.host->end_ns : time(piece.query + 1) + offset_ns;
    sink.add({piece.name, piece.work_id, static_cast<uint64_t>(begin), static_cast<uint64_t>(end)});
  }
}

void Timestamps::clear() {
  pieces_.clear();
  of_host_.clear();
  queries_ = 0;
}

}  // namespace tenon::vulkan
