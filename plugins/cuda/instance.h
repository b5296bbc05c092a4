// An open device with options: which nodes and values it accepts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device.h"
#include "tenon/ep/device/clamp.hpp"

namespace tenon::cuda {

/// Who does matrix products or convolutions.
enum class Worker { kAuto, kLibrary, kOwn };

/// A device with options. Kernels get it from their NodeView with instance_of().
struct Instance : ep::InstanceSettings {
  Instance(Device& device, const tenon_instance_params& params);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// Claims the nodes that kernels support.
  void offer(const tenon_graph* graph, const tenon_claim_sink* sink) const;
  /// Empty if this instance can hold the value, else the reason.
  std::string unfit(const ep::ValueView& value) const;
  /// Whether it accepts tensors of this element type.
  bool stores(uint32_t dtype) const;

  Device& device;
  bool float16 = true;
  bool bfloat16 = true;
  bool synchronize = false;  // waits after each node, so that an error has its place
  Worker products = Worker::kAuto, convolutions = Worker::kAuto;
  std::optional<Form> form;  // of all kernels that go over rows; nothing: see measures()
  /// Whether variants are chosen by timing, not by a rule.
  bool measures() const { return !deterministic; }
  StreamHandle stream;  // for runs without a stream

 private:
  uint64_t limit_ = 0;  // of the device's memory, in bytes; 0: none
  bool answers_are_used_ = false;
};

using NodeSettings = ep::NodeSettings<Instance>;
inline const Instance& instance_of(const ep::NodeView& node) { return NodeSettings::of(node).instance; }
/// The range to which the kernel must clamp its output. Only operators with an ep::Epilogue get one.
inline ep::Clamp clamp_of(const ep::NodeView& node) { return NodeSettings::of(node).clamp; }

}  // namespace tenon::cuda
