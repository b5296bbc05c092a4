// An allocator for tests, to be preloaded: while it is switched on, each allocation ends at a page that nobody may
// touch and is taken out of reach when it is freed, so that reads outside memory and after its end are faults.
//
//   LD_PRELOAD=libtenon_guard_alloc.so   then guard_alloc_enable(least) around the calls to watch; 0 switches it off
//
// Allocations below `least` bytes, and those beyond the space that is set aside, are the C library's.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace {

constexpr size_t kPage = 4096, kSpace = size_t{256} << 30, kPages = kSpace / kPage;
constexpr size_t kPlainAlignment = 16;

struct Region {
  uint32_t first, pages;  // of the data, without the guard
  size_t size;
};

std::atomic<size_t> g_least{0}, g_used{0};
std::atomic<char*> g_space{nullptr};
Region* g_regions = nullptr;  // by the page in which the pointer lies

void* reserve(size_t bytes, int protection) {
  void* at = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

bool set_up() {
  if (g_space.load() != nullptr) return true;
  g_regions = static_cast<Region*>(reserve(kPages * sizeof(Region), PROT_READ | PROT_WRITE));
  if (g_regions == nullptr) return false;
  g_space.store(static_cast<char*>(reserve(kSpace, PROT_NONE)));
  return g_space.load() != nullptr;
}

size_t page_of(const void* at) {
  return static_cast<size_t>(static_cast<const char*>(at) - g_space.load()) / kPage;
}

bool is_guarded(const void* at) {
  char* space = g_space.load(std::memory_order_relaxed);
  return space != nullptr && at >= space && at < space + kSpace;
}

/// nullptr: the C library is to serve it.
void* guarded(size_t size, size_t alignment) {
  const size_t least = g_least.load(std::memory_order_relaxed);
  if (least == 0 || size < least || size > kSpace / 4) return nullptr;
  const size_t pages = (size + alignment + kPage - 1) / kPage;
  const size_t first = g_used.fetch_add(pages + 1);
  if (first + pages + 1 >= kPages) return nullptr;
  char* base = g_space.load() + first * kPage;
  if (mprotect(base, pages * kPage, PROT_READ | PROT_WRITE) != 0) return nullptr;
  const uintptr_t end = reinterpret_cast<uintptr_t>(base) + pages * kPage;
  void* at = reinterpret_cast<void*>((end - size) & ~static_cast<uintptr_t>(alignment - 1));
  g_regions[page_of(at)] = {static_cast<uint32_t>(first), static_cast<uint32_t>(pages), size};
  return at;
}

void release(void* at) {
  const Region region = g_regions[page_of(at)];
  char* base = g_space.load() + region.first * kPage;
  madvise(base, region.pages * kPage, MADV_DONTNEED);
  mprotect(base, region.pages * kPage, PROT_NONE);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// What the C library itself offers beside the names that are replaced here.
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

int guard_alloc_enable(size_t least) {
  if (least != 0 && !set_up()) return 0;
  g_least.store(least);
  return 1;
}

void* malloc(size_t size) {
  void* at = guarded(size, kPlainAlignment);
  return at != nullptr ? at : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  void* at = guarded(bytes, kPlainAlignment);  // fresh pages hold zeros
  return at != nullptr ? at : __libc_calloc(count, size);
}

void free(void* at) {
  if (is_guarded(at)) {
    release(at);
  } else {
    __libc_free(at);
  }
}

size_t malloc_usable_size(void* at) {
  if (is_guarded(at)) return g_regions[page_of(at)].size;
  static const auto real = next<size_t (*)(void*)>("malloc_usable_size");
  return real(at);
}

void* realloc(void* at, size_t size) {
  if (!is_guarded(at)) return __libc_realloc(at, size);
  void* other = malloc(size);
  if (other == nullptr) return nullptr;
  std::memcpy(other, at, std::min(size, g_regions[page_of(at)].size));
  release(at);
  return other;
}

void* memalign(size_t alignment, size_t size) {
  void* at = guarded(size, std::max(alignment, kPlainAlignment));
  return at != nullptr ? at : __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** out, size_t alignment, size_t size) {
  void* at = memalign(alignment, size);
  if (at == nullptr) return ENOMEM;
  *out = at;
  return 0;
}

int guard_alloc_owns(const void* at) { return is_guarded(at) ? 1 : 0; }

}  // extern "C"
#pragma GCC visibility pop
