// The CUDA provider: the classes that make its table.
#include "program.h"
#include "recording.h"
#include "stream.h"

namespace tenon::cuda {
namespace {

struct Cuda {
  static constexpr std::string_view kId = TENON_PROVIDER_ID, kVersion = TENON_PROVIDER_VERSION;
  static constexpr std::string_view kBuildId = __VERSION__;

  using Provider = cuda::Provider;
  using Device = cuda::Device;
  using Instance = cuda::Instance;
  using Program = cuda::CompiledNode;
  using Binding = cuda::Launches;
  using Stream = cuda::Stream;
  using Recording = cuda::Recording;

  static std::string refuse() { return ep::KernelRegistry::get().conflict(); }
  /// In a forked child, and after some errors, the driver does not work.
  static void enter() {
    g_process.require();
    require_alive();
  }
};

}  // namespace
}  // namespace tenon::cuda

TENON_PROVIDER(tenon::cuda::Cuda)
