// Constants as providers see them, 64-byte aligned. Data that is aligned in the mapped file is used in place.
// Other data is copied once for all programs that use it, of this session or another, and freed with the last of them.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/base/result.h"
#include "core/ir/tensor.h"
#include "host/device/shared_copies.h"
#include "host/services/memory_budget.h"
#include "tenon/ep.h"

namespace tenon::runtime {

/// A constant with aligned data. Immutable.
class AlignedConstant {
 public:
  explicit AlignedConstant(ir::TensorPtr tensor) : tensor_(std::move(tensor)) {}
  AlignedConstant(const AlignedConstant&) = delete;
  AlignedConstant& operator=(const AlignedConstant&) = delete;

  const tenon_tensor& descriptor() const { return descriptor_; }

 private:
  friend class ConstantPool;
  ir::TensorPtr tensor_;  // owns dims, and the data unless it is copied
  std::shared_ptr<const Copy> copy_;
  MemoryCharge charge_;  // for the copy; each session pays for it
  tenon_tensor descriptor_{};
};
using ConstantPtr = std::shared_ptr<const AlignedConstant>;

/// The constants of one session. Thread-safe.
class ConstantPool {
 public:
  /// `mapped`: tensors with an origin lie in mapped files. Once their bytes are copied or consumed, their pages need not
  /// stay in memory.
  explicit ConstantPool(bool mapped = false) : mapped_(mapped) {}

  /// OUT_OF_MEMORY or LIMIT_EXCEEDED when a copy is needed and there is no memory for it.
  Result<ConstantPtr> get(const ir::TensorPtr& tensor);

  /// A program keeps its own form of the constant.
  void consumed(const AlignedConstant& constant) const;

 private:
  void release(const ir::Tensor& tensor) const;

  const bool mapped_;
  std::mutex mutex_;
  std::unordered_map<const ir::Tensor*, std::weak_ptr<const AlignedConstant>> constants_;
};

}  // namespace tenon::runtime
