#include "blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "channel.h"

__thread fake_cuda::Index3 fake_cuda_thread_index;
__thread fake_cuda::Index3 fake_cuda_block_index;
__thread fake_cuda::Index3 fake_cuda_block_size;
__thread fake_cuda::Index3 fake_cuda_grid_size;
__thread void* fake_cuda_dynamic_shared;

namespace fake_cuda::device {

__thread Blocks* g_blocks = nullptr;

namespace {

constexpr size_t kSharedBytes = 256 << 10;  // more than any device has
constexpr size_t kGuardBytes = 64 << 10;
constexpr int kUnwritten = 0xFF;  // makes NaN of all floating-point types

}  // namespace

Blocks::Blocks() {
  void* memory = mmap(nullptr, kSharedBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_ = static_cast<unsigned char*>(memory);
  mprotect(shared_ + kSharedBytes, kGuardBytes, PROT_NONE);
}

Blocks::~Blocks() { munmap(shared_, kSharedBytes + kGuardBytes); }

bool Blocks::is_stack_guard(const void* address) const {
  return std::any_of(stacks_.begin(), stacks_.end(),
                     [&](const auto& stack) { return stack->fiber.is_guard(address); });
}

bool Blocks::is_shared_guard(const void* address) const {
  const auto* at = static_cast<const unsigned char*>(address);
  return at >= shared_ + kSharedBytes && at < shared_ + kSharedBytes + kGuardBytes;
}

void Blocks::prepare_shared(const Launch& launch) {
  const size_t bytes = (launch.shared_bytes + 15) / 16 * 16;  // the end is where the guard begins
  fake_cuda_dynamic_shared = shared_ + kSharedBytes - bytes;
  if (bytes > 0) std::memset(fake_cuda_dynamic_shared, kUnwritten, bytes);
  if (launch.static_shared_bytes > 0)
    std::memset(launch.static_shared, kUnwritten, launch.static_shared_bytes);
}

void Blocks::run(const Launch& launch) {
  launch_ = &launch;
  g_blocks = this;
  total_ = launch.block.x * launch.block.y * launch.block.z;
  fake_cuda_block_size = {launch.block.x, launch.block.y, launch.block.z};
  fake_cuda_grid_size = {launch.grid.x, launch.grid.y, launch.grid.z};
  // Half of the blocks run their threads in the other order, so that a missing barrier has an effect.
  unsigned number = 0;
  for (unsigned z = 0; z < launch.grid.z; ++z) {
    for (unsigned y = 0; y < launch.grid.y; ++y) {
      for (unsigned x = 0; x < launch.grid.x; ++x) {
        fake_cuda_block_index = {x, y, z};
        descending_ = number++ % 2 == 1;
        prepare_shared(launch);
        run_block();
      }
    }
  }
}

void Blocks::run_block() {
  started_ = finished_ = 0;
  count_ = 0;
  finished_lanes_.assign((total_ + 31) / 32, 0);
  for (;;) {
    Stack* next = nullptr;
    if (!ready_.empty()) {
      next = ready_.front();
      ready_.pop_front();
      set_thread(next->thread);
    } else if (started_ < total_) {
      if (idle_.empty()) {
        stacks_.push_back(std::make_unique<Stack>(this));
        idle_.push_back(stacks_.back().get());
      }
      next = idle_.back();
      idle_.pop_back();
      start_on(next);
    } else if (finished_ == total_) {
      return;
    } else {
      report_deadlock();
    }
    current_ = next;
    switch_context(scheduler_, next->fiber.context);
  }
}

void Blocks::run_stack(void* stack) {
  auto* self = static_cast<Stack*>(stack);
  Blocks& blocks = *self->blocks;
  for (;;) {
    blocks.launch_->entry(blocks.launch_->arguments);
    blocks.idle_.push_back(self);
    switch_context(self->fiber.context, blocks.scheduler_);
  }
}

void Blocks::set_thread(unsigned thread) {
  const Dims& block = launch_->block;
  if (thread < block.x) {
    fake_cuda_thread_index = {thread, 0, 0};
  } else {
    fake_cuda_thread_index = {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
  }
}

void Blocks::start_on(Stack* stack) {
  stack->thread = descending_ ? total_ - 1 - started_ : started_;
  ++started_;
  set_thread(stack->thread);
}

int Blocks::next_thread() {
  finish_thread(current_->thread);
  if (started_ == total_) return 0;
  start_on(current_);
  return 1;
}

void Blocks::suspend() {
  Stack* self = current_;
  switch_context(self->fiber.context, scheduler_);
}

void Blocks::finish_thread(unsigned thread) {
  ++finished_;
  if (pending_.empty() && at_barrier_.empty()) [[likely]] {
    finished_lanes_[thread / 32] |= 1U << thread % 32;
    return;
  }
  finished_lanes_[thread / 32] |= 1U << thread % 32;
  for (size_t i = pending_.size(); i-- > 0;) {
    if (pending_[i].warp == thread / 32 && pending_[i].arrived == needed_lanes(pending_[i])) resolve(i);
  }
}

int Blocks::barrier(int predicate, BarrierResult result) {
  count_ += predicate != 0 ? 1 : 0;
  if (at_barrier_.size() + 1 == total_) {
    release_barrier();
  } else {
    at_barrier_.push_back(current_);
    suspend();
  }
  switch (result) {
    case BarrierResult::kCount:
      return last_count_;
    case BarrierResult::kAnd:
      return last_count_ == last_total_ ? 1 : 0;
    case BarrierResult::kOr:
      return last_count_ > 0 ? 1 : 0;
    default:
      return 0;
  }
}

void Blocks::release_barrier() {
  last_count_ = count_;
  last_total_ = static_cast<int>(total_);
  count_ = 0;
  ready_.insert(ready_.end(), at_barrier_.begin(), at_barrier_.end());
  at_barrier_.clear();
}

unsigned Blocks::needed_lanes(const Pending& pending) const {
  const unsigned lanes = std::min(32U, total_ - pending.warp * 32);
  const unsigned existing = lanes == 32 ? ~0U : (1U << lanes) - 1;
  return pending.mask & existing & ~finished_lanes_[pending.warp];
}

void Blocks::collective(unsigned mask, const void* kind, void* lane, Resolve resolve_lanes) {
  const unsigned thread = current_->thread, warp = thread / 32, bit = 1U << thread % 32;
  if ((mask & bit) == 0)
    fail(CUDA_ERROR_LAUNCH_FAILED, "%s calls a function of the warp with a mask (0x%x) that lacks its lane",
         current_text(), mask);
  const auto same = [&](const Pending& it) {
    return it.warp == warp && it.mask == mask && it.kind == kind && (it.arrived & bit) == 0;
  };
  size_t at = static_cast<size_t>(std::find_if(pending_.begin(), pending_.end(), same) - pending_.begin());
  if (at == pending_.size()) {
    pending_.emplace_back();
    pending_[at].warp = warp;
    pending_[at].mask = mask;
    pending_[at].kind = kind;
    pending_[at].resolve = resolve_lanes;
  }
  Pending& pending = pending_[at];
  pending.arrived |= bit;
  pending.lanes[thread % 32] = lane;
  if (pending.arrived == needed_lanes(pending)) {
    resolve(at);
  } else {
    pending.stacks[thread % 32] = current_;
    suspend();
  }
}

void Blocks::resolve(size_t index) {
  const Pending pending = pending_[index];
  pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(index));
  pending.resolve(pending.lanes, pending.arrived);
  for (Stack* stack : pending.stacks) {
    if (stack != nullptr) ready_.push_back(stack);
  }
}

void Blocks::report_deadlock() const {
  unsigned in_warps = 0;
  for (const Pending& it : pending_) in_warps += static_cast<unsigned>(std::popcount(it.arrived));
  if (in_warps == 0) {
    fail(CUDA_ERROR_LAUNCH_FAILED,
         "kernel '%s', block (%u, %u, %u): %zu of %u threads wait at a barrier, but %u have returned",
         g_current.name, fake_cuda_block_index.x, fake_cuda_block_index.y, fake_cuda_block_index.z,
         at_barrier_.size(), total_, finished_);
  }
  fail(CUDA_ERROR_LAUNCH_FAILED,
       "kernel '%s', block (%u, %u, %u): of %u threads %zu wait at a barrier, %u for lanes of their warp "
       "(mask "
       "0x%x), and %u have returned: none can go on",
       g_current.name, fake_cuda_block_index.x, fake_cuda_block_index.y, fake_cuda_block_index.z, total_,
       at_barrier_.size(), in_warps, pending_.front().mask, finished_);
}

}  // namespace fake_cuda::device

using fake_cuda::device::g_blocks;

int fake_cuda_next_thread() { return g_blocks->next_thread(); }

int fake_cuda_barrier(int predicate, int result) {
  return g_blocks->barrier(predicate, static_cast<fake_cuda::BarrierResult>(result));
}

void fake_cuda_collective(unsigned mask, const void* kind, void* lane, fake_cuda::Resolve resolve) {
  g_blocks->collective(mask, kind, lane, resolve);
}

void fake_cuda_trap(const char* why) {
  fake_cuda::device::fail(CUDA_ERROR_LAUNCH_FAILED, "%s: %s", fake_cuda::device::current_text(), why);
}
