#include "host/device/host_api.h"

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "host/base/error_struct.h"
#include "host/base/fork.h"
#include "host/base/log.h"
#include "host/device/device_value.h"
#include "host/device/graph_id.h"
#include "host/device/graph_view.h"
#include "host/device/host_services.h"
#include "host/device/tenon_run.h"
#include "host/provider/host_provider.h"
#include "host/services/trace.h"

namespace tenon::runtime {
namespace {

std::string_view view(tenon_str text) { return {text.data, static_cast<size_t>(text.size)}; }

// ---- Log ----

void log(tenon_host_provider* host, uint32_t level, tenon_str code, tenon_str message) noexcept {
  try {
    if (!has_log_sink()) return;
    const std::string label = host == nullptr ? std::string() : host->id + " " + host->version;
    send_log_line({label, level, view(code), view(message)});
  } catch (...) {  // a line that cannot be logged is lost
  }
}

// ---- Threads and scratch ----

RunThreads* threads_of(tenon_run* run) { return run == nullptr ? nullptr : &run->threads; }

void parallel_for(tenon_run* run, int64_t n, int64_t grain, tenon_range_fn fn, void* context) noexcept {
  ThreadPool::parallel_for(threads_of(run), n, grain, fn, context);
}
uint32_t worker_count(tenon_run* run) noexcept { return ThreadPool::worker_count(threads_of(run)); }
uint32_t own_threads(tenon_run* run, uint32_t k) noexcept {
  return ThreadPool::own_threads(threads_of(run), k);
}
void own_threads_done(tenon_run* run) noexcept { ThreadPool::own_threads_done(threads_of(run)); }

void* scratch(tenon_run* run, uint64_t bytes) noexcept {
  try {
    return run == nullptr || run->scratch == nullptr ? nullptr : run->scratch->allocate(bytes);
  } catch (...) {
    return nullptr;
  }
}

uint32_t trace(tenon_run* run, tenon_str name, uint64_t begin_ns, uint64_t end_ns) noexcept {
  if (run == nullptr || run->trace == nullptr) return 0;
  if (name.size == 0) return 1;
  try {
    Trace::Event event;
    event.name = view(name);
    event.category = "span";
    event.provider = run->traced_as;
    event.begin_ns = static_cast<int64_t>(begin_ns);
    event.duration_ns = static_cast<int64_t>(end_ns - begin_ns);
    run->trace->add(std::move(event));
  } catch (...) {  // no memory: the span is lost
  }
  return 1;
}

// ---- Outputs made during a Run ----

Status check_shape(uint32_t rank, const int64_t* dims) {
  int64_t count = 0;
  if (rank <= TENON_EP_MAX_RANK && (rank == 0 || dims != nullptr) && count_elements({dims, rank}, &count)) {
    return ok_status();
  }
  if (rank != 0 && dims == nullptr) return invalid_input("R34: dims is NULL and the rank is ", rank);
  return invalid_input("R34: the provider passed an invalid shape of rank ", rank, " to the host");
}

Status check_call(const tenon_run* run) {
  if (run == nullptr || run->sink == nullptr) {
    return Status(StatusCode::kFailedPrecondition, "R40: this step has no output that is made during the Run",
                  ErrorKind::kInternal);
  }
  return ok_status();
}

tenon_status alloc_output(tenon_run* run, uint32_t output, uint32_t rank, const int64_t* dims,
                          tenon_tensor* out_tensor, tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_call(run));
    RETURN_IF_ERROR(check_shape(rank, dims));
    return run->sink->alloc_output(run->step, output, {dims, rank}, out_tensor);
  });
}

tenon_status set_strings(tenon_run* run, uint32_t output, uint32_t rank, const int64_t* dims,
                         const int64_t* offsets, const char* bytes, tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_call(run));
    RETURN_IF_ERROR(check_shape(rank, dims));
    ASSIGN_OR_RETURN(ValueRef value, make_strings(std::span<const int64_t>(dims, rank), offsets, bytes));
    return run->sink->set_strings(run->step, output, std::move(value));
  });
}

tenon_status set_object(tenon_run* run, uint32_t output, tenon_value* value, tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    ValueRef taken = ValueRef::adopt(value);  // taken over even when the call fails
    RETURN_IF_ERROR(check_call(run));
    return run->sink->set_object(run->step, output, std::move(taken));
  });
}

// ---- Values ----

Status check_place(tenon_value** out_value) {
  return out_value != nullptr ? ok_status() : invalid_input("out_value is NULL");
}

Status give(Result<ValueRef> made, tenon_value** out_value) {
  if (!made.ok()) return std::move(made).error();
  *out_value = made->release();
  return ok_status();
}

tenon_status value_from_input(tenon_run* run, uint32_t input, tenon_value** out_value,
                              tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_call(run));
    RETURN_IF_ERROR(check_place(out_value));
    return give(run->sink->value_from_input(run->step, input), out_value);
  });
}

}  // namespace

tenon_status value_make_tensor(uint32_t dtype, uint32_t rank, const int64_t* dims, tenon_value** out_value,
                               void** out_data, tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_place(out_value));
    RETURN_IF_ERROR(check_shape(rank, dims));
    RETURN_IF_ERROR(give(make_tensor(dtype, std::span<const int64_t>(dims, rank)), out_value));
    if (out_data != nullptr) *out_data = (*out_value)->tensor.data;
    return ok_status();
  });
}

tenon_status value_make_strings(uint32_t rank, const int64_t* dims, const int64_t* offsets, const char* bytes,
                                tenon_value** out_value, tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_place(out_value));
    RETURN_IF_ERROR(check_shape(rank, dims));
    return give(make_strings(std::span<const int64_t>(dims, rank), offsets, bytes), out_value);
  });
}

tenon_status value_make(uint32_t kind, uint32_t dtype, tenon_value* const* elements, uint64_t n,
                        tenon_value** out_value, tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_place(out_value));
    if (n != 0 && elements == nullptr) return invalid_input("elements is NULL, but n is ", n);
    if (n > PTRDIFF_MAX / sizeof(tenon_value*)) return invalid_input(n, " elements are too many");
    return give(make_composite(kind, dtype, {elements, static_cast<size_t>(n)}), out_value);
  });
}

void value_retain(tenon_value* value) noexcept { static_cast<void>(ValueRef::share(value).release()); }
void value_release(tenon_value* value) noexcept { ValueRef::adopt(value).reset(); }
uint32_t value_kind(const tenon_value* value) noexcept {
  return value == nullptr ? uint32_t{TENON_KIND_NONE} : value->kind();
}
uint64_t value_size(const tenon_value* value) noexcept {
  return value == nullptr ? 0 : value->elements.size();
}
tenon_value* value_element(const tenon_value* value, uint64_t index) noexcept {
  return index < value_size(value) ? value->elements[index].get() : nullptr;
}
tenon_status value_tensor(const tenon_value* value, tenon_tensor* out_tensor) noexcept {
  if (value == nullptr || out_tensor == nullptr || !value->is_tensor()) return TENON_INVALID_ARGUMENT;
  if (!value->is_on_device()) {
    *out_tensor = value->tensor;
    return TENON_OK;
  }
  try {
    const Result<tenon_tensor> readable = readable_tensor(*value);
    if (!readable.ok()) return TENON_FAILED_PRECONDITION;
    *out_tensor = *readable;
    return TENON_OK;
  } catch (...) {  // no memory for the text of the error
    return TENON_FAILED_PRECONDITION;
  }
}

namespace {

// ---- Shared objects and blobs ----

std::string shared_key(const tenon_host_instance* host, tenon_str key) {
  return host->shared_prefix + std::string(view(key));
}
std::string blob_key(const tenon_host_instance* host, tenon_str key) {
  return host->blob_prefix + std::string(view(key));
}

tenon_status shared(tenon_host_instance* host, tenon_str key, tenon_make_fn make, void* context,
                    tenon_release_fn release, void** out_object, tenon_error* error) noexcept {
  try {
    return host->shared->get(shared_key(host, key), make, context, release, out_object, error);
  } catch (...) {
    return give_plain(StatusCode::kResourceExhausted, ErrorKind::kOutOfMemory,
                      "out of host memory: cannot allocate the key of a shared object", error);
  }
}

void shared_release(tenon_host_instance* host, tenon_str key) noexcept {
  try {
    host->shared->release(shared_key(host, key));
  } catch (...) {  // no memory for the key; the object stays until the process ends
  }
}

tenon_status cache_get(tenon_host_instance* host, tenon_str key, tenon_str* out_blob,
                       tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    if (host->blobs == nullptr) return not_found("there is no blob cache");
    ASSIGN_OR_RETURN(const std::string_view blob, host->blobs->get(blob_key(host, key)));
    *out_blob = {blob.data(), blob.size()};
    return ok_status();
  });
}

void cache_done(tenon_host_instance* host, tenon_str blob) noexcept {
  if (host->blobs != nullptr) host->blobs->done(view(blob));
}

tenon_status cache_put(tenon_host_instance* host, tenon_str key, tenon_str blob,
                       tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    if (host->blobs == nullptr) return ok_status();  // no cache: nothing is kept
    Status kept = host->blobs->put(blob_key(host, key), view(blob), host->blob_limits);
    // Providers go on without the blob, so that only this line tells why every process makes it again.
    if (kept.kind() == ErrorKind::kLimitExceeded) log_line(TENON_LOG_WARNING, "CACHE", kept.message());
    return kept;
  });
}

const void* get_extension(tenon_str, uint32_t) noexcept { return nullptr; }

constexpr tenon_host_api kHostApi = {
    sizeof(tenon_host_api),
    TENON_EP_ABI_MINOR,
    graph_info,
    graph_node,
    graph_value,
    graph_attribute,
    graph_find_attribute,
    graph_constant,
    graph_constant_consumed,
    log,
    parallel_for,
    worker_count,
    own_threads,
    own_threads_done,
    scratch,
    alloc_output,
    set_strings,
    set_object,
    value_make_tensor,
    value_make_strings,
    value_make,
    value_from_input,
    value_retain,
    value_release,
    value_kind,
    value_size,
    value_element,
    value_tensor,
    shared,
    shared_release,
    cache_get,
    cache_done,
    cache_put,
    get_extension,
    graph_constant_id,
    graph_fingerprint,
    trace,
};

}  // namespace

const tenon_host_api* host_api() { return &kHostApi; }

}  // namespace tenon::runtime
