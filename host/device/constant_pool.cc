#include "host/device/constant_pool.h"

#include "core/base/file.h"
#include "host/device/value.h"

namespace tenon::runtime {

Result<ConstantPtr> ConstantPool::get(const ir::TensorPtr& tensor) {
  // Held while copying, so that two callers do not copy the same constant.
  const std::lock_guard lock(mutex_);
  auto& known = constants_[tensor.get()];
  // An expired tensor's address may belong to another tensor now.
  if (auto constant = known.lock(); constant != nullptr && constant->tensor_ == tensor)
    return ConstantPtr(constant);

  auto made = std::make_shared<AlignedConstant>(tensor);
  made->descriptor_ = describe(*tensor);
  if (needs_copy(*tensor)) {
    ASSIGN_OR_RETURN(made->charge_, MemoryCharge::take(tensor->byte_size()));
    made->copy_ = SharedCopies::get().copy({tensor->data(), tensor->byte_size()});
    if (made->copy_ == nullptr)
      return out_of_memory("no memory for a constant of ", tensor->byte_size(), " bytes");
    made->descriptor_.data = made->copy_->data();
    release(*tensor);
  }
  known = made;
  return ConstantPtr(std::move(made));
}

void ConstantPool::consumed(const AlignedConstant& constant) const {
  if (constant.copy_ == nullptr) release(*constant.tensor_);
}

void ConstantPool::release(const ir::Tensor& tensor) const {
  if (mapped_ && !tensor.origin().path.empty()) release_pages({tensor.data(), tensor.byte_size()});
}

}  // namespace tenon::runtime
