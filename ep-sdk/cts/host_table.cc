#include "ep-sdk/cts/host_table.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "tenon/ep/trace.hpp"

namespace tenon::cts {
namespace {

std::atomic<int> g_live_values{0};

tenon_str to_str(const std::string& s) { return {s.data(), s.size()}; }
std::string text(tenon_str s) { return std::string(s.data, s.size); }

tenon_status fail(tenon_error* error, tenon_status code, const char* message) {
  if (error != nullptr) {
    error->code = code;
    error->flags = error->kind = 0;
    error->where[0] = '\0';
    std::strncpy(error->message, message, sizeof(error->message) - 1);
  }
  return code;
}

void log(tenon_host_provider*, uint32_t level, tenon_str, tenon_str) {
  ++host_state().log_calls;
  if (level < TENON_LOG_ERROR || level > TENON_LOG_DEBUG)
    host_state().violate(12, "log is called with the level " + std::to_string(level));
}

// ---- Threads and memory ----

void parallel_for(tenon_run*, int64_t n, int64_t grain, tenon_range_fn fn, void* context) {
  const HostState& state = host_state();
  ++host_state().parallel_calls;
  if (n <= 0) return;
  const int64_t pieces = std::clamp<int64_t>(n / std::max<int64_t>(1, grain), 1, state.pieces);
  const auto run = [&](int64_t p, uint32_t worker) {
    fn(context, worker, n * p / pieces, n * (p + 1) / pieces);
  };
  if (!state.threaded) {
    for (int64_t i = 0; i < pieces; ++i) {
      const int64_t p = state.backwards ? pieces - 1 - i : i;
      run(p, static_cast<uint32_t>(p) % state.workers);
    }
    return;
  }
  std::vector<std::thread> threads;
  for (uint32_t w = 0; w < state.workers; ++w) {
    threads.emplace_back([&, w] {
      for (int64_t p = w; p < pieces; p += state.workers) run(p, w);
    });
  }
  for (std::thread& thread : threads) thread.join();
}
uint32_t worker_count(tenon_run*) { return host_state().workers; }
uint32_t own_threads(tenon_run*, uint32_t) { return 1; }
void own_threads_done(tenon_run*) {}

constexpr uint8_t kOldBytes = 0xC7;  // contents of fresh memory

void* scratch(tenon_run* run, uint64_t bytes) {
  if (run == nullptr || !host_state().grant(bytes)) return nullptr;
  run->scratch.emplace_back(bytes, 64);
  std::memset(run->scratch.back().data(), kOldBytes, bytes);
  return run->scratch.back().data();
}

/// Clocks of two threads or cores may differ by this much.
constexpr uint64_t kClockNs = 100'000;

uint32_t trace(tenon_run* run, tenon_str name, uint64_t begin_ns, uint64_t end_ns) {
  if (run == nullptr || !host_state().traces) return 0;
  if (name.size == 0) return 1;
  ++host_state().spans;
  const std::string what = "trace gets the span '" + text(name) + "' ";
  if (begin_ns > end_ns) host_state().violate(60, what + "that ends before it begins");
  if (begin_ns + kClockNs < run->begin_ns) host_state().violate(60, what + "that begins before the Run");
  if (end_ns > ep::now_ns() + kClockNs) host_state().violate(60, what + "that ends in the future");
  return 1;
}

tenon_run::Output* output_of(tenon_run* run, uint32_t index, uint32_t rank, const int64_t* dims,
                             const char* function, tenon_error* error) {
  if (run == nullptr || index >= run->outputs.size()) {
    fail(error, TENON_INVALID_ARGUMENT, "no such output");
    return nullptr;
  }
  if (rank > TENON_EP_MAX_RANK || std::any_of(dims, dims + rank, [](int64_t d) { return d < 0; })) {
    host_state().violate(
        34, std::string(function) + " gives an output a shape with a negative dim or too many dims");
    fail(error, TENON_INVALID_ARGUMENT, "the shape has a negative dim or too many dims");
    return nullptr;
  }
  tenon_run::Output& output = run->outputs[index];
  ++output.given;
  output.tensor.dims.assign(dims, dims + rank);
  return &output;
}

tenon_status alloc_output(tenon_run* run, uint32_t index, uint32_t rank, const int64_t* dims,
                          tenon_tensor* out, tenon_error* error) {
  const bool known = run != nullptr && index < run->outputs.size();
  if (!host_state().grant(known ? bytes_of(run->outputs[index].tensor.dtype, {dims, rank}) : 0))
    return fail(error, TENON_RESOURCE_EXHAUSTED, "there is no memory left");
  if (output_of(run, index, rank, dims, "alloc_output", error) == nullptr) return TENON_INVALID_ARGUMENT;
  return run->place_output ? run->place_output(index, out)
                           : fail(error, TENON_FAILED_PRECONDITION, "outputs are placed already");
}

Tensor string_tensor(uint32_t rank, const int64_t* dims, const int64_t* offsets, const char* bytes) {
  Tensor out;
  out.dtype = TENON_STRING;
  out.dims.assign(dims, dims + rank);
  for (int64_t i = 0; i < out.size(); ++i) {
    out.strings.emplace_back(bytes + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
  }
  return out;
}

tenon_status set_strings(tenon_run* run, uint32_t index, uint32_t rank, const int64_t* dims,
                         const int64_t* offsets, const char* bytes, tenon_error* error) {
  if (!host_state().grant()) return fail(error, TENON_RESOURCE_EXHAUSTED, "there is no memory left");
  tenon_run::Output* output = output_of(run, index, rank, dims, "set_strings", error);
  if (output == nullptr) return TENON_INVALID_ARGUMENT;
  output->tensor = string_tensor(rank, dims, offsets, bytes);
  return TENON_OK;
}

tenon_status set_object(tenon_run* run, uint32_t index, tenon_value* value, tenon_error* error) {
  tenon_run::Output* output = output_of(run, index, 0, nullptr, "set_object", error);
  if (output == nullptr) return TENON_INVALID_ARGUMENT;
  const uint32_t dtype = output->tensor.dtype;
  output->tensor = value == nullptr ? optional(dtype, {}) : read_value(value);
  if (value != nullptr) release_value(value);
  return TENON_OK;
}

// ---- Values ----

tenon_value* new_value(Tensor tensor) {
  ++g_live_values;
  auto* out = new tenon_value();
  out->tensor = std::move(tensor);
  return out;
}

tenon_status value_make_tensor(uint32_t dtype, uint32_t rank, const int64_t* dims, tenon_value** out_value,
                               void** out_data, tenon_error* error) {
  if (!host_state().grant(bytes_of(dtype, {dims, rank})))
    return fail(error, TENON_RESOURCE_EXHAUSTED, "there is no memory left");
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.dims.assign(dims, dims + rank);
  tensor.bytes.resize(ep::dtype_bytes(dtype, static_cast<uint64_t>(tensor.size())));
  *out_value = new_value(std::move(tensor));
  *out_data = (*out_value)->tensor.bytes.data();
  return TENON_OK;
}

tenon_status value_make_strings(uint32_t rank, const int64_t* dims, const int64_t* offsets, const char* bytes,
                                tenon_value** out_value, tenon_error* error) {
  if (!host_state().grant()) return fail(error, TENON_RESOURCE_EXHAUSTED, "there is no memory left");
  *out_value = new_value(string_tensor(rank, dims, offsets, bytes));
  return TENON_OK;
}

tenon_status value_make(uint32_t kind, uint32_t dtype, tenon_value* const* elements, uint64_t n,
                        tenon_value** out_value, tenon_error* error) {
  if (!host_state().grant()) return fail(error, TENON_RESOURCE_EXHAUSTED, "there is no memory left");
  Tensor container;
  container.kind = kind;
  container.dtype = dtype;
  *out_value = new_value(std::move(container));
  for (uint64_t i = 0; i < n; ++i) {
    ++elements[i]->count;
    (*out_value)->elements.push_back(elements[i]);
  }
  return TENON_OK;
}

Tensor read_tensor(const tenon_tensor& from) {
  if (from.dtype == TENON_STRING) {
    return string_tensor(from.rank, from.dims, from.offsets, static_cast<const char*>(from.data));
  }
  Tensor out;
  out.dtype = from.dtype;
  out.dims.assign(from.dims, from.dims + from.rank);
  const auto* bytes = static_cast<const uint8_t*>(from.data);
  out.bytes.assign(bytes, bytes + ep::dtype_bytes(from.dtype, static_cast<uint64_t>(out.size())));
  return out;
}

tenon_status value_from_input(tenon_run* run, uint32_t input, tenon_value** out_value, tenon_error*) {
  if (input >= run->inputs.size()) return TENON_INVALID_ARGUMENT;
  if (run->inputs[input].kind != TENON_KIND_TENSOR || run->inputs[input].domain != TENON_DOMAIN_HOST)
    return TENON_UNIMPLEMENTED;
  if (!host_state().grant()) return TENON_RESOURCE_EXHAUSTED;
  *out_value = new_value(read_tensor(run->inputs[input]));
  return TENON_OK;
}

void value_retain(tenon_value* value) { ++value->count; }
uint32_t value_kind(const tenon_value* value) { return value->tensor.kind; }
uint64_t value_size(const tenon_value* value) { return value->elements.size(); }
tenon_value* value_element(const tenon_value* value, uint64_t index) {
  return index < value->elements.size() ? value->elements[index] : nullptr;
}

tenon_status value_tensor(const tenon_value* value, tenon_tensor* out) {
  if (value->tensor.kind != TENON_KIND_TENSOR) return TENON_INVALID_ARGUMENT;
  auto* self = const_cast<tenon_value*>(value);
  *out = describe(value->tensor, self->offsets, self->characters);
  return TENON_OK;
}

// ---- Services of an instance ----

struct SharedObject {
  void* object = nullptr;
  int count = 0;
  tenon_release_fn release = nullptr;
};

/// Shared objects and blobs, for all instances: a check has one device.
struct Services {
  std::recursive_mutex mutex;
  std::map<std::string, SharedObject> objects;
  std::map<std::string, std::string> blobs;
};
Services& services() {
  static auto* out = new Services;  // outlives every provider
  return *out;
}

tenon_status shared(tenon_host_instance* host, tenon_str key, tenon_make_fn make, void* context,
                    tenon_release_fn release, void** out_object, tenon_error* error) {
  if (!host_state().grant()) return fail(error, TENON_RESOURCE_EXHAUSTED, "there is no memory left");
  const std::lock_guard lock(services().mutex);
  const std::string name = text(key);
  if (services().objects.count(name) == 0) {
    void* object = nullptr;
    if (const tenon_status status = make(context, &object, error); status != TENON_OK) return status;
    services().objects[name] = {object, 0, release};
  }
  SharedObject& found = services().objects[name];
  ++found.count;
  if (host != nullptr) ++host->shared_held;
  *out_object = found.object;
  return TENON_OK;
}

void shared_release(tenon_host_instance* host, tenon_str key) {
  const std::lock_guard lock(services().mutex);
  const auto at = services().objects.find(text(key));
  if (at == services().objects.end())
    return host_state().violate(54, "shared_release of a key that is not held");
  if (host != nullptr) --host->shared_held;
  if (--at->second.count > 0) return;
  const SharedObject last = at->second;
  services().objects.erase(at);
  if (last.release != nullptr) last.release(last.object);
}

tenon_status cache_get(tenon_host_instance* host, tenon_str key, tenon_str* out_blob, tenon_error* error) {
  const std::lock_guard lock(services().mutex);
  const auto at = services().blobs.find(text(key));
  if (at == services().blobs.end()) return fail(error, TENON_NOT_FOUND, "there is no such blob");
  if (host != nullptr) ++host->blobs_held;
  *out_blob = to_str(at->second);
  return TENON_OK;
}
void cache_done(tenon_host_instance* host, tenon_str) {
  if (host != nullptr) --host->blobs_held;
}
tenon_status cache_put(tenon_host_instance*, tenon_str key, tenon_str blob, tenon_error* error) {
  if (!host_state().grant()) return fail(error, TENON_RESOURCE_EXHAUSTED, "there is no room left");
  const std::lock_guard lock(services().mutex);
  services().blobs.emplace(text(key), text(blob));  // keeps an existing blob: a provider may have it mapped
  return TENON_OK;
}

const void* get_extension(tenon_str, uint32_t) { return nullptr; }

tenon_host_api full_table() {
  tenon_host_api t{};
  t.struct_size = sizeof(t);
  t.abi_minor = TENON_EP_ABI_MINOR;
  add_graph_functions(&t);
  t.log = log;
  t.parallel_for = parallel_for;
  t.worker_count = worker_count;
  t.own_threads = own_threads;
  t.own_threads_done = own_threads_done;
  t.scratch = scratch;
  t.alloc_output = alloc_output;
  t.set_strings = set_strings;
  t.set_object = set_object;
  t.value_make_tensor = value_make_tensor;
  t.value_make_strings = value_make_strings;
  t.value_make = value_make;
  t.value_from_input = value_from_input;
  t.value_retain = value_retain;
  t.value_release = release_value;
  t.value_kind = value_kind;
  t.value_size = value_size;
  t.value_element = value_element;
  t.value_tensor = value_tensor;
  t.shared = shared;
  t.shared_release = shared_release;
  t.cache_get = cache_get;
  t.cache_done = cache_done;
  t.cache_put = cache_put;
  t.get_extension = get_extension;
  t.trace = trace;
  return t;
}

}  // namespace

HostState& host_state() {
  static HostState state;
  return state;
}

void HostState::violate(int rule, const std::string& text) {
  const std::lock_guard lock(mutex_);
  violations_.push_back({rule, text});
}

std::vector<Violation> HostState::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

uint64_t bytes_of(uint32_t dtype, std::span<const int64_t> dims) {
  if (std::count(dims.begin(), dims.end(), 0) > 0) return 0;
  uint64_t count = 1;
  for (const int64_t d : dims) {
    if (d < 0 || count > UINT64_MAX / static_cast<uint64_t>(d)) return UINT64_MAX;
    count *= static_cast<uint64_t>(d);
  }
  return count > UINT64_MAX / 64 ? UINT64_MAX : ep::dtype_bytes(dtype, count);
}

tenon_value* make_value(const Tensor& tensor) {
  Tensor own = tensor;
  own.elements.clear();
  tenon_value* out = new_value(std::move(own));
  for (const Tensor& element : tensor.elements) out->elements.push_back(make_value(element));
  return out;
}

Tensor read_value(const tenon_value* value) {
  Tensor out = value->tensor;
  for (const tenon_value* element : value->elements) out.elements.push_back(read_value(element));
  return out;
}

void release_value(tenon_value* value) {
  if (--value->count > 0) return;
  for (tenon_value* element : value->elements) release_value(element);
  delete value;
  --g_live_values;
}

int live_values() { return g_live_values; }

const tenon_host_api& host_table() {
  static const tenon_host_api table = full_table();
  return table;
}

const tenon_host_api& poor_host_table() {
  static const tenon_host_api table = [] {
    tenon_host_api t = full_table();
    t.log = nullptr;
    t.graph_constant_consumed = nullptr;
    t.graph_constant_id = nullptr, t.graph_fingerprint = nullptr;
    t.own_threads = nullptr, t.own_threads_done = nullptr;
    t.shared = nullptr, t.shared_release = nullptr;
    t.cache_get = nullptr, t.cache_done = nullptr, t.cache_put = nullptr;
    t.get_extension = nullptr;
    t.trace = nullptr;
    return t;
  }();
  return table;
}

}  // namespace tenon::cts
