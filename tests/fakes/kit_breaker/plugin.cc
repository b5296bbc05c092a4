// A provider that is correct, or has one defect that only the provider kit detects. The environment variable
// KIT_BREAKER names the defect; tests/cts/zoo.py lists what the kit must find. It has three devices: one works
// in host memory, two in domains of their own.
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "stream.h"
#include "work.h"

namespace breaker {
namespace {

// ---- Provider and devices ----

std::vector<std::string> device_ids() {
  static int calls = 0;
  std::vector<std::string> out = {"host", "own", "far"};
  if (breaks("R15.order") && ++calls % 2 == 0) std::swap(out[0], out[1]);
  if (breaks("R15.double")) out[1] = out[0];
  return out;
}

tenon_status provider_create(const tenon_provider_params*, tenon_provider** out, tenon_error*) {
  static int provider;
  *out = own<tenon_provider>(&provider);
  if (breaks("R53")) std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
  return TENON_OK;
}
void provider_destroy(tenon_provider*) {}

tenon_status enumerate_devices(tenon_provider*, const tenon_device_sink* sink, tenon_error* error) {
  if (breaks("R8.enumerate")) throw std::runtime_error("thrown across the border");
  const tenon_status status = guard(error, [&] {
    for (const std::string& id : device_ids()) {
      tenon_device_info info{};
      info.struct_size = sizeof(info);
      info.kind = TENON_DEVICE_OTHER;
      info.flags = TENON_DEVICE_HAS_UUID | TENON_DEVICE_HAS_PCI;
      info.stable_id = info.name = to_str(id);
      info.vendor = to_str("Tests");
      info.pci_device = breaks("R15.pci") ? 0 : 1;
      if (!breaks("R15.uuid")) std::copy_n(id.begin(), 3, info.uuid);
      if (breaks("injection.device_sink")) {
        sink->add(sink->context, &info, nullptr);
      } else {
        tenon::ep::call_host(sink->add, sink->context, &std::as_const(info));
      }
    }
  });
  if (breaks("R10.success") && status == TENON_OK) error->message[0] = '\0';
  return status;
}

tenon_status device_open(tenon_provider*, const tenon_device_params* params, tenon_device** out,
                         tenon_error* error) {
  const std::string_view id = view(params->stable_id);
  if (breaks("R16.leak")) (void)!open("/dev/null", O_RDONLY);
  const bool known = id == "host" || id == "own" || id == "far";
  if (breaks("R10.silent") && !known) return TENON_NOT_FOUND;
  return guard(error, [&] {
    require(known || breaks("R16.any"), TENON_NOT_FOUND, "there is no device '", id, "'");
    *out = own<tenon_device>(new Device{id != "host"});
  });
}
void device_close(tenon_device* device) { delete own<Device>(device); }

tenon_status device_domains(tenon_device* device, const tenon_domain_sink* sink, tenon_error* error) {
  if (!own<Device>(device)->own_memory) return TENON_OK;
  tenon_domain_info memory{};
  memory.struct_size = sizeof(memory);
  memory.flags = TENON_DOMAIN_HOST_ADDRESS | TENON_DOMAIN_MAPPABLE;
  memory.id = 1;
  memory.alignment = 128;
  memory.name = to_str("own memory");
  if (breaks("R18.address")) memory.flags = TENON_DOMAIN_MAPPABLE;
  if (breaks("R17.two")) memory.flags |= TENON_DOMAIN_STAGING;
  tenon_domain_info staging = memory;
  staging.flags = TENON_DOMAIN_STAGING;
  if (!breaks("R17.staging")) staging.flags |= TENON_DOMAIN_HOST_ADDRESS;
  staging.id = 2;
  staging.name = to_str("staging memory");
  const tenon_status status = sink->add(sink->context, &memory, error);
  return status == TENON_OK ? sink->add(sink->context, &staging, error) : status;
}

tenon_status device_memory(tenon_device*, tenon_memory_info* out, tenon_error*) {
  out->total_bytes = uint64_t{1} << 40;
  out->free_bytes = uint64_t{1} << 39;
  if (breaks("R11.out")) std::memset(out + 1, 0, out->struct_size - sizeof(*out));
  return TENON_OK;
}

tenon_status device_trim(tenon_device*, tenon_error*) {
  if (breaks("R57")) g_trimmed = true;
  return TENON_OK;
}

// ---- Instances ----

void leak() {
  static void* volatile memory;
  memory = std::malloc(1 << 20);
  std::memset(memory, 1, 1 << 20);
}

std::atomic<bool> g_instances_dead{false};

tenon_status make_nothing(void*, void** out_object, tenon_error*) {
  static int object;
  *out_object = &object;
  return TENON_OK;
}

tenon_status instance_create(tenon_device* device, const tenon_instance_params* params, tenon_instance** out,
                             tenon_error* error) {
  return guard(error, [&] {
    require(!crowded("R13.devices"), TENON_INTERNAL, "two calls at once");
    auto instance = std::make_unique<Instance>(Instance{own<Device>(device), params->host});
    void* object = nullptr;
    if (host().shared != nullptr)
      host().shared(instance->host, to_str("table"), make_nothing, nullptr, nullptr, &object, nullptr);
    if (breaks("R7.null_slots")) host().log(nullptr, TENON_LOG_INFO, to_str("made"), to_str("an instance"));
    if (breaks("lifecycle.x100")) leak();
    *out = own<tenon_instance>(instance.release());
  });
}
void instance_destroy(tenon_instance* raw) {
  const std::unique_ptr<Instance> instance(own<Instance>(raw));
  if (host().shared_release != nullptr && !breaks("R54"))
    host().shared_release(instance->host, to_str("table"));
  if (breaks("lifecycle.instances")) g_instances_dead = true;
}

// ---- Capability ----

bool can_run(const GraphView& graph, const tenon_node_info& node) {
  const std::string_view op = view(node.op_type);
  const bool known = op == "Relu" || op == "Add" || op == "Greater" || op == "NonZero" || op == "Gather";
  if (!known || node.domain.size != 0) return false;
  const tenon_value_info first = graph.value(node.inputs[0]), out = graph.value(node.outputs[0]);
  if (breaks("R12.type")) return first.kind == TENON_KIND_TENSOR;
  const auto floats = [](const tenon_value_info& value) {
    return value.kind == TENON_KIND_TENSOR && value.dtype == TENON_FLOAT32;
  };
  if (op == "Gather") {
    const tenon_value_info index = graph.value(node.inputs[1]);
    return node.attribute_count == 0 && floats(first) && index.kind == TENON_KIND_TENSOR &&
           index.dtype == TENON_INT64 && (index.flags & TENON_VALUE_CONSTANT) == 0;
  }
  if (node.input_count > 1 && !floats(graph.value(node.inputs[1]))) return false;
  return floats(first) && out.kind == TENON_KIND_TENSOR;
}

void answer(const Instance& instance, const GraphView& graph, uint32_t n, const tenon_claim_sink* sink) {
  static std::atomic<uint64_t> calls{0};
  const tenon_node_info node = graph.node(n);
  if ((node.flags & TENON_NODE_TAKEN) != 0) return;
  if (!can_run(graph, node)) {
    const std::string text = cat("operator ", view(node.op_type), " is not supported with these types");
    tenon_rejection rejection{sizeof(tenon_rejection), n, TENON_REJECT_OPERATOR, 0, to_str(text)};
    sink->reject(sink->context, &rejection, nullptr);
    return;
  }
  tenon_claim claim{};
  claim.struct_size = sizeof(claim);
  claim.flags = breaks("R12.flags") ? 0x100 : 0;
  claim.nodes = &n;
  claim.node_count = 1;
  claim.input_domain = claim.output_domain = instance.device->own_memory ? 1 : TENON_DOMAIN_HOST;
  claim.tag = breaks("R21") ? ++calls : 0;
  if (breaks("injection.claim_sink")) {
    sink->claim(sink->context, &claim, nullptr);
  } else {
    tenon::ep::call_host(sink->claim, sink->context, &std::as_const(claim));
  }
}

tenon_status capability(tenon_instance* instance, const tenon_graph* raw, const tenon_claim_sink* sink,
                        tenon_error* error) {
  return guard(error, [&] {
    require(!crowded("R13"), TENON_INTERNAL, "two calls at once");
    const GraphView graph(raw);
    for (uint32_t n = 0; n < graph.info().node_count; ++n) answer(*own<Instance>(instance), graph, n, sink);
  });
}

// ---- Programs ----

tenon_status compile(tenon_instance* instance, const tenon_compile_args* args, tenon_program** out,
                     tenon_error* error) {
  return guard(error, [&] {
    require(!g_instances_dead, TENON_INTERNAL, "an instance has been destroyed");
    *out = own<tenon_program>(new Program(*own<Instance>(instance), args->graph));
  });
}
void program_destroy(tenon_program* program) { delete own<Program>(program); }

tenon_status prepare(tenon_program* program, tenon_prepare_args* args, tenon_prepared** out,
                     tenon_error* error) {
  return guard(error, [&] { *out = own<tenon_prepared>(new Prepared(*own<Program>(program), *args)); });
}
void prepared_destroy(tenon_prepared* prepared) {
  if (breaks("R52")) own<Prepared>(prepared)->program.spoiled = true;
  delete own<Prepared>(prepared);
}

tenon_status bind(const tenon_bind_args* args, tenon_binding** out, tenon_error* error) {
  return guard(error, [&] { *out = own<tenon_binding>(new Binding(*args)); });
}
void unbind(tenon_binding* binding) { delete own<Binding>(binding); }

bool is_cancelled(const uint32_t* cancel) {
  return cancel != nullptr && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0;
}

tenon_status run(const tenon_run_args* args, tenon_error* error) {
  if (breaks("R8.run")) throw std::runtime_error("thrown across the border");
  return guard(error, [&] {
    if (is_cancelled(args->cancel)) fail(breaks("R45") ? TENON_INTERNAL : TENON_CANCELLED, "cancelled");
    const TraceSpan span(args->run, "run");
    if (breaks("R60.future") && host().trace != nullptr)
      host().trace(args->run, to_str("later"), now_ns(), now_ns() + 1'000'000'000);
    if (breaks("R60.turned") && host().trace != nullptr)
      host().trace(args->run, to_str("back"), now_ns(), now_ns() - 1000);
    if (breaks("R60.past") && host().trace != nullptr)
      host().trace(args->run, to_str("earlier"), now_ns() - 1'000'000'000, now_ns());
    const Binding& binding = *own<Binding>(args->binding);
    if (args->stream != nullptr) {
      Stream& stream = *own<Stream>(args->stream);
      if (binding.program.op == Op::kNonZero) {  // its output is made during the call
        require(!stream.records(), TENON_UNIMPLEMENTED, "NonZero cannot be recorded");
        return execute(binding, args->inputs, args->run);
      }
      // The binding and its memory stay valid until the work is done; descriptors and scratch memory do not.
      const tenon_tensor* inputs = breaks("R43") ? args->inputs : nullptr;
      return stream.add([&binding, inputs] { execute(binding, inputs, nullptr); }, "a node of the kit",
                        args->work_id);
    }
    if (!breaks("R47") || binding.program.op != Op::kRelu) return execute(binding, args->inputs, args->run);
    std::thread([binding] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      execute(binding, nullptr, nullptr);
    }).detach();
  });
}

tenon_ep_api make_api() {
  tenon_ep_api api{};
  api.struct_size = sizeof(api);
  api.abi_minor = TENON_EP_ABI_MINOR;
  api.provider_create = provider_create;
  api.provider_destroy = provider_destroy;
  api.enumerate_devices = enumerate_devices;
  api.device_open = device_open;
  api.device_close = device_close;
  api.device_domains = device_domains;
  api.device_memory = device_memory;
  api.device_trim = device_trim;
  api.instance_create = instance_create;
  api.instance_destroy = instance_destroy;
  api.capability = capability;
  api.compile = compile;
  api.program_destroy = program_destroy;
  api.prepare = prepare;
  api.prepared_destroy = prepared_destroy;
  api.run = run;
  api.bind = bind;
  api.unbind = unbind;
  add_memory_functions(&api);
  add_stream_functions(&api);
  return api;
}
tenon_ep_api g_api = make_api();

}  // namespace
}  // namespace breaker

extern "C" TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
  using namespace breaker;
  const char* what = std::getenv("KIT_BREAKER");
  g_break = what == nullptr ? "" : what;
  if (breaks("R6")) {
    static uint32_t calls = 0;
    g_api.abi_minor = TENON_EP_ABI_MINOR + calls++;
  }
  return tenon::ep::negotiate(io,
                              {.id = TENON_PROVIDER_ID, .version = TENON_PROVIDER_VERSION, .api = &g_api});
}
