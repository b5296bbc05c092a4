#include "constants.h"

namespace tenon::opencl {
namespace {

tenon_status make_shared_object(void* context, void** out, tenon_error* error) {
  return ep::guard(error, [&] {
    const auto& make = *static_cast<const SharedBuffer::Make*>(context);
    *out = make().release();
  });
}

void release_shared_object(void* object) { const MemHandle last(static_cast<cl_mem>(object)); }

}  // namespace

SharedBuffer::SharedBuffer(const Instance& instance, std::string key, const Make& make)
    : key_(std::move(key)) {
  if (key_.empty()) {
    own_ = make();
    memory_ = own_.get();
    return;
  }
  void* object = nullptr;
  ep::call_host(ep::host().shared, instance.host, ep::to_str(key_), &make_shared_object,
                static_cast<void*>(const_cast<Make*>(&make)), &release_shared_object, &object);
  host_ = instance.host;
  memory_ = static_cast<cl_mem>(object);
}

SharedBuffer::~SharedBuffer() {
  if (host_ != nullptr) ep::host().shared_release(host_, ep::to_str(key_));
}

void ConstantIds::identify(const ep::NodeView& node) {
  const Instance& instance = instance_of(node);
  const bool shares = instance.host != nullptr && ep::host().shared != nullptr &&
                      ep::host().shared_release != nullptr && ep::host().graph_constant_id != nullptr;
  if (instance.constants_in_place || !shares) return;
  for (int i = 0; i < node.input_count(); ++i) {
    const ep::ValueView input = node.input(i);
    if (!input.is_constant()) continue;
    const ep::Digest id = node.constant_id(input);
    ids_[input.constant().raw()->data] = hex(id);
  }
}

std::string ConstantIds::id_of(const tenon_tensor& constant) const {
  const auto found = ids_.find(constant.data);
  return found == ids_.end() ? std::string() : found->second;
}

}  // namespace tenon::opencl
