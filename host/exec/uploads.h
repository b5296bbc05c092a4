// Constants in memory of devices: values that are known when a plan is made and that a device reads. Each is uploaded
// once, when the first plan that needs it is made, and freed with the last.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/base/result.h"
#include "core/ir/tensor.h"
#include "host/device/constant_pool.h"
#include "host/device/device.h"

namespace tenon::runtime {

/// A constant in one memory domain. Immutable.
struct Upload {
  Buffer buffer;         // empty for a constant without elements
  ir::TensorPtr tensor;  // kept, so that no other tensor gets its address
};
using UploadPtr = std::shared_ptr<const Upload>;

/// The uploads of one executable. Thread-safe.
class Uploads {
 public:
  /// The numeric `tensor` in `domain`, which is not the host's. `constants` gives its bytes. Finished on return. Errors
  /// of the device name it; OUT_OF_MEMORY and LIMIT_EXCEEDED when there is no memory.
  Result<UploadPtr> get(const ir::TensorPtr& tensor, const MemoryDomain& domain, ConstantPool& constants);

 private:
  // Held while a constant is uploaded, so that two plans do not upload it twice. Nothing that is called meanwhile takes
  // it: freed frames and plans only drop their references.
  std::mutex mutex_;
  std::map<std::pair<const ir::Tensor*, uint32_t>, std::weak_ptr<const Upload>>
      made_;  // by MemoryDomain::number
};

}  // namespace tenon::runtime
