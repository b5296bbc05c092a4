// The OpenCL provider: the classes that make its table.
#include "program.h"
#include "stream.h"

namespace tenon::opencl {
namespace {

struct OpenCl {
  static constexpr std::string_view kId = TENON_PROVIDER_ID, kVersion = TENON_PROVIDER_VERSION;
  static constexpr std::string_view kBuildId = __VERSION__;

  using Provider = opencl::Provider;
  using Device = opencl::Device;
  using Instance = opencl::Instance;
  using Program = opencl::CompiledNode;
  using Binding = opencl::Launches;
  using Stream = opencl::Stream;
  using Recording = opencl::Recording;

  static std::string refuse() { return ep::KernelRegistry::get().conflict(); }
  /// In a forked child drivers do not work.
  static void enter() { g_process.require(); }
};

}  // namespace
}  // namespace tenon::opencl

TENON_PROVIDER(tenon::opencl::OpenCl)
