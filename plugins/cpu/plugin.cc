// The CPU provider in plain host memory: islands of nodes, and a kernel for each node outside of them. The SDK implements the
// provider; this library adds the device, the kernels of kernels/ and the islands of islands/.
#include "device.h"
#include "islands/program.h"
#include "tenon/ep.hpp"

namespace tenon::cpu {
namespace {

struct Cpu {
  static constexpr std::string_view kId = TENON_PROVIDER_ID;
  static constexpr std::string_view kVersion = TENON_PROVIDER_VERSION;
  static constexpr std::string_view kBuildId = __VERSION__;

  static std::string refuse() { return isa_refusal(); }
  static void devices(const ep::DeviceSink& sink) {
    const CpuDescription cpu = describe_cpu();
    std::vector<tenon_str> features;
    for (const std::string& feature : cpu.features) features.push_back(ep::to_str(feature));
    sink.add({.kind = TENON_DEVICE_CPU,
              .stable_id = "0",
              .name = cpu.name,
              .vendor = cpu.vendor,
              .memory_bytes = 0,
              .features = features});
  }
};

struct CpuProvider : ep::KernelProvider<Cpu> {
  struct Instance {
    Instance(Device&, const tenon_instance_params& params)
        : settings(params), islands(islands::extent_of(settings.options.text("islands", "on"))) {}
    void offer(const tenon_graph* raw, const tenon_claim_sink* sink) const {
      const ep::GraphView graph(raw);
      std::vector<bool> taken(graph.info().node_count);
      for (uint32_t n = 0; n < taken.size(); ++n) taken[n] = (graph.node(n).flags & TENON_NODE_TAKEN) != 0;
      islands::offer_islands(settings, islands, graph, sink, &taken);
      for (uint32_t n = 0; n < taken.size(); ++n) {
        if (!taken[n]) ep::offer_node(settings, graph, n, sink);
      }
    }
    const ep::InstanceSettings settings;
    const islands::Extent islands;
  };

  struct Program : ep::KernelNode {
    Program(const Instance& instance, const tenon_compile_args& args) {
      const ep::GraphView graph(args.graph);
      if (!islands::is_island(graph, instance.settings, instance.islands)) {
        compile(graph, instance.settings);
        return;
      }
      ep::ConstantStore store;
      std::vector<ep::ValueView> inputs;
      for (uint32_t i = 0; i < graph.info().input_count; ++i)
        inputs.emplace_back(graph, graph.info().inputs[i], store);
      auto island = std::make_unique<islands::Island>();
      island->program = std::make_unique<islands::Program>(graph, instance.settings);
      compile_fused(graph, instance.settings, inputs, std::move(island), graph.info().output_count);
    }
  };
};

}  // namespace
}  // namespace tenon::cpu

TENON_PROVIDER(tenon::cpu::CpuProvider)
