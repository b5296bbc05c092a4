#include "once.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "channel.h"
#include "worker.h"

namespace fake_cuda::device {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kPoisoned = 16 << 20;  // so much of an allocation at most
constexpr int kUnwritten = 0xFF;          // NaN in all floating-point types

uint64_t first_page(uint64_t address) { return address / kPageBytes * kPageBytes; }
uint64_t end_page(uint64_t address) { return (address + kPageBytes - 1) / kPageBytes * kPageBytes; }
unsigned char* at(uint64_t address) { return reinterpret_cast<unsigned char*>(address); }
int memory_fd(uint64_t address) { return kMemoryFds + static_cast<int>(device_of(address)); }
off_t offset_of(uint64_t address) { return static_cast<off_t>(address - base_of(device_of(address))); }

/// The first byte of [begin, end) that has been written, or `end`.
uint64_t first_written(uint64_t begin, uint64_t end) {
  while (begin < end && *at(begin) == kUnwritten) ++begin;
  return begin;
}

}  // namespace

World& world() {
  static World world;
  return world;
}

void Module::load() {
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) fail(CUDA_ERROR_LAUNCH_FAILED, "cannot load compiled kernels: %s", dlerror());
  shared_ = reinterpret_cast<unsigned char* (*)()>(dlsym(handle_, "fake_cuda_static_shared"));
  infos_ = reinterpret_cast<const KernelInfo*>(dlsym(handle_, "fake_cuda_infos"));
  link_map* map = nullptr;
  dlinfo(handle_, RTLD_DI_LINKMAP, &map);
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(map->l_addr);
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(map->l_addr + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_TLS) static_shared_bytes_ = segments[i].p_memsz;
  }
}

Entry Module::entry(uint32_t kernel) {
  std::call_once(loaded_, [&] { load(); });
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[kernel];
  if (entry == nullptr) {
    char name[64];
    std::snprintf(name, sizeof(name), "fake_cuda_entry_%u", kernel);
    entry = reinterpret_cast<Entry>(dlsym(handle_, name));
    if (entry == nullptr) fail(CUDA_ERROR_LAUNCH_FAILED, "compiled kernels lack %s: %s", name, dlerror());
  }
  return entry;
}

const char* Module::name(uint32_t kernel) {
  std::call_once(loaded_, [&] { load(); });
  return infos_ == nullptr ? "?" : infos_[kernel].name;
}

unsigned char* Module::static_shared() {
  if (shared_ == nullptr || static_shared_bytes_ == 0) return nullptr;
  shared_();  // makes it for this thread
  void* data = nullptr;
  return dlinfo(handle_, RTLD_DI_TLS_DATA, &data) == 0 ? static_cast<unsigned char*>(data) : nullptr;
}

void World::catch_up() {
  DeviceState& state = *g_channel.state;
  if (state.log_done.load() == state.log_written.load()) return;
  const std::lock_guard lock(log_mutex_);
  for (uint64_t next = state.log_done.load(); next < state.log_written.load(); ++next) {
    do_once(state.log[next % kLogEntries]);
    state.log_done.store(next + 1);
  }
  announce_progress(state);
}

void World::do_once(const LogEntry& entry) {
  const auto* place = g_channel.shared->arena.data() + entry.place;
  switch (entry.what) {
    case Once::kMap:
      if (device_of(entry.address) == g_channel.index) return map(entry.address, entry.bytes);
      return map_pages(entry.address, entry.bytes);
    case Once::kUnmap:
      return unmap(entry.address, entry.bytes);
    case Once::kPin:
      if (mmap(at(entry.address), entry.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
               kPinnedFd, static_cast<off_t>(entry.place)) == MAP_FAILED)
        fail(CUDA_ERROR_OUT_OF_MEMORY, "the device's process cannot map pinned memory at %p: %m",
             static_cast<void*>(at(entry.address)));
      return;
    case Once::kUnpin:
      munmap(at(entry.address), entry.bytes);
      return;
    case Once::kLoadModule: {
      const std::lock_guard lock(mutex_);
      modules_[entry.id] = std::make_shared<Module>(reinterpret_cast<const char*>(place));
      return;
    }
    case Once::kUnloadModule: {
      const std::lock_guard lock(mutex_);
      modules_.erase(entry.id);  // the object stays, as one of its kernels may be running in another thread
      return;
    }
    case Once::kLoadGraph: {
      const std::lock_guard lock(mutex_);
      graphs_[entry.id].header = reinterpret_cast<const GraphHeader*>(place);
      return;
    }
    case Once::kUnloadGraph:
      return forget_graph(entry.id);
    case Once::kStartQueue:
      return workers().start(entry.id);
  }
}

std::shared_ptr<Module> World::module(uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(id);
  if (found == modules_.end())
    fail(CUDA_ERROR_LAUNCH_FAILED, "a kernel of a module that is not loaded was launched");
  return found->second;
}

Graph World::graph(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(id);
  if (found == graphs_.end()) fail(CUDA_ERROR_LAUNCH_FAILED, "a graph that has been destroyed was launched");
  return found->second;
}

void World::forget_graph(uint64_t id) {
  const std::lock_guard lock(mutex_);
  graphs_.erase(id);
}

void World::map_pages(uint64_t address, uint64_t bytes) {
  const uint64_t begin = first_page(address), size = end_page(address + bytes) - begin;
  void* mapped = mmap(at(begin), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                      memory_fd(begin), offset_of(begin));
  if (mapped == MAP_FAILED)
    fail(CUDA_ERROR_UNKNOWN, "cannot map %llu bytes: %m", static_cast<unsigned long long>(size));
  const std::lock_guard lock(memory_mutex_);
  blocks_[address] = {bytes, true};
}

void World::map(uint64_t address, uint64_t bytes) {
  map_pages(address, bytes);
  const uint64_t begin = first_page(address), end = end_page(address + bytes);
  std::memset(at(begin), kUnwritten, std::min(end - begin, kPoisoned));
  if (end - begin > kPoisoned) std::memset(at(end - kPageBytes), kUnwritten, kPageBytes);
}

void World::unmap(uint64_t address, uint64_t bytes) {
  const uint64_t begin = first_page(address), end = end_page(address + bytes);
  const bool own = device_of(address) == g_channel.index;
  if (own) {
    const uint64_t before = first_written(begin, address), behind = first_written(address + bytes, end);
    if (before != address || behind != end) {
      fail(CUDA_ERROR_LAUNCH_FAILED,
           "something wrote to 0x%llx, %s the allocation of %llu bytes at 0x%llx; found when that was freed",
           static_cast<unsigned long long>(before != address ? before : behind),
           before != address ? "in front of" : "behind", static_cast<unsigned long long>(bytes),
           static_cast<unsigned long long>(address));
    }
  }
  mmap(at(begin), end - begin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (own)
    fallocate(memory_fd(begin), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset_of(begin),
              static_cast<off_t>(end - begin));
  const std::lock_guard lock(memory_mutex_);
  blocks_[address].live = false;
}

const char* World::describe(uint64_t address) noexcept {
  static char text[256];
  if (address < kPageBytes) return "null";
  if (!is_device_address(address)) return "no device memory";
  if (!memory_mutex_.try_lock()) return "device memory";
  auto next = blocks_.upper_bound(address);
  const auto show = [&](const char* what, uint64_t begin, const Block& block) {
    std::snprintf(text, sizeof(text), "%s an allocation of %llu bytes at 0x%llx%s", what,
                  static_cast<unsigned long long>(block.bytes), static_cast<unsigned long long>(begin),
                  block.live ? "" : " that has been freed");
    return text;
  };
  constexpr uint64_t kNear = 1 << 24;
  if (next != blocks_.begin()) {
    const auto before = std::prev(next);
    const uint64_t end = before->first + before->second.bytes;
    if (address < end) return show("inside of", before->first, before->second);
    if (address - end < kNear) return show("behind", before->first, before->second);
  }
  if (next != blocks_.end() && next->first - address < kNear)
    return show("in front of", next->first, next->second);
  return "device memory of no allocation";
}

}  // namespace fake_cuda::device
