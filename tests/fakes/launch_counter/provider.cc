// Wraps a provider of devices. Writes one line for each part that it compiles and one for each run of a part, with what the
// counter (counter.h) saw meanwhile, to the file in TENON_LAUNCHES:
//
//   claimed <graph> <nodes> <operators>
//   ran     <graph> <nodes> <operators> <launches> <elements that it makes> <1 when the output is where the input is>
//           <arguments in memory that the host has mapped> <ids of kernels>
//
// The counter is loaded globally before the provider, so that its symbols come before the loader's. One that stands before the loader of
// the system itself (cuda.cc) is preloaded by the test; here it is found again.
// Two planted faults, which the test must detect:
// TENON_LAUNCHES_PLANT=host: Relu is computed on the host.
// TENON_LAUNCHES_PLANT=aside: the counter is not loaded globally, so it sees no launches.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenon/ep.h"

namespace {

struct Part {
  std::string graph, nodes, operators;
  tenon_instance* instance = nullptr;

  std::string text() const { return graph + '\t' + nodes + '\t' + operators; }
};

const tenon_host_api* g_host = nullptr;
const tenon_ep_api* g_real = nullptr;
uint64_t (*g_launches)() = nullptr;
const char* (*g_launched)() = nullptr;
uint64_t (*g_mapped)() = nullptr;
std::mutex g_mutex;
std::map<const tenon_program*, Part> g_parts;
std::map<const tenon_instance*, tenon_device*> g_devices;

std::string_view plant() {
  const char* text = std::getenv("TENON_LAUNCHES_PLANT");
  return text == nullptr ? "" : text;
}

std::string text(tenon_str s) { return {s.data, static_cast<size_t>(s.size)}; }

// One write, so that lines of several processes do not mix.
void put(std::string line) {
  const char* path = std::getenv("TENON_LAUNCHES");
  if (path == nullptr) return;
  line += '\n';
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) unlink(path);
  close(file);
}

Part describe(const tenon_graph* graph) {
  tenon_graph_info info{};
  info.struct_size = sizeof(info);
  if (g_host->graph_info(graph, &info) != TENON_OK) return {};
  Part out;
  out.graph = text(info.name);
  for (uint32_t n = 0; n < info.node_count; ++n) {
    tenon_node_info node{};
    node.struct_size = sizeof(node);
    if (g_host->graph_node(graph, n, &node) != TENON_OK) return {};
    out.nodes += (n == 0 ? "" : "+") + text(node.name);
    out.operators += (n == 0 ? "" : "+") + text(node.op_type);
  }
  return out;
}

tenon_status instance_create(tenon_device* device, const tenon_instance_params* params, tenon_instance** out,
                             tenon_error* error) {
  const tenon_status status = g_real->instance_create(device, params, out, error);
  const std::lock_guard lock(g_mutex);
  if (status == TENON_OK) g_devices[*out] = device;
  return status;
}

tenon_status compile(tenon_instance* instance, const tenon_compile_args* args, tenon_program** out,
                     tenon_error* error) {
  Part part = describe(args->graph);
  part.instance = instance;
  const tenon_status status = g_real->compile(instance, args, out, error);
  if (status != TENON_OK) return status;
  put("claimed\t" + part.text());
  const std::lock_guard lock(g_mutex);
  g_parts[*out] = std::move(part);
  return status;
}

void program_destroy(tenon_program* program) {
  {
    const std::lock_guard lock(g_mutex);
    g_parts.erase(program);
  }
  g_real->program_destroy(program);
}

Part part_of(const tenon_program* program) {
  const std::lock_guard lock(g_mutex);
  return g_parts[program];
}

uint64_t elements(const tenon_run_args& args) {
  uint64_t out = 0;
  for (uint32_t i = 0; i < args.output_count; ++i) {
    uint64_t count = 1;
    for (uint32_t d = 0; d < args.outputs[i].rank; ++d)
      count *= static_cast<uint64_t>(args.outputs[i].dims[d]);
    out += count;
  }
  return out;
}

bool in_place(const tenon_run_args& args) {
  if (args.input_count == 0 || args.output_count != 1) return false;
  const tenon_tensor &x = args.inputs[0], &y = args.outputs[0];
  return x.buffer == y.buffer && x.data == y.data && x.byte_offset == y.byte_offset;
}

tenon_status wait_for(tenon_stream* stream, tenon_error* error) {
  uint64_t point = 0;
  tenon_status status = g_real->stream_point(stream, &point, error);
  if (status == TENON_OK) status = g_real->stream_flush(stream, error);
  if (status == TENON_OK) status = g_real->point_wait(stream, point, -1, error);
  return status;
}

// The tensor's bytes, mapped unless they have an address in the host's memory.
tenon_status open_bytes(tenon_device* device, const tenon_tensor& tensor, uint32_t flags, void** out,
                        tenon_error* error) {
  *out = tensor.data;
  if (tensor.data != nullptr) return TENON_OK;
  tenon_map_params params{};
  params.struct_size = sizeof(params);
  params.flags = flags;
  params.buffer = tensor.buffer;
  params.byte_offset = tensor.byte_offset;
  params.bytes = tensor.byte_size;
  return g_real->map(device, &params, out, error);
}

void close_bytes(tenon_device* device, const tenon_tensor& tensor, void* address) {
  if (tensor.data == nullptr) g_real->unmap(device, tensor.buffer, address);
}

tenon_status copy_bytes(tenon_device* device, const tenon_tensor& tensor, float* host, bool to_host,
                        tenon_error* error) {
  tenon_copy_params params{};
  params.struct_size = sizeof(params);
  params.bytes = tensor.byte_size;
  tenon_location& mine = to_host ? params.destination : params.source;
  tenon_location& other = to_host ? params.source : params.destination;
  mine.domain = TENON_DOMAIN_HOST;
  mine.data = host;
  other.domain = tensor.domain;
  other.buffer = tensor.buffer;
  other.byte_offset = tensor.byte_offset;
  return g_real->copy(device, &params, error);
}

// For devices whose memory cannot be mapped.
tenon_status relu_of_copies(tenon_device* device, const tenon_tensor& x, const tenon_tensor& y,
                            tenon_error* error) {
  std::vector<float> values(x.byte_size / sizeof(float));
  tenon_status status = copy_bytes(device, x, values.data(), true, error);
  for (float& value : values) value = std::max(value, 0.0f);
  return status == TENON_OK ? copy_bytes(device, y, values.data(), false, error) : status;
}

// A planted fault: computes on the host what was claimed for the device.
tenon_status relu_on_host(const tenon_run_args& args, tenon_instance* instance, tenon_error* error) {
  tenon_device* device = nullptr;
  {
    const std::lock_guard lock(g_mutex);
    device = g_devices[instance];
  }
  tenon_status status = args.stream == nullptr ? TENON_OK : wait_for(args.stream, error);
  if (status != TENON_OK) return status;
  const tenon_tensor &x = args.inputs[0], &y = args.outputs[0];
  if (g_real->map == nullptr) return relu_of_copies(device, x, y, error);
  const bool same = x.data == nullptr && x.buffer == y.buffer && x.byte_offset == y.byte_offset;
  void *from = nullptr, *to = nullptr;
  status = open_bytes(device, x, same ? TENON_MAP_READ | TENON_MAP_WRITE : TENON_MAP_READ, &from, error);
  if (status != TENON_OK) return status;
  if (same) {
    to = from;
  } else {
    status = open_bytes(device, y, TENON_MAP_WRITE | TENON_MAP_DISCARD, &to, error);
  }
  if (status == TENON_OK) {
    const float* in = static_cast<const float*>(from);
    std::transform(in, in + x.byte_size / sizeof(float), static_cast<float*>(to),
                   [](float value) { return std::max(value, 0.0f); });
    if (!same) close_bytes(device, y, to);
  }
  close_bytes(device, x, from);
  return status;
}

tenon_status run(const tenon_run_args* args, tenon_error* error) {
  const Part part = part_of(args->program);
  const uint64_t before = g_launches();
  g_launched();
  g_mapped();
  const bool planted = plant() == "host" && part.operators == "Relu";
  const tenon_status status = planted ? relu_on_host(*args, part.instance, error) : g_real->run(args, error);
  put("ran\t" + part.text() + '\t' + std::to_string(g_launches() - before) + '\t' +
      std::to_string(elements(*args)) + '\t' + (in_place(*args) ? "1" : "0") + '\t' +
      std::to_string(g_mapped()) + '\t' + g_launched());
  return status;
}

tenon_ep_api make_api(const tenon_ep_api& real) {
  tenon_ep_api api{};
  std::memcpy(&api, &real, std::min<size_t>(sizeof(api), real.struct_size));
  api.instance_create = instance_create;
  api.compile = compile;
  api.program_destroy = program_destroy;
  api.run = run;
  // Without recordings each launch is made by the run of its part.
  api.record_begin = nullptr;
  api.record_end = nullptr;
  api.recording_run = nullptr;
  api.recording_destroy = nullptr;
  return api;
}

tenon_status refuse(tenon_ep_negotiation* io, const char* what) {
  const char* why = dlerror();
  const std::string reason = std::string(what) + ": " + (why == nullptr ? "no reason" : why);
  reason.copy(io->reason, sizeof(io->reason) - 1);
  return TENON_UNAVAILABLE;
}

}  // namespace

extern "C" TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
  const int scope = plant() == "aside" ? RTLD_LOCAL : RTLD_GLOBAL;
  void* counter = dlopen(COUNTER, RTLD_NOW | scope);
  if (counter == nullptr) return refuse(io, "the counter");
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(counter, name));
    return function != nullptr;
  };
  const bool is_counter = find(g_launches, "tenon_launches") && find(g_launched, "tenon_launched") &&
                          find(g_mapped, "tenon_mapped_arguments");
  void* library = dlopen(COUNTED, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(io, "the counted provider");
  const auto negotiate = reinterpret_cast<tenon_ep_negotiate_fn>(dlsym(library, "tenon_ep_negotiate"));
  if (!is_counter || negotiate == nullptr) return refuse(io, "a symbol");
  const tenon_status status = negotiate(io);
  if (status != TENON_OK) return status;
  static tenon_ep_api api{};
  g_host = io->host;
  g_real = io->api;
  api = make_api(*io->api);
  io->api = &api;
  return TENON_OK;
}
