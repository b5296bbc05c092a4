// frozen_host LIBRARY MINOR: a small host that runs the sample (sample.c), which was built for minor MINOR.
//
// It is built against ep.h, and with FROZEN_NEXT against the invented next minor, whose additions it uses. It expects
// what two minors promise each other: the smaller minor is chosen, a function that only one side has is not called, and
// a field that only one side has is zero for the other. What it passes lies directly before other bytes, so that reading
// or writing beyond a struct shows. Ends with 1 and a message for the first promise that is broken.
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tenon/ep.h"

struct tenon_graph {};          // the one node of this host
struct tenon_host_provider {};  // nothing

namespace {

#ifdef FROZEN_NEXT
constexpr bool kNext = true;
#else
constexpr bool kNext = false;
#endif
constexpr int kBeyond = 64;           // bytes after a struct
constexpr unsigned char kNoise = 61;  // what they hold

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "frozen_host of minor %u: %s\n", TENON_EP_ABI_MINOR, what.c_str());
  std::exit(1);
}

/// A zeroed struct with its size, and noise behind it.
template <class Struct>
class Sized {
 public:
  Sized() {
    std::memset(bytes_, kNoise, sizeof bytes_);
    std::memset(bytes_, 0, sizeof(Struct));
    get()->struct_size = sizeof(Struct);
  }
  ~Sized() {
    const bool kept =
        std::all_of(bytes_ + sizeof(Struct), bytes_ + sizeof bytes_, [](auto b) { return b == kNoise; });
    expect(kept, "the provider writes beyond a struct");
  }
  Struct* get() { return reinterpret_cast<Struct*>(bytes_); }
  Struct* operator->() { return get(); }

 private:
  alignas(Struct) unsigned char bytes_[sizeof(Struct) + kBeyond];
};

tenon_str text(const char* zero_terminated) { return {zero_terminated, std::strlen(zero_terminated)}; }

/// Fills the caller's struct as far as it goes.
template <class Info>
tenon_status give(Info full, Info* out) {
  full.struct_size = out->struct_size;
  std::memcpy(static_cast<void*>(out), &full, std::min<size_t>(out->struct_size, sizeof full));
  return TENON_OK;
}

// ---- A graph of one node, Neg of float32 [4] ----

constexpr uint32_t kInput[] = {0}, kOutput[] = {1};
constexpr int64_t kDims[] = {4};

tenon_status graph_info(const tenon_graph*, tenon_graph_info* out) {
  tenon_graph_info full{};
  full.flags = TENON_GRAPH_STATIC;
  full.node_count = full.input_count = full.output_count = 1;
  full.value_count = 2;
  full.inputs = kInput;
  full.outputs = kOutput;
  full.name = text("one node");
  return give(full, out);
}
tenon_status graph_node(const tenon_graph*, uint32_t, tenon_node_info* out) {
  tenon_node_info full{};
  full.name = text("n");
  full.op_type = text("Neg");
  full.since_version = 13;
  full.inputs = kInput;
  full.outputs = kOutput;
  full.input_count = full.output_count = 1;
  return give(full, out);
}
tenon_status graph_value(const tenon_graph*, uint32_t value, tenon_value_info* out) {
  tenon_value_info full{};
  full.flags = value == 0 ? TENON_VALUE_INPUT : TENON_VALUE_OUTPUT;
  full.name = text(value == 0 ? "x" : "y");
  full.kind = TENON_KIND_TENSOR;
  full.dtype = TENON_FLOAT32;
  full.rank = 1;
  full.producer = value == 0 ? TENON_NO_INDEX : 0;
  full.dims = kDims;
  full.consumer_count = value == 0 ? 1 : 0;
  return give(full, out);
}

#ifdef FROZEN_NEXT
int g_observed = 0;
void observe(tenon_host_provider*, tenon_str what) {
  expect(std::string(what.data, what.size) == "device_sleep", "the provider observes something else");
  ++g_observed;
}
#endif

tenon_host_api make_table() {
  tenon_host_api table{};
  table.struct_size = sizeof table;
  table.abi_minor = TENON_EP_ABI_MINOR;
  table.graph_info = graph_info;
  table.graph_node = graph_node;
  table.graph_value = graph_value;
#ifdef FROZEN_NEXT
  table.observe = observe;
#endif
  return table;
}
const tenon_host_api kHost = make_table();

// ---- Negotiation ----

tenon_status negotiate(tenon_ep_negotiate_fn entry, Sized<tenon_ep_negotiation>& io, uint32_t minor,
                       uint32_t oldest) {
  io->host_major = TENON_EP_ABI_MAJOR;
  io->host_minor = minor;
  io->host_oldest_minor = oldest;
  io->host = &kHost;
  return entry(io.get());
}

void expect_refusal(tenon_ep_negotiate_fn entry, uint32_t minor, uint32_t oldest, const char* whom) {
  Sized<tenon_ep_negotiation> io;
  const tenon_status status = negotiate(entry, io, minor, oldest);
  expect(status != TENON_OK && io->reason[0] != '\0', std::string("no refusal with a reason of ") + whom);
}

/// The provider's table, as large as this host's, and zero where the provider's is shorter.
tenon_ep_api agree(tenon_ep_negotiate_fn entry, uint32_t provider_minor) {
  Sized<tenon_ep_negotiation> io;
  expect(negotiate(entry, io, TENON_EP_ABI_MINOR, TENON_EP_ABI_OLDEST_MINOR) == TENON_OK,
         std::string("refused: ") + io->reason);
  expect(io->major == TENON_EP_ABI_MAJOR && io->minor == std::min(TENON_EP_ABI_MINOR, provider_minor),
         "minor " + std::to_string(io->minor) + " was chosen, not the smaller one");
  tenon_ep_api api{};
  expect(io->api != nullptr && io->api->abi_minor == provider_minor, "the table is not the sample's");
  std::memcpy(&api, io->api, std::min<size_t>(io->api->struct_size, sizeof api));
  return api;
}

// ---- From a device to a Run ----

int g_claims = 0;
tenon_status claim(void*, const tenon_claim* given, tenon_error*) {
  g_claims += given->node_count == 1 && given->nodes[0] == 0 ? 1 : 100;
  return TENON_OK;
}
tenon_status reject(void*, const tenon_rejection* given, tenon_error*) {
  expect(false, "the node is declined: " + std::string(given->text.data, given->text.size));
  return TENON_OK;
}
tenon_status add_device(void*, const tenon_device_info* given, tenon_error*) {
  expect(std::string(given->stable_id.data, given->stable_id.size) == "0", "the device has another id");
  return TENON_OK;
}

void call(tenon_status status, Sized<tenon_error>& error, const char* what) {
  expect(status == TENON_OK, std::string(what) + ": " + error->message);
}

/// Compiles and runs the node; `compile_hint` and `run_hint` are additions of the next minor.
float run_once(const tenon_ep_api& api, tenon_instance* instance, uint32_t compile_hint, uint32_t run_hint) {
  Sized<tenon_error> error;
  tenon_graph graph;
  Sized<tenon_compile_args> compile_args;
  compile_args->graph = &graph;
#ifdef FROZEN_NEXT
  compile_args->hint[0] = compile_hint;
#endif
  tenon_program* program = nullptr;
  call(api.compile(instance, compile_args.get(), &program, error.get()), error, "compile");

  float x[] = {1, 2, 3, 4}, y[] = {0, 0, 0, 0};
  tenon_tensor in{}, out{};
  in.kind = out.kind = TENON_KIND_TENSOR;
  in.dtype = out.dtype = TENON_FLOAT32;
  in.rank = out.rank = 1;
  in.dims = out.dims = kDims;
  in.byte_size = out.byte_size = sizeof x;
  in.data = x;
  out.data = y;
  int64_t dims[TENON_EP_MAX_RANK] = {};
  tenon_shape shape{0, 0, dims};
  tenon_alias alias{};
  Sized<tenon_prepare_args> prepare_args;
  prepare_args->input_count = prepare_args->output_count = 1;
  prepare_args->inputs = &in;
  prepare_args->outputs = &shape;
  prepare_args->aliases = &alias;
  tenon_prepared* prepared = nullptr;
  call(api.prepare(program, prepare_args.get(), &prepared, error.get()), error, "prepare");
  expect(shape.flags == TENON_SHAPE_KNOWN && shape.rank == 1 && dims[0] == 4, "another shape");

  Sized<tenon_run_args> run_args;
  run_args->program = program;
  run_args->prepared = prepared;
  run_args->inputs = &in;
  run_args->outputs = &out;
  run_args->input_count = run_args->output_count = 1;
#ifdef FROZEN_NEXT
  run_args->hint[0] = run_hint;
#endif
  call(api.run(run_args.get(), error.get()), error, "run");
  api.prepared_destroy(prepared);
  api.program_destroy(program);
  const float added = y[0] + x[0];
  for (int i = 1; i < 4; ++i) expect(y[i] + x[i] == added, "the elements differ");
  if (!kNext) expect(compile_hint == 0 && run_hint == 0, "this host has no hints");
  return added;
}

void run_all(const tenon_ep_api& api, bool provider_is_next) {
  Sized<tenon_error> error;
  tenon_host_provider own;
  Sized<tenon_provider_params> provider_params;
  provider_params->host = &own;
  tenon_provider* provider = nullptr;
  call(api.provider_create(provider_params.get(), &provider, error.get()), error, "provider_create");
  Sized<tenon_device_sink> devices;
  devices->add = add_device;
  call(api.enumerate_devices(provider, devices.get(), error.get()), error, "enumerate_devices");
  Sized<tenon_device_params> device_params;
  device_params->stable_id = text("0");
  tenon_device* device = nullptr;
  call(api.device_open(provider, device_params.get(), &device, error.get()), error, "device_open");
  Sized<tenon_instance_params> instance_params;
  tenon_instance* instance = nullptr;
  call(api.instance_create(device, instance_params.get(), &instance, error.get()), error, "instance_create");
  tenon_graph graph;
  Sized<tenon_claim_sink> claims;
  claims->claim = claim;
  claims->reject = reject;
  call(api.capability(instance, &graph, claims.get(), error.get()), error, "capability");
  expect(g_claims == 1, "not one claim of one node");

  expect(run_once(api, instance, 0, 0) == 0, "a Run without hints sees some");
#ifdef FROZEN_NEXT
  expect(run_once(api, instance, 3, 4) == (provider_is_next ? 7 : 0), "the hints do not arrive, or are read");
  expect((api.device_sleep != nullptr) == provider_is_next, "device_sleep is not as the provider has it");
  if (api.device_sleep != nullptr) call(api.device_sleep(device, 1, error.get()), error, "device_sleep");
  expect(g_observed == (provider_is_next ? 1 : 0), "observe was not called as device_sleep was");
#else
  (void)provider_is_next;
#endif
  api.instance_destroy(instance);
  api.device_close(device);
  api.provider_destroy(provider);
}

}  // namespace

int main(int argc, char** argv) {
  expect(argc == 3, "usage: frozen_host LIBRARY MINOR");
  const auto minor = static_cast<uint32_t>(std::atoi(argv[2]));
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) expect(false, dlerror());
  const auto entry = reinterpret_cast<tenon_ep_negotiate_fn>(dlsym(library, "tenon_ep_negotiate"));
  expect(entry != nullptr, "no tenon_ep_negotiate");
  expect_refusal(entry, TENON_EP_ABI_OLDEST_MINOR - 1, TENON_EP_ABI_OLDEST_MINOR - 1,
                 "a host that is too old");
  expect_refusal(entry, minor + 2, minor + 1, "a host that dropped the minor");
  run_all(agree(entry, minor), kNext && minor == TENON_EP_ABI_MINOR);
  std::printf("a host of minor %u and a provider of minor %u work together\n", TENON_EP_ABI_MINOR, minor);
  return 0;
}
