// Maps as inputs: keys and values by index.
#pragma once

#include "kernels/common/shape.h"

namespace tenon::cpu {

class MapEntries {
 public:
  explicit MapEntries(const ValueRef& map) {
    require(map.kind() == TENON_KIND_MAP && map.size() == 2, TENON_INVALID_ARGUMENT, "a map was expected");
    keys_ = map.element(0);
    key_tensor_ = keys_.tensor();
    const ValueRef values = map.element(1);
    if (values.kind() == TENON_KIND_TENSOR) {
      values_.push_back(values);
    } else {  // a sequence of tensors with one element each
      for (int64_t i = 0; i < values.size(); ++i) values_.push_back(values.element(i));
    }
    for (const ValueRef& value : values_) value_tensors_.push_back(value.tensor());
    require(values_.size() == 1 || static_cast<int64_t>(values_.size()) == size(), TENON_INVALID_ARGUMENT,
            size(), " keys and ", values_.size(), " values in a map");
    for (const tenon_tensor& value : value_tensors_)
      require(TensorView(&value).size() == (values_.size() == 1 ? size() : 1) && value.dtype == value_dtype(),
              TENON_INVALID_ARGUMENT, "the values of a map do not match its keys");
  }
  MapEntries(const MapEntries&) = delete;
  MapEntries& operator=(const MapEntries&) = delete;

  int64_t size() const { return keys().size(); }
  TensorView keys() const { return TensorView(&key_tensor_); }
  uint32_t value_dtype() const {
    return value_tensors_.empty() ? uint32_t{TENON_UNDEFINED} : value_tensors_[0].dtype;
  }
  std::string_view string_value(int64_t i) const { return at(i).string(offset(i)); }
  template <class T>
  T value(int64_t i) const {
    return at(i).data<T>()[offset(i)];
  }

 private:
  TensorView at(int64_t i) const {
    return TensorView(&value_tensors_[value_tensors_.size() == 1 ? 0 : static_cast<size_t>(i)]);
  }
  int64_t offset(int64_t i) const { return value_tensors_.size() == 1 ? i : 0; }

  ValueRef keys_;
  tenon_tensor key_tensor_{};
  std::vector<ValueRef> values_;
  std::vector<tenon_tensor> value_tensors_;
};

}  // namespace tenon::cpu
