// The processor as a device, and the options of an instance.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/dnnl_backend.h"

namespace tenon::onednn {

struct Provider {
  tenon_host_provider* host;
  bool is_tried = false;  // the scan tries the instance: errors that could come later are reported now
};

/// Thread-safe.
class Device {
 public:
  /// The engine, made at the first call. Throws UNAVAILABLE if the library cannot be loaded.
  const Engine& engine() const;

 private:
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Engine> engine_;
};

/// The options are described in manifest.json.in.
struct Instance {
  Instance(const Device& device, const tenon_instance_params& params);

  const Device& device;
  ep::InstanceSettings settings;
  bool bf16 = false;     // arithmetic of convolutions and products in bfloat16
  bool relaxed = false;  // NaN and infinities may be treated as the library does
  /// Whether to claim groups that gain nothing too. True unless the option says otherwise: tests create
  /// instances without the manifest's defaults.
  bool claims_all = true;
};

/// The fields that enumerate_devices() reports.
struct CpuDescription {
  std::string name;
  std::vector<std::string> features;
};
CpuDescription describe_cpu();

}  // namespace tenon::onednn
