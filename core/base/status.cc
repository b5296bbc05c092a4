#include "core/base/status.h"

#include <charconv>

namespace tenon {

std::string_view status_code_name(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kUnknown:
      return "UNKNOWN";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kAborted:
      return "ABORTED";
    case StatusCode::kOutOfRange:
      return "OUT_OF_RANGE";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kInternal:
      return "INTERNAL";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
    case StatusCode::kUnauthenticated:
      return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

Status::Status(StatusCode code, std::string message, ErrorKind kind) {
  if (code == StatusCode::kOk) return;
  rep_ = std::make_unique<Rep>(Rep{code, kind, std::move(message), {}, {}, {}, false, 0});
  rep_->reason_size = rep_->message.size();
}

Status Status::with_context(std::string_view place) && {
  if (rep_) {
    std::string outer(place);
    if (!rep_->where.empty()) outer.append(": ").append(rep_->where);
    rep_->where = std::move(outer);
  }
  return std::move(*this);
}

Status Status::with_note(std::string_view note) && {
  if (rep_) {
    rep_->message += note;
    if (rep_->cure_size == 0) rep_->reason_size = rep_->message.size();
  }
  return std::move(*this);
}

Status Status::with_cure(std::string_view cause, std::string_view cure) && {
  if (rep_ && rep_->cure_size == 0) {
    rep_->reason_size = rep_->message.size();
    rep_->message.append(". Cause: ").append(cause).append(". Cure: ");
    rep_->cure_begin = rep_->message.size();
    rep_->cure_size = cure.size();
    rep_->message += cure;
  }
  return std::move(*this);
}

Status Status::with_kind(ErrorKind kind) && {
  if (rep_) rep_->kind = kind;
  return std::move(*this);
}

Status Status::with_refusal(std::string_view code) && {
  if (rep_) rep_->refusal = code;
  return std::move(*this);
}

Status Status::with_instance(std::string_view id) && {
  if (rep_ && rep_->instance.empty()) rep_->instance = id;
  return std::move(*this);
}

Status Status::with_process_lost() && {
  if (rep_) rep_->process_lost = true;
  return std::move(*this);
}

std::string Status::to_string() const {
  if (ok()) return "OK";
  std::string out(status_code_name(rep_->code));
  out += ": ";
  if (!rep_->refusal.empty()) out.append(rep_->refusal).append(": ");
  if (!rep_->where.empty()) out.append(rep_->where).append(": ");
  return out += rep_->message;
}

namespace detail {

void append(std::string& out, std::string_view text) { out += text; }
void append(std::string& out, char c) { out += c; }

void append(std::string& out, long long value) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

void append(std::string& out, unsigned long long value) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

void append(std::string& out, double value) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

}  // namespace detail
}  // namespace tenon
