// Buffers, copies and maps. All memory is the host's.
#include <map>
#include <new>

#include "stream.h"
#include "work.h"

namespace breaker {
namespace {

constexpr std::align_val_t kAlignment{128};
constexpr size_t kCommonBytes = 1 << 20;
alignas(128) char g_common[kCommonBytes];  // what callers get that were not alone, under a defect

tenon_status allocate(tenon_device*, const tenon_allocate_params* params, tenon_allocation* out,
                      tenon_error* error) {
  return guard(error, [&] {
    require(params->domain == 1 || params->domain == 2, TENON_INVALID_ARGUMENT, "there is no domain ",
            params->domain);
    require(params->bytes < uint64_t{1} << 40, breaks("R18") ? TENON_INTERNAL : TENON_RESOURCE_EXHAUSTED,
            "no memory");
    const bool common = crowded("R13.memory") && params->bytes <= kCommonBytes;
    out->address = common ? g_common : ::operator new(params->bytes, kAlignment);
    out->buffer = own<tenon_buffer>(out->address);
  });
}

void free_buffer(tenon_device*, tenon_buffer* buffer, tenon_stream* stream) {
  if (own<char>(buffer) == g_common) return;
  const auto release = [buffer] { ::operator delete(own<void>(buffer), kAlignment); };
  if (stream == nullptr) return release();
  own<Stream>(stream)->add(release, "a free", 0);
}

char* address(const tenon_location& place) {
  return place.domain == TENON_DOMAIN_HOST ? static_cast<char*>(place.data)
                                           : own<char>(place.buffer) + place.byte_offset;
}

tenon_status copy(tenon_device* device, const tenon_copy_params* params, tenon_error* error) {
  return guard(error, [&] {
    uint64_t bytes = params->bytes;
    if (breaks("R19") && bytes == 4097) --bytes;
    const tenon_device* from = params->source.device;
    if (breaks("R58") && from != nullptr && from != device) --bytes;
    const auto act = [to = address(params->destination), from = address(params->source), bytes] {
      std::memmove(to, from, bytes);
    };
    if (params->stream == nullptr) return act();
    own<Stream>(params->stream)->add(act, "a copy", params->work_id);
  });
}

/// A mapped copy, where the memory itself should be mapped.
struct Mapped {
  std::vector<char> bytes;
  char* memory;
  bool is_written_back;
};
std::mutex g_mutex;
std::map<void*, Mapped> g_maps;

tenon_status map(tenon_device*, const tenon_map_params* params, void** out_address, tenon_error*) {
  char* memory = own<char>(params->buffer) + params->byte_offset;
  *out_address = crowded("R13.maps") ? g_common : memory;
  const bool forgets = breaks("R20.write") && params->flags == TENON_MAP_WRITE;
  if (!breaks("R20") && !forgets) return TENON_OK;
  Mapped mapped{std::vector<char>(params->bytes), memory, forgets};
  if (!forgets) std::memcpy(mapped.bytes.data(), memory, params->bytes);
  *out_address = mapped.bytes.data();
  const std::lock_guard lock(g_mutex);
  g_maps[*out_address] = std::move(mapped);
  return TENON_OK;
}

void unmap(tenon_device*, tenon_buffer*, void* address) {
  const std::lock_guard lock(g_mutex);
  const auto at = g_maps.find(address);
  if (at == g_maps.end()) return;
  const Mapped& mapped = at->second;
  if (mapped.is_written_back) std::memcpy(mapped.memory, mapped.bytes.data(), mapped.bytes.size());
  g_maps.erase(at);
}

}  // namespace

void add_memory_functions(tenon_ep_api* api) {
  api->allocate = allocate;
  api->free = free_buffer;
  api->copy = copy;
  api->map = map;
  api->unmap = unmap;
}

}  // namespace breaker
