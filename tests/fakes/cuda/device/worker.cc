#include "worker.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "channel.h"
#include "faults.h"
#include "futex.h"
#include "tests/fakes/cuda/driver/library_work.h"

namespace fake_cuda::device {
namespace {

constexpr int kPatience = 400;  // looks before a thread sleeps

Clock clock_of(const Command& command) {
  const auto* end = reinterpret_cast<const unsigned char*>(&command) + command.bytes;
  const auto* entries = reinterpret_cast<const ClockEntry*>(end) - command.clock_size;
  Clock clock;
  for (uint16_t i = 0; i < command.clock_size; ++i) {
    if (entries[i].device == g_channel.index) clock.emplace_back(entries[i].queue, entries[i].number);
  }
  return clock;
}

tenon_fake_work find_work(const char* path, const char* function) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, tenon_fake_work> known;
  const std::lock_guard lock(mutex);
  tenon_fake_work& work = known[{path, function}];
  if (work != nullptr) return work;
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(CUDA_ERROR_LAUNCH_FAILED, "%s: %s", current_text(), dlerror());
  work = reinterpret_cast<tenon_fake_work>(dlsym(handle, function));
  if (work == nullptr) fail(CUDA_ERROR_LAUNCH_FAILED, "%s: %s", current_text(), dlerror());
  return work;
}

void read_peer(uint64_t address, unsigned char* to, uint64_t bytes) {
  const uint32_t device = device_of(address);
  const auto done =
      pread(kMemoryFds + static_cast<int>(device), to, bytes, static_cast<off_t>(address - base_of(device)));
  if (done != static_cast<ssize_t>(bytes))
    fail(CUDA_ERROR_ILLEGAL_ADDRESS, "%s: cannot read from device %u: %m", current_text(), device);
}

void write_peer(uint64_t address, const unsigned char* from, uint64_t bytes) {
  const uint32_t device = device_of(address);
  const auto done = pwrite(kMemoryFds + static_cast<int>(device), from, bytes,
                           static_cast<off_t>(address - base_of(device)));
  if (done != static_cast<ssize_t>(bytes))
    fail(CUDA_ERROR_ILLEGAL_ADDRESS, "%s: cannot write to device %u: %m", current_text(), device);
}

/// Numbers from 1. No two pieces of work of this process have the same, whoever does them.
uint64_t next_piece() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void delay(uint32_t microseconds) {
  if (microseconds > 0) usleep(microseconds);
}

}  // namespace

Workers& workers() {
  static Workers workers;
  return workers;
}

Races& races() {
  static Races races;
  return races;
}

void Workers::start(uint32_t queue) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Worker>& slot = workers_[queue];
  slot = std::make_unique<Worker>(queue);
  slot->start();
}

void Workers::remove(uint32_t queue) {
  const std::lock_guard lock(mutex_);
  workers_.erase(queue);
}

void Workers::watch() {
  const std::lock_guard lock(mutex_);
  for (const auto& [queue, worker] : workers_) {
    const uint64_t work = worker->busy_with();
    Seen& seen = seen_[queue];
    if (work == 0 || work != seen.work) {
      seen = {work, work == 0 ? 0 : worker->processor_us()};
    } else if (worker->processor_us() - seen.since_us > g_channel.shared->timeout_us) {
      stop_for_timeout(worker->thread());
    }
  }
}

void Worker::start() {
  std::thread thread([this] { run(); });
  thread_ = thread.native_handle();
  thread.detach();
}

uint64_t Worker::processor_us() const {
  clockid_t clock{};
  timespec used{};
  if (pthread_getcpuclockid(thread_, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000 + static_cast<uint64_t>(used.tv_nsec) / 1000;
}

const Command* Worker::next() {
  Queue& queue = g_channel.queue(index_);
  for (int patience = kPatience; queue.submitted.load() == queue.completed.load();) {
    if (patience-- > 0) continue;
    const uint32_t seen = queue.doorbell.load();
    queue.sleeping.store(1);
    if (queue.submitted.load() == queue.completed.load()) futex_wait(queue.doorbell, seen, 10'000);
    queue.sleeping.store(0);
  }
  const auto* command = reinterpret_cast<const Command*>(queue.ring.data() + read_ % kRingBytes);
  if (command->bytes == 0) {  // the rest of the ring is too short
    read_ += kRingBytes - read_ % kRingBytes;
    command = reinterpret_cast<const Command*>(queue.ring.data());
  }
  return command;
}

void Worker::run() {
  guard_thread();
  blocks_ = std::make_unique<Blocks>();
  Queue& queue = g_channel.queue(index_);
  read_ = queue.read.load();
  for (;;) {
    const Command* command = next();
    world().catch_up();
    busy_.store(next_piece());
    execute(*command);
    busy_.store(0);
    const uint64_t number = command->number;
    const bool stops = command->what == Do::kStop;
    read_ += command->bytes;
    queue.read.store(read_);
    if (stops) workers().remove(index_);  // frees *this
    queue.completed.store(number);
    announce_progress(*g_channel.state);
    if (stops) return;
  }
}

void Worker::execute(const Command& command) {
  if (command.what == Do::kWait) return wait(static_cast<const WaitCommand&>(command));
  work(command);
  if (!g_channel.races()) return;
  Clock clock = clock_of(command);
  if (accesses_.empty()) return races().pass(index_, std::move(clock));
  races().check(index_, command.number, std::move(clock), std::move(accesses_));
  accesses_.clear();
}

void Worker::work(const Command& command) {
  switch (command.what) {
    case Do::kKernel:
      return kernel(static_cast<const KernelCommand&>(command));
    case Do::kCopy:
      return copy(static_cast<const CopyCommand&>(command));
    case Do::kFill:
      return fill(static_cast<const FillCommand&>(command));
    case Do::kWork:
      return library(static_cast<const WorkCommand&>(command));
    case Do::kGraph:
      return graph(static_cast<const IdCommand&>(command).id);
    case Do::kForget:
      return world().forget_graph(static_cast<const IdCommand&>(command).id);
    case Do::kHost:
      return ask_host(static_cast<const IdCommand&>(command).id);
    case Do::kEvent:
      g_channel.state->times[static_cast<const IdCommand&>(command).id].store(now_ns());
      return;
    case Do::kAccess:
    case Do::kMap:
    case Do::kUnmap: {
      const Range& range = static_cast<const RangeCommand&>(command).range;
      const char* name = "a copy by the host";
      if (command.what == Do::kMap) {
        world().map(range.address, range.bytes);
        name = "the allocation (cuMemAllocAsync)";
      } else if (command.what == Do::kUnmap) {
        g_current = {"freeing", "cuMemFreeAsync"};
        world().unmap(range.address, range.bytes);
        name = "the release (cuMemFreeAsync)";
      }
      return note(name, {{range.address, range.address + range.bytes, range.writes != 0 ? kWrite : kRead}});
    }
    case Do::kWait:
    case Do::kStop:
      return;
  }
}

void Worker::note(const char* name, TouchList touches) {
  if (!g_channel.races()) return;
  touches.erase(
      std::remove_if(touches.begin(), touches.end(), [](const Touch& it) { return it.begin >= it.end; }),
      touches.end());
  std::sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) { return a.begin < b.begin; });
  accesses_.push_back({name, std::move(touches)});
}

void Worker::wait(const WaitCommand& command) {
  busy_.store(0);
  DeviceState& state = g_channel.shared->devices[command.device];
  std::atomic<uint64_t>& completed = state.queues[command.queue].completed;
  while (completed.load() < command.until) {
    if (state.error.load() != 0)
      fail(static_cast<CUresult>(state.error.load()), "a stream waits for device %u, which is lost",
           command.device);
    ++state.waiters;
    const uint32_t seen = state.progress.load();
    if (completed.load() < command.until) futex_wait(state.progress, seen, 1000);
    --state.waiters;
  }
}

void Worker::kernel(const KernelCommand& command) {
  delay(command.delay_us);
  if (command.skipped != 0) return;
  const std::shared_ptr<Module> module = world().module(command.module);
  Launch launch;
  launch.entry = module->entry(command.kernel);
  launch.arguments = reinterpret_cast<const unsigned char*>(&command + 1);
  launch.grid = command.grid;
  launch.block = command.block;
  launch.shared_bytes = command.shared_bytes;
  launch.static_shared = module->static_shared();
  launch.static_shared_bytes = launch.static_shared == nullptr ? 0 : module->static_shared_bytes();
  const char* name = module->name(command.kernel);
  g_current = {"kernel", name, true};
  if (g_channel.races()) g_touches = &touches_;
  blocks_->run(launch);
  g_touches = nullptr;
  g_current = {};
  if (g_channel.races()) accesses_.push_back({std::string("kernel '") + name + "'", touches_.take()});
}

void Worker::copy(const CopyCommand& command) {
  g_current = {"copy", "cuMemcpy"};
  const auto pointer = [](const Place& place) {
    if (place.space == Space::kPinned) return g_channel.pinned + place.at;
    if (place.space == Space::kArena) return g_channel.shared->arena.data() + place.at;
    return reinterpret_cast<unsigned char*>(place.at);
  };
  if (command.from.space != Space::kPeer && command.to.space != Space::kPeer) {
    std::memmove(pointer(command.to), pointer(command.from), command.size);
  } else {
    // What is on another device goes through its file, in pieces if both are.
    std::vector<unsigned char> piece(command.from.space == command.to.space ? 1 << 20 : 0);
    const uint64_t step = piece.empty() ? command.size : piece.size();
    for (uint64_t done = 0; done < command.size; done += step) {
      const uint64_t bytes = std::min(step, command.size - done);
      unsigned char* to = command.to.space == Space::kPeer ? piece.data() : pointer(command.to) + done;
      if (command.from.space == Space::kPeer) read_peer(command.from.at + done, to, bytes);
      if (command.to.space == Space::kPeer)
        write_peer(command.to.at + done, piece.empty() ? pointer(command.from) + done : to, bytes);
    }
  }
  g_current = {};
  TouchList from, to;
  if (command.from.space == Space::kOwn) from = {{command.from.at, command.from.at + command.size, kRead}};
  if (command.to.space == Space::kOwn) to = {{command.to.at, command.to.at + command.size, kWrite}};
  note("a copy", std::move(from));
  note("a copy", std::move(to));
}

void Worker::fill(const FillCommand& command) {
  g_current = {"fill", "cuMemset"};
  auto* at = reinterpret_cast<unsigned char*>(command.address);
  for (uint64_t i = 0; i < command.count; ++i)
    std::memcpy(at + i * command.element_bytes, &command.value, command.element_bytes);
  g_current = {};
  note("a fill", {{command.address, command.address + command.count * command.element_bytes, kWrite}});
}

void Worker::library(const WorkCommand& command) {
  delay(command.delay_us);
  const auto* begin = reinterpret_cast<const unsigned char*>(&command);
  const auto* ranges = reinterpret_cast<const Range*>(&command + 1);
  const char* path = reinterpret_cast<const char*>(ranges + command.range_count);
  const char* function = path + std::strlen(path) + 1;
  const char* label = function + std::strlen(function) + 1;
  const uint64_t behind = sizeof(command) + command.range_count * sizeof(Range) + command.text_bytes;
  const unsigned char* arguments = command.arena_at != 0 ? g_channel.shared->arena.data() + command.arena_at
                                                         : begin + (behind + 15) / 16 * 16;
  g_current = {"library work", label};
  const tenon_fake_work run = find_work(path, function);
  std::vector<void*> memory(command.range_count + 1, nullptr);
  TouchList reads, writes;
  for (uint32_t i = 0; i < command.range_count; ++i) {
    memory[i] = reinterpret_cast<void*>(ranges[i].address);
    (ranges[i].writes != 0 ? writes : reads)
        .push_back(
            {ranges[i].address, ranges[i].address + ranges[i].bytes, ranges[i].writes != 0 ? kWrite : kRead});
  }
  const char* error = run(memory.data(), arguments, command.argument_bytes);
  if (error != nullptr) fail(CUDA_ERROR_LAUNCH_FAILED, "%s: %s", current_text(), error);
  g_current = {};
  for (const Touch& touch : reads) note(label, {touch});
  for (const Touch& touch : writes) note(label, {touch});
}

void Worker::ask_host(uint64_t id) {
  busy_.store(0);
  HostRequests& host = g_channel.shared->host;
  for (;;) {
    for (HostRequest& request : host.requests) {
      uint32_t free = HostRequest::kFree;
      if (!request.state.compare_exchange_strong(free, HostRequest::kClaimed)) continue;
      request.id = id;
      request.state.store(HostRequest::kAsked);
      ++host.bell;
      futex_wake(host.bell);
      while (request.state.load() != HostRequest::kDone) futex_wait(request.state, HostRequest::kAsked, 1000);
      request.state.store(HostRequest::kFree);
      return;
    }
    usleep(100);
  }
}

void Worker::graph(uint64_t id) {
  const Graph graph = world().graph(id);
  const unsigned char* at = graph.commands();
  std::vector<size_t> ends;
  for (uint64_t i = 0; i < graph.header->count; ++i) {
    const auto& command = *reinterpret_cast<const Command*>(at);
    busy_.store(next_piece());  // each node has the time that a launch has
    work(command);
    ends.push_back(accesses_.size());
    at += command.bytes;
  }
  if (g_channel.races())
    check_nodes(accesses_, ends,
                reinterpret_cast<const unsigned char*>(graph.header) + graph.header->ordered);
}

}  // namespace fake_cuda::device
