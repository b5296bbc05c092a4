#include "stream.h"

#include <algorithm>
#include <chrono>

#include "program.h"

namespace tenon::vulkan {
namespace {

constexpr size_t kSpareLists = 4;
constexpr int kClockRounds = 5;

SemaphoreHandle make_timeline(VkDevice device) {
  auto type = make_struct<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto create = make_struct<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  create.pNext = &type;
  VkSemaphore out = VK_NULL_HANDLE;
  check(vkCreateSemaphore(device, &create, nullptr, &out), "vkCreateSemaphore");
  return {device, out};
}

}  // namespace

Alone::Alone(Device& device, const Launches& launches) : device_(device), list_(device, false, true) {
  list_.add(launches.launches(), launches.node().place(), 0);
  if (launches.flag() != nullptr) list_.add_check(launches.flag());
  list_.end();
  const auto create = make_struct<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  VkFence fence = VK_NULL_HANDLE;
  check(vkCreateFence(device.get(), &create, nullptr, &fence), "vkCreateFence");
  fence_ = FenceHandle(device.get(), fence);
}

void Alone::run() {
  if (list_.steps().empty()) return;
  auto info = make_struct<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &list_.steps().front().commands;  // launches are in one command buffer
  const VkFence fence = fence_.get();
  check(vkResetFences(device_.get(), 1, &fence), "vkResetFences");
  device_.submit(std::span(&info, 1), fence);
  check(vkWaitForFences(device_.get(), 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  for (const std::shared_ptr<ep::LateCheck>& check : list_.checks()) {
    std::optional<ep::Error> error = check->take();
    if (!error) continue;
    error->flags &= ~static_cast<uint32_t>(TENON_ERROR_ASYNC);
    throw std::move(*error);
  }
}

void Recording::run(Stream& stream) { stream.run(list_); }

Stream::Stream(const Instance& instance, const tenon_stream_params& params)
    : Stream(instance.device, (params.flags & TENON_STREAM_TIMED) != 0) {}

Stream::Stream(Device& device, bool timed)
    : device_(device), timed_(timed), semaphore_(make_timeline(device.get())) {}

Stream::~Stream() {
  if (is_forked()) return;
  // The host destroys a stream when its work is done. What is left after an error must not use freed memory.
  auto info = make_struct<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  const VkSemaphore semaphore = semaphore_.get();
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = &submitted_;
  vkWaitSemaphores(device_.get(), &info, UINT64_MAX);
}

bool Stream::is_done(uint64_t value) const {
  uint64_t reached = 0;
  check(vkGetSemaphoreCounterValue(device_.get(), semaphore_.get(), &reached), "vkGetSemaphoreCounterValue");
  return reached >= value;
}

/// Lists whose work is done, and whose times were given, can be written again.
void Stream::recycle() {
  while (!done_.empty() && is_done(done_.front().value) && (!timed_ || done_.front().times == nullptr)) {
    if (std::unique_ptr<CommandList> list = std::move(done_.front().list); list != nullptr) {
      list->reset();
      if (spare_.size() < kSpareLists) spare_.push_back(std::move(list));
    }
    done_.pop_front();
  }
}

CommandList& Stream::current() {
  if (current_ == nullptr) {
    recycle();
    if (spare_.empty()) {
      current_ = std::make_unique<CommandList>(device_, timed_, false);
    } else {
      current_ = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  return *current_;
}

/// Gives work a value. A null `commands` only signals.
void Stream::signal_after(VkCommandBuffer commands) {
  const std::lock_guard lock(mutex_);
  std::vector<Wait> waits = std::move(waits_);
  waits_.clear();
  if (after_host_) waits.push_back({semaphore_.get(), last_});
  after_host_ = false;
  pending_.push_back({std::move(waits), commands, ++last_});
}

void Stream::enqueue(const CommandList& list) {
  for (const CommandList::Step& step : list.steps()) {
    if (step.commands != VK_NULL_HANDLE) {
      signal_after(step.commands);
      continue;
    }
    if (!host_copies_) host_copies_.emplace(device_.get(), semaphore_.get());
    std::vector<Moment> waits;
    for (const Wait& wait : waits_) waits.push_back({device_.get(), wait.semaphore, wait.value});
    waits_.clear();
    std::unique_lock lock(mutex_);
    waits.push_back({device_.get(), semaphore_.get(), last_});
    after_host_ = true;
    submit(lock);  // what the copy waits for
    submitted_ = ++last_;
    host_copies_->add(std::move(waits), step.copy, step.times, last_);
  }
  if (list.is_empty()) return;
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<ep::LateCheck>& check : list.checks()) errors_->add(last_, check);
}

void Stream::close() {
  if (current_ == nullptr || current_->is_empty()) return;
  current_->end();
  enqueue(*current_);
  if (current_->steps().empty()) signal_after(VK_NULL_HANDLE);  // it only keeps memory
  std::shared_ptr<Timestamps> times = current_->times();
  if (times != nullptr && times->is_empty()) times = nullptr;
  done_.push_back({last_, std::move(current_), std::move(times)});
}

void Stream::run(CommandList& list) {
  close();
  enqueue(list);
  if (timed_ && list.times() != nullptr) done_.push_back({last_, nullptr, list.times()});
}

void Stream::submit(std::unique_lock<std::mutex>&) {
  if (pending_.empty()) return;
  struct Parts {
    std::vector<VkSemaphore> semaphores;
    std::vector<uint64_t> values;
    std::vector<VkPipelineStageFlags> stages;
    VkTimelineSemaphoreSubmitInfo timeline;
  };
  const VkSemaphore own = semaphore_.get();
  std::vector<Parts> parts(pending_.size());
  std::vector<VkSubmitInfo> infos;
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Submission& one = pending_[i];
    Parts& part = parts[i];
    for (const Wait& wait : one.waits) {
      part.semaphores.push_back(wait.semaphore);
      part.values.push_back(wait.value);
      part.stages.push_back(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT);
    }
    part.timeline =
        make_struct<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    part.timeline.waitSemaphoreValueCount = static_cast<uint32_t>(part.values.size());
    part.timeline.pWaitSemaphoreValues = part.values.data();
    part.timeline.signalSemaphoreValueCount = 1;
    part.timeline.pSignalSemaphoreValues = &one.value;
    auto info = make_struct<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    info.pNext = &part.timeline;
    info.waitSemaphoreCount = static_cast<uint32_t>(part.semaphores.size());
    info.pWaitSemaphores = part.semaphores.data();
    info.pWaitDstStageMask = part.stages.data();
    info.commandBufferCount = one.commands == VK_NULL_HANDLE ? 0 : 1;
    info.pCommandBuffers = &one.commands;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &own;
    infos.push_back(info);
  }
  device_.submit(infos);
  submitted_ = pending_.back().value;
  pending_.clear();
}

void Stream::flush() {
  close();
  std::unique_lock lock(mutex_);
  submit(lock);
}

uint64_t Stream::point() {
  const uint64_t before = last_;
  close();
  if (last_ == before) signal_after(VK_NULL_HANDLE);
  return last_;
}

void Stream::wait(Stream& other, uint64_t point) {
  {
    const std::lock_guard lock(other.mutex_);
    ep::require(point >= 1 && point <= other.last_, TENON_INVALID_ARGUMENT, "the other stream has ",
                other.last_, " points, and the host names point ", point);
  }
  if (&other == this) return;  // the order of the stream
  close();
  errors_->add(last_ + 1, other.errors_, point);
  if (&other.device_ == &device_) {
    waits_.push_back({other.semaphore_.get(), point});
    return;
  }
  // A device knows no semaphores of another one.
  if (!host_copies_) host_copies_.emplace(device_.get(), semaphore_.get());
  std::unique_lock lock(mutex_);
  submit(lock);
  std::vector<Moment> waits{{other.device_.get(), other.semaphore_.get(), point},
                            {device_.get(), semaphore_.get(), last_}};
  after_host_ = true;
  submitted_ = ++last_;
  host_copies_->add(std::move(waits), {}, nullptr, last_);
}

void Stream::wait_point(uint64_t point, int64_t timeout_ns) {
  {
    std::unique_lock lock(mutex_);
    ep::require(point >= 1 && point <= last_, TENON_INVALID_ARGUMENT, "the stream has ", last_,
                " points, and the host names point ", point);
    if (point > submitted_) submit(lock);
  }
  auto info = make_struct<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  const VkSemaphore semaphore = semaphore_.get();
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = &point;
  const VkResult code =
      vkWaitSemaphores(device_.get(), &info, timeout_ns < 0 ? UINT64_MAX : static_cast<uint64_t>(timeout_ns));
  ep::require(code != VK_TIMEOUT, TENON_DEADLINE_EXCEEDED, "the work on the device is not done in time");
  check(code, "vkWaitSemaphores");
  errors_->check(point);
}

void Stream::record_begin() {
  ep::require(recording_ == nullptr, TENON_FAILED_PRECONDITION, "the stream records already");
  recording_ = std::make_unique<Recording>(device_, timed_);
}

std::unique_ptr<Recording> Stream::record_end() {
  ep::require(recording_ != nullptr, TENON_FAILED_PRECONDITION, "the stream does not record");
  std::unique_ptr<Recording> out = std::move(recording_);
  out->list().end();
  return out;
}

void Stream::run(const Launches& launches, uint64_t work_id) {
  CommandList& list = recording_ != nullptr ? recording_->list() : current();
  list.add(launches.launches(), launches.node().place(), work_id);
  if (launches.flag() != nullptr) list.add_check(launches.flag());
}

void Stream::copy(const Transfer& transfer, uint64_t work_id) {
  (recording_ != nullptr ? recording_->list() : current()).add(transfer, work_id);
}

void Stream::keep(OwnedPiece piece) {
  (recording_ != nullptr ? recording_->list() : current()).keep(std::move(piece));
}

int64_t Stream::measure_offset() {
  // An empty piece of work is enqueued after the host looked at its clock, and done before the host looks again. Each round
  // narrows what the difference can be.
  int64_t least = INT64_MIN, most = INT64_MAX;
  CommandList list(device_, true, true);
  for (int i = 0; i < kClockRounds; ++i) {
    list.reset();
    list.add_mark();
    list.end();
    const auto before = static_cast<int64_t>(ep::now_ns());
    enqueue(list);
    const uint64_t mark = last_;
    flush();
    wait_point(mark, -1);
    const auto after = static_cast<int64_t>(ep::now_ns());
    const int64_t there = list.times()->first_ns();
    least = std::max(least, before - there);
    most = std::min(most, after - there);
  }
  return least + (most - least) / 2;
}

void Stream::times(const ep::TimeSink& sink) {
  if (!timed_ || device_.limits().timestamp_ns == 0) return;
  const auto has_times = [&](const Done& done) { return done.times != nullptr && is_done(done.value); };
  if (std::none_of(done_.begin(), done_.end(), has_times)) return;
  const int64_t offset = measure_offset();
  for (Done& done : done_) {
    if (!has_times(done)) continue;
    done.times->give(sink, offset);
    done.times = nullptr;
  }
  recycle();
}

}  // namespace tenon::vulkan
