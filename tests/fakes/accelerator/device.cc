#include "device.h"

#include <chrono>
#include <thread>

namespace accelerator {

Device::~Device() {
  const size_t left = memory.buffers();
  if (left != 0) {
    const std::string text = std::to_string(left) + " buffers were not freed";
    g_host->log(provider.host, TENON_LOG_ERROR, to_str("LEAK"), to_str(text));
  }
  --provider.devices_open;
}

Instance::Instance(Device& device, const tenon_instance_params& params)
    : device(device), rounds_to_bf16(params.precision == TENON_PRECISION_BF16) {
  for (uint32_t i = 0; i < params.option_count; ++i) {
    const tenon_option& option = params.options[i];
    const std::string_view name = view(option.name);
    if (name == "ops") options.ops = view(option.s);
    if (name == "fault") options.fault = view(option.s);
    if (name == "fault_after") options.fault_after = option.i;
    if (name == "fault_times") options.fault_times = option.i;
    if (name == "wrong_op") options.wrong_op = view(option.s);
    if (name == "fault_op") options.fault_op = view(option.s);
    if (name == "latency_us") options.latency_us = option.i;
    if (name == "max_nodes") options.max_nodes = option.i;
    if (name == "static_claims") options.static_claims = option.i != 0;
    if (name == "needs_values") options.needs_values = option.i != 0;
  }
}

void Instance::maybe_fail(const char* what) {
  if (options.fault != what || calls++ < options.fault_after) return;
  if (options.fault_times != 0 && device.provider.faults++ >= options.fault_times) return;
  if (options.fault == "memory") fail(TENON_RESOURCE_EXHAUSTED, "the injected fault '", what, "'");
  if (options.fault == "lost_process") {
    device.provider.lost = true;
  } else if (options.fault == "lost") {
    device.lost = true;
  } else {
    fail(TENON_INTERNAL, "the injected fault '", what, "'");
  }
  device.check_lost();
}

void Instance::maybe_wait(const char* what, const uint32_t* cancel) const {
  constexpr int kMostMilliseconds = 20'000;
  if (options.fault != what) return;
  for (int i = 0; i < kMostMilliseconds; ++i) {
    if (cancel != nullptr && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0)
      fail(TENON_CANCELLED, "cancelled");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  fail(TENON_INTERNAL, "'", what, "' was not cancelled");
}

void Device::check_lost() const {
  if (provider.lost) {
    throw Failure{TENON_UNAVAILABLE, "the driver is lost",
                  TENON_ERROR_DEVICE_LOST | TENON_ERROR_PROCESS_LOST};
  }
  if (lost) throw Failure{TENON_UNAVAILABLE, "the device was lost", TENON_ERROR_DEVICE_LOST};
}

}  // namespace accelerator
