// Objects of an instance that sessions share through the host, such as constants on the device.
#ifndef TENON_EP_DEVICE_SHARED_OBJECT_HPP_
#define TENON_EP_DEVICE_SHARED_OBJECT_HPP_

#include <functional>
#include <string>
#include <unordered_map>

#include "tenon/ep/device/names.hpp"
#include "tenon/ep/graph.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// An object that is made once per device, options and key in the process, or that this one owns alone if the key is
/// empty or the host shares nothing. `kRelease` ends it. Thread-safe.
template <class T, void (*kRelease)(T*)>
class SharedObject {
 public:
  using Make = std::function<T*()>;

  SharedObject(const InstanceSettings& instance, std::string key, const Make& make) : key_(std::move(key)) {
    if (key_.empty() || instance.host == nullptr || host().shared == nullptr ||
        host().shared_release == nullptr) {
      object_ = make();
      return;
    }
    void* made = nullptr;
    call_host(host().shared, instance.host, to_str(key_), &make_one,
              static_cast<void*>(const_cast<Make*>(&make)), &release_one, &made);
    host_ = instance.host;
    object_ = static_cast<T*>(made);
  }
  ~SharedObject() {
    if (host_ != nullptr) {
      host().shared_release(host_, to_str(key_));
    } else {
      kRelease(object_);
    }
  }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  T* get() const { return object_; }

 private:
  static tenon_status make_one(void* context, void** out, tenon_error* error) {
    return guard(error, [&] { *out = (*static_cast<const Make*>(context))(); });
  }
  static void release_one(void* object) { kRelease(static_cast<T*>(object)); }

  tenon_host_instance* host_ = nullptr;  // set if the host owns the object
  std::string key_;
  T* object_ = nullptr;
};

/// The ids of the constants of one node. Filled in compile, then thread-safe.
class ConstantIds {
 public:
  /// Identifies the constant inputs of the node, unless the host cannot.
  void identify(const NodeView& node) {
    if (host().graph_constant_id == nullptr) return;
    for (int i = 0; i < node.input_count(); ++i) {
      const ValueView input = node.input(i);
      if (input.is_constant()) ids_[input.constant().raw()->data] = hex(node.constant_id(input));
    }
  }
  /// Names the content of a constant, in every process; empty if it was not identified.
  std::string id_of(const tenon_tensor& constant) const {
    const auto found = ids_.find(constant.data);
    return found == ids_.end() ? std::string() : found->second;
  }

 private:
  std::unordered_map<const void*, std::string> ids_;  // by the address of the data
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_SHARED_OBJECT_HPP_
