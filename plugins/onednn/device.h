// The processor as a device, and the options of an instance.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/dnnl_backend.h"

namespace tenon::onednn {

struct Provider {
  explicit Provider(const tenon_provider_params& params)
      : is_tried((params.flags & TENON_NEGOTIATE_SCAN) != 0) {}
  void devices(const ep::DeviceSink& sink) const;

  bool is_tried;  // the scan tries the instance: errors that could come later are reported now
};

/// Thread-safe.
class Device {
 public:
  Device(const Provider&, std::string_view stable_id);
  /// The engine, made at the first call. Throws UNAVAILABLE if the library cannot be loaded.
  const Engine& engine() const;

 private:
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Engine> engine_;
};

/// The options are described in manifest.json.in.
struct Instance {
  Instance(const Device& device, const tenon_instance_params& params);
  /// Claims the largest groups of nodes that can run here, and says why the others cannot.
  void offer(const tenon_graph* graph, const tenon_claim_sink* sink) const;

  const Device& device;
  ep::InstanceSettings settings;
  bool bf16 = false;     // arithmetic of convolutions and products in bfloat16
  bool relaxed = false;  // NaN and infinities may be treated as the library does
  /// Whether to claim groups that gain nothing too. True unless the option says otherwise: tests create
  /// instances without the manifest's defaults.
  bool claims_all = true;
};

}  // namespace tenon::onednn
