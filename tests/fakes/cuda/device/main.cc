// A device: started by the stand-in for libcuda, it ends when that process does.
//
//     tenon_fake_cuda_device INDEX     with the descriptors of protocol.h open
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "channel.h"
#include "faults.h"
#include "futex.h"
#include "once.h"
#include "worker.h"

namespace fake_cuda::device {
namespace {

void* map_shared(uint64_t address, int fd, uint64_t bytes) {
  return mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
}

/// Does what the log says as it is written.
void follow_log() {
  DeviceState& state = *g_channel.state;
  for (;;) {
    const uint32_t bell = state.log_bell.load();
    world().catch_up();
    if (state.log_written.load() == state.log_done.load()) futex_wait(state.log_bell, bell, 10'000);
  }
}

/// Returns when the host's process has ended.
void watch_host() {
  const uint64_t period_ms = std::clamp<uint64_t>(g_channel.shared->timeout_us / 4000, 5, 1000);
  pollfd life{kLifeFd, 0, 0};
  const pid_t parent = getppid();
  while (poll(&life, 1, static_cast<int>(period_ms)) == 0 && getppid() == parent) workers().watch();
}

/// A test may have limited its own process. This one has terabytes of addresses, and little memory behind them.
void lift_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_AS, &limit);
}

int run(int argc, char** argv) {
  if (argc != 2) return 2;
  lift_limit();
  g_channel.index = static_cast<uint32_t>(std::atoi(argv[1]));
  void* shared = map_shared(kSharedAddress, kSharedFd, sizeof(Shared));
  void* pinned = map_shared(kPinnedFile, kPinnedFd, kPinnedBytes);
  if (shared == MAP_FAILED || pinned == MAP_FAILED) return 3;
  g_channel.shared = static_cast<Shared*>(shared);
  g_channel.pinned = static_cast<unsigned char*>(pinned);
  g_channel.state = &g_channel.shared->devices[g_channel.index];
  void* first = reinterpret_cast<void*>(kFirstAddress);
  if (mmap(first, kMaxDevices * kDeviceBytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != first)
    fail(CUDA_ERROR_UNKNOWN, "the device's addresses are not free in its process: %m");
  install_handlers();
  std::thread(follow_log).detach();
  watch_host();
  _exit(0);
}

}  // namespace
}  // namespace fake_cuda::device

int main(int argc, char** argv) { return fake_cuda::device::run(argc, argv); }
