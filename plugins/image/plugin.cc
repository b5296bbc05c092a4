// The image provider: ImageDecoder through the system's codecs, in plain host memory.
#include "device.h"
#include "tenon/ep.hpp"

namespace tenon::image {
namespace {

struct Image {
  static constexpr std::string_view kId = TENON_PROVIDER_ID;
  static constexpr std::string_view kVersion = TENON_PROVIDER_VERSION;
  static constexpr std::string_view kBuildId = __VERSION__;

  static void devices(const ep::DeviceSink& sink) { describe_device(sink); }
};

}  // namespace
}  // namespace tenon::image

TENON_KERNEL_PROVIDER(tenon::image::Image)
