#include "device.h"

namespace accelerator {

Device::~Device() {
  const size_t left = memory.buffers();
  if (left != 0) {
    const std::string text = std::to_string(left) + " buffers were not freed";
    g_host->log(provider.host, TENON_LOG_ERROR, to_str("LEAK"), to_str(text));
  }
  --provider.devices_open;
}

Instance::Instance(Device& device, const tenon_instance_params& params) : device(device) {
  for (uint32_t i = 0; i < params.option_count; ++i) {
    const tenon_option& option = params.options[i];
    const std::string_view name = view(option.name);
    if (name == "ops") options.ops = view(option.s);
    if (name == "fault") options.fault = view(option.s);
    if (name == "fault_after") options.fault_after = option.i;
    if (name == "latency_us") options.latency_us = option.i;
    if (name == "max_nodes") options.max_nodes = option.i;
    if (name == "static_claims") options.static_claims = option.i != 0;
    if (name == "needs_values") options.needs_values = option.i != 0;
  }
}

void Instance::maybe_fail(const char* what) {
  if (options.fault != what || calls++ < options.fault_after) return;
  if (options.fault != "lost") fail(TENON_INTERNAL, "the injected fault '", what, "'");
  device.lost = true;
  check_lost();
}

void Instance::check_lost() const {
  if (device.lost) throw Failure{TENON_UNAVAILABLE, "the device was lost", TENON_ERROR_DEVICE_LOST};
}

}  // namespace accelerator
