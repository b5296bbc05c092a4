#include "host/operators/call.h"

#include <algorithm>

#include "host/base/error_struct.h"

namespace tenon::operators {

using runtime::ValueRef;

Result<tenon_value*> Borrowed::wrap(const tenon_tensor& tensor, bool read_only) {
  ASSIGN_OR_RETURN(ValueRef value, runtime::wrap_tensor(tensor, nullptr, nullptr));
  value.get()->read_only = read_only;
  tenon_value* out = value.get();
  values_.push_back(std::move(value));
  return out;
}

Status Borrowed::check_given_back() const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i] || values_[i]->count.load(std::memory_order_acquire) == 1) continue;
    return Status(
        StatusCode::kFailedPrecondition,
        str_cat("the operator kept a count of its ", what_, " ", i,
                ", whose memory is gone after the call; copy it with value_copy",
                what_ == "input" ? ", or register the operator with TENON_OPERATOR_KEEPS_INPUTS" : ""),
        ErrorKind::kOperator);
  }
  return ok_status();
}

bool Borrowed::holds(const tenon_value* value) const {
  return std::any_of(values_.begin(), values_.end(),
                     [&](const ValueRef& held) { return held.get() == value; });
}

Status failed(tenon_status code, const tenon_error& error) {
  Status status = take_status(code, error, {});
  return code == TENON_RESOURCE_EXHAUSTED ? std::move(status)
                                          : std::move(status).with_kind(ErrorKind::kOperator);
}

}  // namespace tenon::operators
