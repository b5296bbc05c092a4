// How failures pass through ONNX's code, which knows only exceptions. Internal to core/ops.
#pragma once

#include <exception>

#include "core/base/status.h"

namespace tenon::ops {

/// Carries a Status.
class StatusException : public std::exception {
 public:
  explicit StatusException(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return "status"; }

 private:
  Status status_;
};

/// What an exception carries, or INVALID_MODEL with ONNX's words for it, without their prefixes.
Status status_of(const std::exception& error);

}  // namespace tenon::ops
