#include "tests/faults/fail_alloc.h"

#include <dlfcn.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

std::atomic<uint64_t> g_count{0}, g_fail_at{0};
std::atomic<int64_t> g_live{0};
std::atomic<fail_alloc_record*> g_record{nullptr};

// Whoever calls these allocates on behalf of its own caller.
constexpr std::string_view kLookedThrough[] = {"libfail_alloc", "libstdc++", "libc.so",
                                               "libgcc_s",      "libm.so",   "libboost_"};
constexpr std::string_view kOurs[] = {"libtenon", "tenon_ep_", "fault_sweep"};

std::string_view base_name(const char* path) {
  const std::string_view text(path);
  const size_t slash = text.rfind('/');
  return slash == std::string_view::npos ? text : text.substr(slash + 1);
}

template <size_t N>
bool begins_with_any(std::string_view name, const std::string_view (&list)[N]) {
  for (const std::string_view known : list) {
    if (name.substr(0, known.size()) == known) return true;
  }
  return false;
}

struct Walk {
  fail_alloc_record* record;
  bool decided = false, ours = false;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  auto* at = reinterpret_cast<void*>(_Unwind_GetIP(context));
  if (at == nullptr || walk.record->frames == FAIL_ALLOC_FRAMES) return _URC_END_OF_STACK;
  walk.record->frame[walk.record->frames++] = at;
  Dl_info info;
  if (walk.decided || dladdr(at, &info) == 0 || info.dli_fname == nullptr) return _URC_NO_REASON;
  const std::string_view name = base_name(info.dli_fname);
  if (begins_with_any(name, kLookedThrough)) return _URC_NO_REASON;
  walk.decided = true;
  walk.ours = begins_with_any(name, kOurs);
  const size_t length =
      name.size() < sizeof walk.record->module - 1 ? name.size() : sizeof walk.record->module - 1;
  std::memcpy(walk.record->module, name.data(), length);
  walk.record->module[length] = '\0';
  return _URC_NO_REASON;
}

// Whether this allocation is the one, and ours.
bool fails() {
  const uint64_t number = g_count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number != g_fail_at.load(std::memory_order_relaxed)) return false;
  fail_alloc_record* const record = g_record.load();
  Walk walk{record};
  record->frames = 0;
  _Unwind_Backtrace(visit, &walk);
  record->reached = walk.ours ? 1 : 2;
  if (walk.ours) errno = ENOMEM;
  return walk.ours;
}

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
  auto& [frames, count] = *static_cast<std::pair<void**, uint32_t>*>(argument);
  auto* at = reinterpret_cast<void*>(_Unwind_GetIP(context));
  if (at == nullptr || count == FAIL_ALLOC_FRAMES) return _URC_END_OF_STACK;
  frames[count++] = at;
  return _URC_NO_REASON;
}

// The table of watched blocks: a place for each by its address, or a few behind it.
constexpr size_t kPlaces = 64;
std::atomic<fail_alloc_block*> g_watched{nullptr};
std::atomic_flag g_watching;
// Looking at a stack may allocate.
thread_local bool t_busy __attribute__((tls_model("initial-exec"))) = false;

template <class Use>
void with_place(const void* wanted, const void* block, Use use) {
  fail_alloc_block* const table = g_watched.load(std::memory_order_acquire);
  if (table == nullptr || t_busy) return;
  t_busy = true;
  while (g_watching.test_and_set(std::memory_order_acquire)) {
  }
  const size_t first = reinterpret_cast<uintptr_t>(block) / 16 * 0x9E3779B1u % FAIL_ALLOC_BLOCKS;
  for (size_t i = 0; i < kPlaces; ++i) {
    fail_alloc_block& place = table[(first + i) % FAIL_ALLOC_BLOCKS];
    if (place.block != wanted) continue;
    use(place);
    break;
  }
  g_watching.clear(std::memory_order_release);
  t_busy = false;
}

void* counted(void* block) {
  if (block == nullptr) return nullptr;
  g_live.fetch_add(1, std::memory_order_relaxed);
  with_place(nullptr, block, [&](fail_alloc_block& place) {
    place.block = block;
    place.frames = fail_alloc_stack(place.frame);
  });
  return block;
}

void uncounted(void* block) {
  g_live.fetch_sub(1, std::memory_order_relaxed);
  with_place(block, block, [](fail_alloc_block& place) { place.block = nullptr; });
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

void fail_alloc_arm(uint64_t n, fail_alloc_record* record) {
  g_record.store(record);
  g_count.store(0);
  g_fail_at.store(record == nullptr ? 0 : n);
}
uint64_t fail_alloc_count() { return g_count.load(); }
int64_t fail_alloc_live() { return g_live.load(); }
void fail_alloc_watch(fail_alloc_block* table) { g_watched.store(table); }
uint32_t fail_alloc_stack(void** frames) {
  std::pair<void**, uint32_t> out(frames, 0);
  _Unwind_Backtrace(add_frame, &out);
  return out.second;
}

EXPORT void* malloc(size_t size) { return fails() ? nullptr : counted(__libc_malloc(size)); }
EXPORT void* calloc(size_t n, size_t size) { return fails() ? nullptr : counted(__libc_calloc(n, size)); }
EXPORT void* realloc(void* block, size_t size) {
  if (block == nullptr) return malloc(size);
  if (size != 0 && fails()) return nullptr;
  void* const moved = __libc_realloc(block, size);
  if (moved == nullptr && size != 0) return nullptr;
  uncounted(block);
  return counted(moved);
}
EXPORT void* memalign(size_t alignment, size_t size) {
  return fails() ? nullptr : counted(__libc_memalign(alignment, size));
}
EXPORT void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
EXPORT int posix_memalign(void** out, size_t alignment, size_t size) {
  void* const block = memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
EXPORT void free(void* block) {
  if (block != nullptr) uncounted(block);
  __libc_free(block);
}

}  // extern "C"
