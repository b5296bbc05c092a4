#include "ep-sdk/cts/allocation_watch.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>

#include <atomic>
#include <climits>
#include <new>

#if defined(__has_feature)
#define TENON_CTS_FEATURE(name) __has_feature(name)
#else
#define TENON_CTS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || TENON_CTS_FEATURE(address_sanitizer) || \
    TENON_CTS_FEATURE(thread_sanitizer) || TENON_CTS_FEATURE(memory_sanitizer) || !defined(__GLIBC__)
#define TENON_CTS_WATCH 0
#else
#define TENON_CTS_WATCH 1
#endif

namespace tenon::cts {
namespace {

std::atomic<uintptr_t> g_begin{0}, g_end{0};
std::atomic<int64_t> g_allocations{0}, g_locks{0};

#if TENON_CTS_WATCH
bool watched(void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  return address >= g_begin.load(std::memory_order_relaxed) &&
         address < g_end.load(std::memory_order_relaxed);
}
void note(void* caller, std::atomic<int64_t>& counter) {
  if (watched(caller)) counter.fetch_add(1, std::memory_order_relaxed);
}
#endif

/// For dl_iterate_phdr: finds the addresses at which the library of path `context` is mapped.
int find_module(dl_phdr_info* info, size_t, void* context) {
  const auto& path = *static_cast<const std::string*>(context);
  char real[PATH_MAX];
  if (info->dlpi_name == nullptr || realpath(info->dlpi_name, real) == nullptr || path != real) return 0;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& program = info->dlpi_phdr[i];
    if (program.p_type != PT_LOAD) continue;
    begin = std::min<uintptr_t>(begin, info->dlpi_addr + program.p_vaddr);
    end = std::max<uintptr_t>(end, info->dlpi_addr + program.p_vaddr + program.p_memsz);
  }
  g_end = end;
  g_begin = begin;
  return 1;
}

}  // namespace

bool can_watch() { return TENON_CTS_WATCH != 0; }

void watch(const std::string& module_path) {
  char real[PATH_MAX];
  std::string path = realpath(module_path.c_str(), real) == nullptr ? module_path : std::string(real);
  g_allocations = g_locks = 0;
  dl_iterate_phdr(find_module, &path);
}

Watched stop_watching() {
  g_begin = g_end = 0;
  return {g_allocations, g_locks};
}

}  // namespace tenon::cts

#if TENON_CTS_WATCH
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

#define TENON_CTS_SHOWN __attribute__((visibility("default"), noinline))
#define TENON_CTS_NOTE() tenon::cts::note(__builtin_return_address(0), tenon::cts::g_allocations)

TENON_CTS_SHOWN void* malloc(size_t size) {
  TENON_CTS_NOTE();
  return __libc_malloc(size);
}
TENON_CTS_SHOWN void* calloc(size_t count, size_t size) {
  TENON_CTS_NOTE();
  return __libc_calloc(count, size);
}
TENON_CTS_SHOWN void* realloc(void* memory, size_t size) {
  TENON_CTS_NOTE();
  return __libc_realloc(memory, size);
}
TENON_CTS_SHOWN void* aligned_alloc(size_t alignment, size_t size) {
  TENON_CTS_NOTE();
  return __libc_memalign(alignment, size);
}
TENON_CTS_SHOWN int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto next = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  tenon::cts::note(__builtin_return_address(0), tenon::cts::g_locks);
  return next(mutex);
}
}

namespace {

void* new_or_throw(size_t size, size_t alignment) {
  if (size == 0) size = 1;
  void* out = alignment == 0 ? __libc_malloc(size) : __libc_memalign(alignment, size);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}

}  // namespace

TENON_CTS_SHOWN void* operator new(size_t size) {
  TENON_CTS_NOTE();
  return new_or_throw(size, 0);
}
TENON_CTS_SHOWN void* operator new[](size_t size) {
  TENON_CTS_NOTE();
  return new_or_throw(size, 0);
}
TENON_CTS_SHOWN void* operator new(size_t size, std::align_val_t alignment) {
  TENON_CTS_NOTE();
  return new_or_throw(size, static_cast<size_t>(alignment));
}
TENON_CTS_SHOWN void operator delete(void* memory) noexcept { free(memory); }
TENON_CTS_SHOWN void operator delete[](void* memory) noexcept { free(memory); }
TENON_CTS_SHOWN void operator delete(void* memory, size_t) noexcept { free(memory); }
TENON_CTS_SHOWN void operator delete[](void* memory, size_t) noexcept { free(memory); }
TENON_CTS_SHOWN void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
TENON_CTS_SHOWN void operator delete(void* memory, size_t, std::align_val_t) noexcept { free(memory); }
#endif
