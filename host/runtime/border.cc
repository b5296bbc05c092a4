#include "host/runtime/border.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace tenon::runtime {
namespace {

void copy_text(char* to, size_t room, std::string_view text) {
  const size_t n = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

/// What a fixed array of a provider holds, terminated or not.
std::string_view text_in(const char* text, size_t room) { return {text, strnlen(text, room)}; }

ErrorKind kind_of(tenon_status code, uint32_t flags) {
  if ((flags & (TENON_ERROR_DEVICE_LOST | TENON_ERROR_PROCESS_LOST)) != 0) return ErrorKind::kDeviceLost;
  switch (code) {
    case TENON_CANCELLED:
      return ErrorKind::kCancelled;
    case TENON_DEADLINE_EXCEEDED:
      return ErrorKind::kDeadline;
    case TENON_RESOURCE_EXHAUSTED:
      return ErrorKind::kOutOfMemory;
    case TENON_UNIMPLEMENTED:
      return ErrorKind::kUnsupported;
    case TENON_INVALID_ARGUMENT:
    case TENON_OUT_OF_RANGE:
      return ErrorKind::kInvalidInput;
    default:
      return ErrorKind::kInternal;
  }
}

}  // namespace

tenon_error make_error() {
  tenon_error error;
  error.struct_size = sizeof(error);
  error.code = TENON_OK;
  error.flags = 0;
  error.reserved = 0;
  error.where[0] = error.message[0] = '\0';
  return error;
}

tenon_status give_status(const Status& status, tenon_error* error) {
  const auto code = static_cast<tenon_status>(status.code());
  if (status.ok() || error == nullptr || error->struct_size < offsetof(tenon_error, where)) return code;
  error->code = code;
  error->flags = status.kind() == ErrorKind::kDeviceLost ? TENON_ERROR_DEVICE_LOST : 0;
  if (status.process_lost()) error->flags |= TENON_ERROR_PROCESS_LOST;
  error->reserved = static_cast<uint32_t>(status.kind());
  if (error->struct_size >= offsetof(tenon_error, message)) {
    copy_text(error->where, sizeof(error->where), status.where());
  }
  if (error->struct_size >= sizeof(tenon_error)) {
    const std::string refusal(status.refusal());
    const std::string text = (refusal.empty() ? refusal : refusal + ": ") + std::string(status.message());
    copy_text(error->message, sizeof(error->message), text);
  }
  return code;
}

Status take_status(tenon_status code, const tenon_error& error, std::string_view label) {
  if (code == TENON_OK) return ok_status();
  const bool known = code > TENON_OK && code <= TENON_UNAUTHENTICATED;
  std::string message(text_in(error.message, sizeof(error.message)));
  if (message.empty()) message = str_cat("failed with ", status_code_name(static_cast<StatusCode>(code)));
  Status status(known ? static_cast<StatusCode>(code) : StatusCode::kUnknown, std::move(message),
                kind_of(code, error.flags));
  if ((error.flags & TENON_ERROR_PROCESS_LOST) != 0) status = std::move(status).with_process_lost();
  const std::string_view where = text_in(error.where, sizeof(error.where));
  if (!where.empty()) status = std::move(status).with_context(where);
  return label.empty() ? status : std::move(status).with_context(label);
}

}  // namespace tenon::runtime
