// The CPU provider: kernels in plain host memory, one claim per node. The SDK implements the provider; this
// library adds the device and the kernels of kernels/.
#include "device.h"
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

}  // namespace
}  // namespace tenon::cpu

TENON_KERNEL_PROVIDER(tenon::cpu::Cpu)
