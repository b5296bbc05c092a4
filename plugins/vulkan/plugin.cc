// The Vulkan provider: the classes that make its table.
#include "program.h"

namespace tenon::vulkan {
namespace {

struct Vulkan {
  static constexpr std::string_view kId = TENON_PROVIDER_ID, kVersion = TENON_PROVIDER_VERSION;
  static constexpr std::string_view kBuildId = __VERSION__;

  using Provider = vulkan::Provider;
  using Device = vulkan::Device;
  using Instance = vulkan::Instance;
  using Program = vulkan::CompiledNode;
  using Binding = vulkan::Launches;
  using Stream = vulkan::Stream;
  using Recording = vulkan::Recording;

  static std::string refuse() { return ep::KernelRegistry::get().conflict(); }
  /// In a forked child drivers do not work.
  static void enter() { g_process.require(); }
};

}  // namespace
}  // namespace tenon::vulkan

TENON_PROVIDER(tenon::vulkan::Vulkan)
