// A whole kernel-style provider: one claim per node that a registered kernel supports, in plain host memory.
//
//   struct Cpu {  // the traits; see KernelProvider
//     static constexpr std::string_view kId = TENON_PROVIDER_ID, kVersion = TENON_PROVIDER_VERSION;
//     static void devices(const DeviceSink& sink) {
//       sink.add({.kind = TENON_DEVICE_CPU, .stable_id = "0", .name = "CPU"});
//     }
//   };
//   TENON_KERNEL_PROVIDER(Cpu)
#ifndef TENON_DETAIL_PROVIDER_HPP_
#define TENON_DETAIL_PROVIDER_HPP_

#include "tenon/detail/claims.hpp"
#include "tenon/detail/kernel.hpp"
#include "tenon/negotiate.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::ep {

struct DeviceSpec {
  uint32_t kind = TENON_DEVICE_OTHER;
  std::string_view stable_id = {};
  std::string_view name = {};
  std::string_view vendor = {};
  uint64_t memory_bytes = 0;
  uint32_t flags = 0;
  uint32_t serialize = TENON_SERIALIZE_NONE;
  std::span<const tenon_str> features = {};
};

class DeviceSink {
 public:
  explicit DeviceSink(const tenon_device_sink* sink) : sink_(sink) {}
  void add(const DeviceSpec& device) const {
    tenon_device_info info{};
    info.struct_size = sizeof(info);
    info.kind = device.kind;
    info.flags = device.flags;
    info.serialize = device.serialize;
    info.stable_id = to_str(device.stable_id);
    info.name = to_str(device.name);
    info.vendor = to_str(device.vendor);
    info.memory_bytes = device.memory_bytes;
    info.features = device.features.data();
    info.feature_count = static_cast<uint32_t>(device.features.size());
    detail::call_host(sink_->add, sink_->context, &std::as_const(info));
  }

 private:
  const tenon_device_sink* sink_;
};

namespace detail {

/// A compiled node.
struct Program {
  const KernelOps* ops = nullptr;
  void* kernel = nullptr;
  NodeLayout layout;

  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (kernel != nullptr) ops->destroy(kernel);
  }
};

/// A program for one shape signature, with the kernel's state. Kernels without state share g_stateless.
struct Prepared {
  const KernelOps* ops = nullptr;
  void* state = nullptr;
};
inline Prepared g_stateless;

inline std::string place_of(const NodeView& node) {
  return cat("node '", node.name(), "' (", node.op(), ")");
}

inline int32_t position(std::span<const uint32_t> values, uint32_t value) {
  const auto at = std::find(values.begin(), values.end(), value);
  return at == values.end() ? -1 : static_cast<int32_t>(at - values.begin());
}

inline void lay_out(const GraphView& graph, const NodeView& node, NodeLayout& layout) {
  const std::span<const uint32_t> arguments(graph.info().inputs, graph.info().input_count);
  const std::span<const uint32_t> results(graph.info().outputs, graph.info().output_count);
  for (int i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) {
      layout.inputs.push_back(~0);
      continue;
    }
    const ValueView value = node.input(i);
    if (value.is_constant()) {
      layout.constants.push_back(*value.constant().raw());
      layout.inputs.push_back(~static_cast<int32_t>(layout.constants.size() - 1));
      continue;
    }
    const int32_t at = position(arguments, value.index());
    require(at >= 0, TENON_INTERNAL, "input '", value.name(),
            "' is neither a constant nor an input of the claim");
    layout.inputs.push_back(at);
  }
  for (int i = 0; i < node.output_count(); ++i) {
    layout.outputs.push_back(node.has_output(i) ? position(results, node.output(i).index()) : -1);
    const bool packed = node.has_output(i) && dtype_bits(node.output(i).dtype()) % 8 != 0;
    if (packed && layout.outputs.back() >= 0) layout.packed_outputs.push_back(layout.outputs.back());
  }
}

/// Zeroes the bits that pad the last byte of packed elements (R42), unless the byte belongs to an input.
inline void clear_padding(const NodeLayout& layout, const tenon_run_args& args) {
  for (const int32_t at : layout.packed_outputs) {
    const tenon_tensor& out = args.outputs[at];
    const uint64_t bits = element_count({out.dims, out.rank}) * dtype_bits(out.dtype);
    if (out.data == nullptr || out.kind != TENON_KIND_TENSOR || bits % 8 == 0) continue;
    auto* last = static_cast<unsigned char*>(out.data) + bits / 8;
    const auto holds = [&](const tenon_tensor& in) {
      const auto* begin = static_cast<const unsigned char*>(in.data);
      return begin != nullptr && last >= begin && last < begin + in.byte_size;
    };
    if (!std::any_of(args.inputs, args.inputs + args.input_count, holds))
      *last = static_cast<unsigned char>(*last & ((1u << bits % 8) - 1));
  }
}

inline void compile_kernel(const KernelEntry& entry, const GraphView& graph, const NodeView& node,
                           Program& program) {
  program.ops = &entry.ops;
  program.layout.contract = contract_of(entry, node);
  program.layout.memory_limit = node.instance().memory_limit;
  lay_out(graph, node, program.layout);
  program.kernel = entry.ops.create(node);
}

inline std::unique_ptr<Program> compile_node(const Instance& instance, const tenon_graph* raw) {
  const GraphView graph(raw);
  require(graph.info().node_count == 1, TENON_INTERNAL, "this provider never made a claim of ",
          graph.info().node_count, " nodes");
  auto program = std::make_unique<Program>();
  const NodeView node(graph, 0, program->layout.store, instance.settings);
  program->layout.place = place_of(node);
  try {
    Support refusal = Support::yes();
    const KernelEntry* entry = choose_kernel(node, &refusal);
    if (entry == nullptr) fail(TENON_UNIMPLEMENTED, refusal.text());
    compile_kernel(*entry, graph, node, *program);
  } catch (Error& e) {
    e.text = cat(program->layout.place, ": ", e.text);
    throw;
  }
  return program;
}

/// Requires that the kernel or the host's inference has answered each output shape.
inline void require_shapes(const tenon_prepare_args& args) {
  for (uint32_t i = 0; i < args.output_count; ++i) {
    // For an output that is not a tensor the host has set AT_RUN.
    require(args.outputs[i].flags != 0, TENON_INVALID_ARGUMENT, "the shape of output ", i,
            " cannot be determined from the inputs");
  }
}

/// Throws for input shapes that break the kernel's contract.
inline void require_contract(const NodeLayout& layout, const tenon_prepare_args& args) {
  const std::string refusal =
      layout.contract.check(static_cast<int>(layout.inputs.size()), [&](int i) -> std::optional<DimsView> {
        const tenon_tensor* input = layout.input(i, args.inputs);
        if (input->kind != TENON_KIND_TENSOR) return std::nullopt;
        return DimsView(input->dims, input->rank);
      });
  if (!refusal.empty()) fail(TENON_INVALID_ARGUMENT, refusal);
}

inline Prepared* prepare_node(const Program& program, tenon_prepare_args& args) {
  require_contract(program.layout, args);
  PrepareContext context(args, program.layout);
  void* state = program.ops->prepare == nullptr ? nullptr : program.ops->prepare(program.kernel, context);
  try {
    require_shapes(args);
  } catch (...) {
    if (state != nullptr) program.ops->destroy_state(state);
    throw;
  }
  if (state == nullptr) return &g_stateless;
  auto* out = new (std::nothrow) Prepared{program.ops, state};
  if (out == nullptr) {
    program.ops->destroy_state(state);
    throw std::bad_alloc();
  }
  return out;
}

}  // namespace detail

/// The table of a kernel-style provider. Traits has kId, kVersion, devices(const DeviceSink&), and optionally
///   static constexpr std::string_view kBuildId
///   static std::string refuse()              why this machine or process cannot run the provider; empty: it can
template <class Traits>
class KernelProvider {
 public:
  static tenon_status negotiate(tenon_ep_negotiation* io) noexcept {
    return ep::negotiate(io, {.id = Traits::kId,
                              .version = Traits::kVersion,
                              .build_id = build_id(),
                              .api = &kApi,
                              .refuse = refuse});
  }

 private:
  static constexpr std::string_view build_id() {
    if constexpr (requires { Traits::kBuildId; }) {
      return Traits::kBuildId;
    } else {
      return {};
    }
  }
  static std::string refuse() {
    std::string reason = KernelRegistry::get().conflict();
    if constexpr (requires { Traits::refuse(); }) {
      if (reason.empty()) reason = Traits::refuse();
    }
    return reason;
  }

  struct Provider {
    tenon_host_provider* host;
  };
  struct Device {
    std::string id;
  };

  static tenon_status provider_create(const tenon_provider_params* params, tenon_provider** out,
                                      tenon_error* error) {
    return guard(error, [&] { *out = reinterpret_cast<tenon_provider*>(new Provider{params->host}); });
  }
  static void provider_destroy(tenon_provider* provider) { delete reinterpret_cast<Provider*>(provider); }

  static tenon_status enumerate_devices(tenon_provider*, const tenon_device_sink* sink, tenon_error* error) {
    return guard(error, [&] { Traits::devices(DeviceSink(sink)); });
  }
  static tenon_status device_open(tenon_provider*, tenon_str id, tenon_device** out, tenon_error* error) {
    return guard(error, [&] {
      require(has_device(view(id)), TENON_NOT_FOUND, "there is no device '", view(id), "'");
      *out = reinterpret_cast<tenon_device*>(new Device{std::string(view(id))});
    });
  }
  static bool has_device(std::string_view id) {
    struct Wanted {
      std::string_view id;
      bool found = false;
    } wanted{id};
    const tenon_device_sink sink{
        sizeof(tenon_device_sink), 0, &wanted,
        [](void* context, const tenon_device_info* device, tenon_error*) -> tenon_status {
          auto& asked = *static_cast<Wanted*>(context);
          asked.found = asked.found || view(device->stable_id) == asked.id;
          return TENON_OK;
        }};
    Traits::devices(DeviceSink(&sink));
    return wanted.found;
  }
  static void device_close(tenon_device* device) { delete reinterpret_cast<Device*>(device); }

  static tenon_status instance_create(tenon_device*, const tenon_instance_params* raw, tenon_instance** out,
                                      tenon_error* error) {
    return guard(error, [&] {
      const tenon_instance_params params = detail::read_struct(raw);
      auto instance = std::make_unique<detail::Instance>();
      instance->settings = {params.precision, params.deterministic != 0, params.memory_limit, params.host};
      *out = reinterpret_cast<tenon_instance*>(instance.release());
    });
  }
  static void instance_destroy(tenon_instance* instance) {
    delete reinterpret_cast<detail::Instance*>(instance);
  }

  static tenon_status capability(tenon_instance* instance, const tenon_graph* graph,
                                 const tenon_claim_sink* sink, tenon_error* error) {
    return guard(error,
                 [&] { detail::offer(*reinterpret_cast<const detail::Instance*>(instance), graph, sink); });
  }
  static tenon_status compile(tenon_instance* instance, const tenon_compile_args* args, tenon_program** out,
                              tenon_error* error) {
    return guard(error, [&] {
      auto program = detail::compile_node(*reinterpret_cast<const detail::Instance*>(instance), args->graph);
      *out = reinterpret_cast<tenon_program*>(program.release());
    });
  }
  static void program_destroy(tenon_program* program) { delete reinterpret_cast<detail::Program*>(program); }

  static tenon_status prepare(tenon_program* raw, tenon_prepare_args* args, tenon_prepared** out,
                              tenon_error* error) {
    const auto& program = *reinterpret_cast<const detail::Program*>(raw);
    try {
      *out = reinterpret_cast<tenon_prepared*>(detail::prepare_node(program, *args));
      return TENON_OK;
    } catch (...) {
      return detail::report(error, program.layout.place);
    }
  }
  static void prepared_destroy(tenon_prepared* raw) {
    auto* prepared = reinterpret_cast<detail::Prepared*>(raw);
    if (prepared == nullptr || prepared == &detail::g_stateless) return;
    prepared->ops->destroy_state(prepared->state);
    delete prepared;
  }

  static tenon_status run(const tenon_run_args* args, tenon_error* error) noexcept {
    const auto& program = *reinterpret_cast<const detail::Program*>(args->program);
    try {
      program.ops->run(program.kernel, reinterpret_cast<const detail::Prepared*>(args->prepared)->state,
                       Context(*args, program.layout));
      if (!program.layout.packed_outputs.empty()) [[unlikely]]
        detail::clear_padding(program.layout, *args);
      return TENON_OK;
    } catch (...) {
      return detail::report(error, program.layout.place);
    }
  }

  static constexpr tenon_ep_api make_api() {
    tenon_ep_api api{};
    api.struct_size = sizeof(api);
    api.abi_minor = TENON_EP_ABI_MINOR;
    api.provider_create = &provider_create;
    api.provider_destroy = &provider_destroy;
    api.enumerate_devices = &enumerate_devices;
    api.device_open = &device_open;
    api.device_close = &device_close;
    api.instance_create = &instance_create;
    api.instance_destroy = &instance_destroy;
    api.capability = &capability;
    api.compile = &compile;
    api.program_destroy = &program_destroy;
    api.prepare = &prepare;
    api.prepared_destroy = &prepared_destroy;
    api.run = &run;
    return api;
  }
  static constexpr tenon_ep_api kApi = make_api();
};

}  // namespace tenon::ep
#pragma GCC visibility pop

/// Defines the library's one exported function.
#define TENON_KERNEL_PROVIDER(Traits)                                                    \
  extern "C" TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) { \
    return ::tenon::ep::KernelProvider<Traits>::negotiate(io);                           \
  }

#endif  // TENON_DETAIL_PROVIDER_HPP_
