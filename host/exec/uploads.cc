#include "host/exec/uploads.h"

#include <iterator>

#include "host/device/transfer.h"

namespace tenon::runtime {

Result<UploadPtr> Uploads::get(const ir::TensorPtr& tensor, const MemoryDomain& domain,
                               ConstantPool& constants) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const Upload>& known = made_[{tensor.get(), domain.number}];
  if (UploadPtr upload = known.lock()) return upload;
  ASSIGN_OR_RETURN(const ConstantPtr constant, constants.get(tensor));
  const tenon_tensor& source = constant->descriptor();
  if (domain.max_buffer_bytes != 0 && source.byte_size > domain.max_buffer_bytes) {
    return out_of_memory("takes ", source.byte_size, " bytes, and one buffer of '", domain.name,
                         "' holds at most ", domain.max_buffer_bytes);
  }
  auto made = std::make_shared<Upload>();
  made->tensor = tensor;
  ASSIGN_OR_RETURN(made->buffer, Buffer::allocate(domain, source.byte_size));
  if (source.byte_size != 0)
    RETURN_IF_ERROR(copy(Place::of(made->buffer, 0), Place::host(source.data), source.byte_size));
  known = made;
  for (auto at = made_.begin(); at != made_.end();)
    at = at->second.expired() ? made_.erase(at) : std::next(at);
  return UploadPtr(std::move(made));
}

}  // namespace tenon::runtime
