// The oneDNN provider: the classes that make its table. Claims have many nodes; values keep the library's layouts.
#include "compiler/program.h"
#include "device.h"
#include "tenon/ep.hpp"

namespace tenon::onednn {
namespace {

struct OneDnn {
  static constexpr std::string_view kId = TENON_PROVIDER_ID, kVersion = TENON_PROVIDER_VERSION;
  static constexpr std::string_view kBuildId = __VERSION__;

  using Provider = onednn::Provider;
  using Device = onednn::Device;
  using Instance = onednn::Instance;
  using Program = onednn::Program;
  using Binding = onednn::Binding;
};

}  // namespace
}  // namespace tenon::onednn

TENON_PROVIDER(tenon::onednn::OneDnn)
