#include "host/base/error_struct.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tenon {
namespace {

/// The size of an error up to its last text; a later minor of the ABI may append fields.
constexpr size_t kWithMessage = offsetof(tenon_error, message) + sizeof(tenon_error::message);

/// The longest prefix of `text` that has at most `room` bytes and ends at a UTF-8 character boundary.
std::string_view whole_characters(std::string_view text, size_t room) {
  if (text.size() <= room) return text;
  while (room > 0 && (static_cast<unsigned char>(text[room]) & 0xC0) == 0x80) --room;
  return text.substr(0, room);
}

/// The shortest rest of `text` that has at most `room` bytes and begins at a UTF-8 character boundary.
std::string_view whole_rest(std::string_view text, size_t room) {
  size_t begin = text.size() - std::min(room, text.size());
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return text.substr(begin);
}

/// A text for a struct: `pieces`, and `tail`, of which nothing is left out if possible. The pieces get half of the room.
struct Pieces {
  std::initializer_list<std::string_view> pieces;
  std::string_view tail;
};

/// Writes the text and terminates it. Of one that does not fit the end of the pieces is left out, and then the begin of
/// the tail; a mark with the full length in bytes stands there.
template <size_t kRoom>
void copy_text(char (&to)[kRoom], const Pieces& text) {
  char mark[48] = "";
  size_t total = 0;
  for (const std::string_view piece : text.pieces) total += piece.size();
  const size_t begin = std::min(total, kRoom / 2);
  total += text.tail.size();
  size_t room = kRoom - 1;
  if (total > room) {
    const char* const before_rest = text.tail.size() > room - sizeof(mark) - begin ? " ..." : "";
    room -= static_cast<size_t>(
        std::snprintf(mark, sizeof(mark), "... [cut: %zu bytes in all]%s", total, before_rest));
  }
  const std::string_view tail = whole_rest(text.tail, total > kRoom - 1 ? room - begin : room);
  room -= tail.size();
  char* at = to;
  for (const std::string_view piece : text.pieces) {
    const std::string_view fits = whole_characters(piece, room);
    at = std::copy(fits.begin(), fits.end(), at);
    room -= fits.size();
    if (fits.size() < piece.size()) break;
  }
  at = std::copy_n(mark, std::strlen(mark), at);
  *std::copy(tail.begin(), tail.end(), at) = '\0';
}

/// The text of a fixed array that a provider filled; it may lack the terminator.
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
  error.kind = 0;
  error.where[0] = error.message[0] = '\0';
  return error;
}

tenon_status give_status(const Status& status, tenon_error* error) {
  const auto code = static_cast<tenon_status>(status.code());
  if (status.ok() || error == nullptr || error->struct_size < offsetof(tenon_error, where)) return code;
  error->code = code;
  error->flags = status.kind() == ErrorKind::kDeviceLost ? TENON_ERROR_DEVICE_LOST : 0;
  if (status.process_lost()) error->flags |= TENON_ERROR_PROCESS_LOST;
  error->kind = static_cast<uint32_t>(status.kind());
  if (error->struct_size >= offsetof(tenon_error, message)) {
    // The outermost place is the file, and the innermost ones tell most.
    const std::string_view file = whole_characters(status.where(), sizeof(error->where) / 2);
    copy_text(error->where, {{file}, std::string_view(status.where()).substr(file.size())});
  }
  if (error->struct_size >= kWithMessage) {
    const std::string_view between = status.refusal().empty() ? "" : ": ";
    const std::string_view reason = status.cure().empty() ? status.message() : status.reason();
    copy_text(error->message, {{status.refusal(), between, reason}, status.message().substr(reason.size())});
  }
  return code;
}

void copy_error(const tenon_error& from, tenon_error* to) noexcept {
  if (to == nullptr || to->struct_size < offsetof(tenon_error, where)) return;
  const uint32_t size = to->struct_size;
  size_t whole = offsetof(tenon_error, where);
  if (size >= offsetof(tenon_error, message)) whole = offsetof(tenon_error, message);
  if (size >= sizeof(tenon_error)) whole = sizeof(tenon_error);
  std::memcpy(to, &from, whole);
  to->struct_size = size;
}

tenon_status give_plain(StatusCode code, ErrorKind kind, const char* message, tenon_error* error) noexcept {
  const auto number = static_cast<tenon_status>(code);
  if (error == nullptr || error->struct_size < offsetof(tenon_error, where)) return number;
  error->code = number;
  error->flags = 0;
  error->kind = static_cast<uint32_t>(kind);
  if (error->struct_size >= offsetof(tenon_error, message)) error->where[0] = '\0';
  if (error->struct_size >= kWithMessage) copy_text(error->message, {{message}, {}});
  return number;
}

Status take_status(tenon_status code, const tenon_error& error, std::string_view label, bool own) {
  if (code == TENON_OK) return ok_status();
  const bool known = code > TENON_OK && code <= TENON_UNAUTHENTICATED;
  std::string message(text_in(error.message, sizeof(error.message)));
  if (message.empty()) message = str_cat("failed with ", status_code_name(static_cast<StatusCode>(code)));
  Status status(known ? static_cast<StatusCode>(code) : StatusCode::kUnknown, std::move(message),
                own && error.kind != 0 ? static_cast<ErrorKind>(error.kind) : kind_of(code, error.flags));
  if ((error.flags & TENON_ERROR_PROCESS_LOST) != 0) status = std::move(status).with_process_lost();
  const std::string_view where = text_in(error.where, sizeof(error.where));
  if (!where.empty()) status = std::move(status).with_context(where);
  return label.empty() ? status : std::move(status).with_context(label);
}

}  // namespace tenon
