// The memory that the host's process and the processes of the devices share, and what they say to each other in it.
//
// A stream is a queue of commands, which a thread of the device's process executes in order. Everything that is done once,
// such as mapping an allocation, goes into the device's log, which is caught up with before any later command.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fake_cuda {

inline constexpr uint32_t kMaxDevices = 8;
inline constexpr uint32_t kMaxQueues = 160;  // streams of a device at once, and the null stream, which is 0
inline constexpr uint64_t kRingBytes = 256 << 10;    // of commands in a queue
inline constexpr uint64_t kMaxCommand = 96 << 10;    // larger arguments lie in the arena
inline constexpr uint64_t kArenaBytes = 4ULL << 30;  // of a sparse file
inline constexpr uint32_t kMaxEvents = 1 << 16;
inline constexpr uint32_t kLogEntries = 1 << 14;
inline constexpr uint64_t kPinnedBytes = 1ULL << 38;

// Addresses of device memory: the same in all processes, each address is byte `address - base` of the device's file.
inline constexpr uint64_t kFirstAddress = 0x2000'0000'0000;
inline constexpr uint64_t kDeviceBytes = 1ULL << 41;
constexpr uint64_t base_of(uint32_t device) { return kFirstAddress + device * kDeviceBytes; }
constexpr bool is_device_address(uint64_t address) {
  return address >= kFirstAddress && address < base_of(kMaxDevices);
}
constexpr uint32_t device_of(uint64_t address) {
  return static_cast<uint32_t>((address - kFirstAddress) / kDeviceBytes);
}

// Behind device memory, far from where the system places what a process maps: the whole file of pinned memory and what is shared, as the
// devices' processes map them, and between them the addresses that cuMemHostAlloc gives, which are the same in all processes.
inline constexpr uint64_t kPinnedFile = base_of(kMaxDevices);
inline constexpr uint64_t kPinnedMemory = kPinnedFile + kPinnedBytes;
inline constexpr uint64_t kSharedAddress = kPinnedMemory + kPinnedBytes;

// What the device's process finds open when it starts.
enum Descriptor : int { kSharedFd = 3, kLifeFd = 4, kPinnedFd = 5, kMemoryFds = 6 };

// ---- Commands of a queue ----

enum class Do : uint16_t {
  kWait,
  kKernel,
  kCopy,
  kFill,
  kWork,
  kHost,
  kEvent,
  kGraph,
  kAccess,
  kMap,
  kUnmap,
  kForget,
  kStop
};

/// Commands are multiples of 8 bytes. A clock, if any, is at the end: what is known to be done before, and for races.
struct Command {
  uint32_t bytes = 0;
  Do what = Do::kStop;
  uint16_t clock_size = 0;  // of ClockEntry
  uint64_t number = 0;      // in the queue, from 1
};
/// Everything up to `number` on that queue of that device.
struct ClockEntry {
  uint32_t device = 0, queue = 0;
  uint64_t number = 0;
};

struct WaitCommand : Command {
  uint32_t device = 0, queue = 0;
  uint64_t until = 0;
};
struct Dims {
  uint32_t x = 1, y = 1, z = 1;
};
struct KernelCommand : Command {
  uint32_t module = 0, kernel = 0;
  Dims grid, block;
  uint32_t shared_bytes = 0;
  uint32_t argument_bytes = 0;  // follow, aligned to 16 bytes as the struct is
  uint32_t skipped = 0;
  uint32_t delay_us = 0;
};
enum class Space : uint32_t { kOwn, kPeer, kPinned, kArena };
/// Own: an address; peer: an address of another device; pinned, arena: a place in it.
struct Place {
  Space space = Space::kOwn;
  uint32_t unused = 0;
  uint64_t at = 0;
};
struct CopyCommand : Command {
  Place to, from;
  uint64_t size = 0;
};
struct FillCommand : Command {
  uint64_t address = 0, count = 0;
  uint32_t value = 0, element_bytes = 1;
};
struct Range {
  uint64_t address = 0, bytes = 0;
  uint64_t writes = 0;
};
/// Ranges, then the texts library, function and label, each with its 0, then, at a multiple of 16 from the struct's begin, the
/// arguments, unless they are in the arena.
struct WorkCommand : Command {
  uint32_t range_count = 0, text_bytes = 0;
  uint64_t argument_bytes = 0, arena_at = 0;  // in the arena if not 0
  uint32_t delay_us = 0, unused = 0;
};
/// Do::kHost: `id` of a function that the host's process runs. Do::kEvent: the slot for the time.
/// Do::kGraph, kForget: the graph.
struct IdCommand : Command {
  uint64_t id = 0;
};
/// Do::kAccess, kMap, kUnmap.
struct RangeCommand : Command {
  Range range;
};
/// In the arena: the commands of a graph's nodes, one after the other in an order in which they can run. With races, `ordered`
/// is the place of a matrix of bytes: [later * count + earlier] is 1 if the earlier node is known to be done.
struct GraphHeader {
  uint64_t count = 0, bytes = 0, ordered = 0;
};

// ---- The log ----

enum class Once : uint32_t {
  kMap,
  kUnmap,
  kPin,
  kUnpin,
  kLoadModule,
  kUnloadModule,
  kLoadGraph,
  kUnloadGraph,
  kStartQueue
};

struct LogEntry {
  Once what = Once::kMap;
  uint32_t id = 0;
  uint64_t address = 0, bytes = 0, place = 0;  // kLoadModule, kLoadGraph: place in the arena
};

// ---- What is shared ----

struct Queue {
  alignas(64) std::atomic<uint64_t> submitted{0};  // number of the last command
  std::atomic<uint32_t> doorbell{0};               // futex
  uint64_t written = 0;                            // bytes; the host's own
  alignas(64) std::atomic<uint64_t> completed{0};
  std::atomic<uint64_t> read{0};  // bytes
  std::atomic<uint32_t> sleeping{0};
  alignas(64) std::array<unsigned char, kRingBytes> ring;
};

struct DeviceState {
  std::atomic<int32_t> error{0};      // a CUresult that stays
  std::atomic<uint32_t> progress{0};  // futex: something has been completed
  std::atomic<uint32_t> waiters{0};   // for progress
  std::atomic<uint32_t> log_bell{0};  // futex
  alignas(64) std::atomic<uint64_t> log_written{0};
  std::atomic<uint64_t> log_done{0};
  std::array<char, 2048> message;  // of the error
  std::array<LogEntry, kLogEntries> log;
  std::array<std::atomic<uint64_t>, kMaxEvents> times;       // of events, in ns
  std::array<std::atomic<uint64_t>, kMaxQueues> host_knows;  // for races: what the host has waited for
  alignas(4096) std::array<Queue, kMaxQueues> queues;
};

/// What a device asks of the host's process, which runs functions.
struct HostRequest {
  enum : uint32_t { kFree, kClaimed, kAsked, kDone };
  std::atomic<uint32_t> state{kFree};  // futex
  uint64_t id = 0;
};
struct HostRequests {
  std::atomic<uint32_t> bell{0};  // futex
  std::array<HostRequest, 64> requests;
};

struct Shared {
  uint64_t timeout_us = 0;
  uint32_t races = 0;
  uint32_t poison = 0;
  HostRequests host;
  alignas(4096) std::array<DeviceState, kMaxDevices> devices;
  alignas(4096) std::array<unsigned char, kArenaBytes> arena;
};

}  // namespace fake_cuda
