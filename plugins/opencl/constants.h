// Buffers with constant content. The host shares them between nodes and sessions: equal constants are on the device once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "device.h"

namespace tenon::opencl {

/// A buffer that other nodes and sessions may use too. Read-only once it is made.
class SharedBuffer {
 public:
  using Make = std::function<MemHandle()>;
  /// `make` is called unless the host has an object of this key. Objects with an empty key are not shared.
  SharedBuffer(const Instance& instance, std::string key, const Make& make);
  ~SharedBuffer();
  SharedBuffer(const SharedBuffer&) = delete;
  SharedBuffer& operator=(const SharedBuffer&) = delete;

  cl_mem get() const { return memory_; }

 private:
  tenon_host_instance* host_ = nullptr;  // set if the host owns the buffer
  std::string key_;
  MemHandle own_;
  cl_mem memory_ = nullptr;
};

/// The ids of the constants of one node. Filled in compile, then thread-safe.
class ConstantIds {
 public:
  /// Identifies the constant inputs of the node, if the instance copies constants and the host can share the copies.
  void identify(const ep::NodeView& node);
  /// Names the content of a constant, in every process; empty if it was not identified.
  std::string id_of(const tenon_tensor& constant) const;

 private:
  std::unordered_map<const void*, std::string> ids_;  // by the address of the data
};

}  // namespace tenon::opencl
