// Passes failures through ONNX's code, which reports them by exceptions. Internal to core/ops.
#pragma once

#include <exception>

#include "core/base/status.h"

namespace tenon::ops {

class StatusException : public std::exception {
 public:
  explicit StatusException(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return "status"; }

 private:
  Status status_;
};

/// The Status that the exception carries; otherwise INVALID_MODEL with ONNX's message without its prefix.
Status status_of(const std::exception& error);

}  // namespace tenon::ops
