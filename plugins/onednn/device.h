// The processor as a device, and what an instance of it was asked for.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/dnnl_backend.h"

namespace tenon::onednn {

struct Provider {
  tenon_host_provider* host;
  bool is_tried = false;  // by the scan: what would fail later is to be told now
};

/// Thread-safe.
class Device {
 public:
  /// Made when it is first asked for, with the library: UNAVAILABLE when that cannot be had.
  const Engine& engine() const;

 private:
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Engine> engine_;
};

/// manifest.json.in describes the options.
struct Instance {
  Instance(const Device& device, const tenon_instance_params& params);

  const Device& device;
  ep::InstanceContext context;
  bool bf16 = false;     // arithmetic of convolutions and products in bfloat16
  bool relaxed = false;  // NaN and infinities may be treated as the library does
  /// Also groups of nodes that gain nothing here; what a host wants that fills in no defaults, which is one that tests.
  bool claims_all = true;
};

/// What enumerate_devices() says.
struct CpuDescription {
  std::string name;
  std::vector<std::string> features;
};
CpuDescription describe_cpu();

}  // namespace tenon::onednn
