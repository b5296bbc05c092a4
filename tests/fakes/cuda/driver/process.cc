#include "process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <string>

#include "call.h"
#include "errors.h"
#include "tests/fakes/cuda/device/futex.h"

extern char** environ;

namespace fake_cuda {
namespace {

constexpr int kHighFd = 100;  // above those that the device's process gets

int memory_file(const char* name, uint64_t bytes) {
  const int low = memfd_create(name, MFD_CLOEXEC);
  if (low < 0) return -1;
  const int fd = fcntl(low, F_DUPFD_CLOEXEC, kHighFd);
  close(low);
  // A process that only looks for devices may be kept from making large files, and uses no memory.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0) bytes = std::min<uint64_t>(bytes, limit.rlim_cur);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) != 0) return -1;
  return fd;
}

/// The program of the device lies beside this library.
std::string program() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&program), &info);
  std::array<char, PATH_MAX> path{};
  if (info.dli_fname == nullptr || realpath(info.dli_fname, path.data()) == nullptr) return {};
  const std::string library = path.data();
  return library.substr(0, library.rfind('/') + 1) + "tenon_fake_cuda_device";
}

bool has_ended(const Device& device) {
  siginfo_t info{};
  return waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(device.process_fd), &info,
                WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

}  // namespace

void make_shared_memory() {
  Driver& own = driver();
  own.shared_fd = memory_file("fake-cuda-shared", sizeof(Shared));
  own.pinned_fd = memory_file("fake-cuda-pinned", kPinnedBytes);
  void* shared = own.shared_fd < 0 ? MAP_FAILED
                                   : mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_NORESERVE, own.shared_fd, 0);
  if (shared == MAP_FAILED || own.pinned_fd < 0)
    refuse(CUDA_ERROR_OPERATING_SYSTEM, std::string("cannot make shared memory: ") + strerror(errno));
  own.shared = static_cast<Shared*>(shared);  // a file of zeros is a Shared that nothing has happened to
  own.shared->timeout_us = own.settings.timeout_us;
  own.shared->races = own.settings.races ? 1 : 0;
  own.arena.reset(kArenaBytes);
  for (uint32_t i = 0; i < own.settings.devices; ++i) {
    auto device = std::make_unique<Device>();
    device->index = i;
    device->capability = own.settings.capability(i);
    device->state = &own.shared->devices[i];
    device->next_address = base_of(i) + (1 << 20);
    device->memory_fd = memory_file("fake-cuda-memory", kDeviceBytes);
    if (device->memory_fd < 0) refuse(CUDA_ERROR_OPERATING_SYSTEM, "cannot make the memory of a device");
    own.devices.push_back(std::move(device));
  }
#if !defined(__SANITIZE_THREAD__)  // which keeps these addresses itself
  mmap(reinterpret_cast<void*>(kFirstAddress), kMaxDevices * kDeviceBytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
#endif
}

void start_process(Device& device) {
  if (device.process_fd >= 0) return;
  Driver& own = driver();
  int life[2];
  if (pipe2(life, O_CLOEXEC) != 0) refuse(CUDA_ERROR_OPERATING_SYSTEM, "no pipe");
  const int device_end = fcntl(life[0], F_DUPFD_CLOEXEC, kHighFd);
  device.life_fd = fcntl(life[1], F_DUPFD_CLOEXEC, kHighFd);
  close(life[0]);
  close(life[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, own.shared_fd, kSharedFd);
  posix_spawn_file_actions_adddup2(&actions, device_end, kLifeFd);
  posix_spawn_file_actions_adddup2(&actions, own.pinned_fd, kPinnedFd);
  for (const auto& other : own.devices)
    posix_spawn_file_actions_adddup2(&actions, other->memory_fd, kMemoryFds + static_cast<int>(other->index));
  // The host's masks and handlers are not the device's.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const std::string path = program(), index = std::to_string(device.index);
  std::array<char*, 3> arguments = {const_cast<char*>(path.c_str()), const_cast<char*>(index.c_str()),
                                    nullptr};
  pid_t process = 0;
  const int code = posix_spawn(&process, path.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(device_end);
  if (code != 0) {
    close(device.life_fd);
    refuse(CUDA_ERROR_OPERATING_SYSTEM, "cannot start " + path + ": " + strerror(code));
  }
  const int process_fd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  device.process_fd = process_fd < 0 ? -1 : fcntl(process_fd, F_DUPFD_CLOEXEC, kHighFd);
  if (process_fd >= 0) close(process_fd);
  require(device.process_fd >= 0, CUDA_ERROR_OPERATING_SYSTEM, "no pidfd");
}

void stop_process(Device& device) {
  if (device.process_fd < 0) return;
  syscall(SYS_pidfd_send_signal, device.process_fd, SIGKILL, nullptr, 0);
  siginfo_t info{};
  waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(device.process_fd), &info, WEXITED);
  close(device.process_fd);
  close(device.life_fd);
  device.process_fd = device.life_fd = -1;
  // Its memory, and whatever was still to be done.
  fallocate(device.memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
            static_cast<off_t>(kDeviceBytes));
  DeviceState& state = *device.state;
  state.log_done.store(state.log_written.load());
  for (Queue& queue : state.queues) {
    if (queue.submitted.load() == 0) continue;
    queue.completed.store(queue.submitted.load());
    queue.read.store(queue.written);
    queue.sleeping.store(0);
  }
  ++state.progress;
  futex_wake(state.progress);
}

CUresult error_of(Device& device) {
  if (device.error != CUDA_SUCCESS) return device.error;
  const auto code = static_cast<CUresult>(device.state->error.load());
  if (code == CUDA_SUCCESS) return CUDA_SUCCESS;
  lose(device, code, device.state->message.data());
  return code;
}

void lose(Device& device, CUresult code, const std::string& why) {
  device.error = code;
  device.state->error.store(code);  // streams of other devices may wait for it
  ++device.state->progress;
  futex_wake(device.state->progress);
  driver().log.report("device " + std::to_string(device.index) + ": " + error_name(code) + ": " + why);
}

void write_log(Device& device, LogEntry entry) {
  DeviceState& state = *device.state;
  while (state.log_written.load() - state.log_done.load() >= kLogEntries) {
    ++state.log_bell;
    futex_wake(state.log_bell);
    usleep(50);
    if (error_of(device) != CUDA_SUCCESS) return;
    if (has_ended(device)) return lose(device, CUDA_ERROR_LAUNCH_FAILED, "the device's process has ended");
  }
  const uint64_t at = state.log_written.load();
  state.log[at % kLogEntries] = entry;
  state.log_written.store(at + 1);
  if (entry.what != Once::kStartQueue) return;
  ++state.log_bell;
  futex_wake(state.log_bell);
}

/// For waits: an error, or a process that is gone without one.
CUresult check_alive(Device& device) {
  const CUresult code = error_of(device);
  if (code != CUDA_SUCCESS || device.process_fd < 0 || !has_ended(device)) return code;
  if (error_of(device) == CUDA_SUCCESS)
    lose(device, CUDA_ERROR_LAUNCH_FAILED, "the device's process has ended without a word");
  return device.error;
}

}  // namespace fake_cuda
