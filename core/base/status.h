// Status: the outcome of an operation inside core and host. No exceptions, no errno, no thread-local state.
//
// A Status is one pointer wide; OK is a null pointer. A failed Status holds a canonical code (the numbers of
// tenon_status in ep.h), a message for a person, and the place of the error ("node 'conv1'", "file 'm.onnx'").
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tenon {

/// Canonical codes, with the numbers of `tenon_status` in ep.h.
enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// "INVALID_ARGUMENT" and so on; "UNKNOWN" for any other number.
std::string_view status_code_name(StatusCode code);

/// What kind of failure this is for the user of the API, finer than the canonical code.
enum class ErrorKind : int {
  kNone = 0,
  kInvalidModel,     // the model file breaks the ONNX rules
  kUnsupported,      // a valid request that no provider (or this build) can serve
  kLimitExceeded,    // a configured limit, checked before the resource is taken
  kProviderMissing,  // a provider named by config or API is not installed
  kProviderRefused,  // a provider was found and refused; `refusal()` is its stable code
  kDeviceLost,       // the device went away during work
  kOutOfMemory,      // host or device
  kCancelled,
  kDeadline,
  kInvalidInput,  // a caller's argument: name, type, shape, file
  kConfig,        // a config file or option
  kInternal,
  kOperator,  // an operator of the application failed, or broke its promises
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message, ErrorKind kind = ErrorKind::kNone);
  Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
    return *this;
  }
  Status(Status&&) = default;
  Status& operator=(Status&&) = default;

  bool ok() const { return rep_ == nullptr; }
  explicit operator bool() const { return ok(); }
  StatusCode code() const { return rep_ ? rep_->code : StatusCode::kOk; }
  ErrorKind kind() const { return rep_ ? rep_->kind : ErrorKind::kNone; }
  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : std::string_view(); }
  /// The message without the cause and cure of with_cure(), and without notes added after them.
  std::string_view reason() const { return message().substr(0, rep_ ? rep_->reason_size : 0); }
  /// The cure given to with_cure(); empty when there is none.
  std::string_view cure() const {
    return rep_ ? message().substr(rep_->cure_begin, rep_->cure_size) : std::string_view();
  }
  /// The place, outermost first: "model 'm.onnx': node 'conv1' (Conv)". Empty when unknown.
  std::string_view where() const { return rep_ ? std::string_view(rep_->where) : std::string_view(); }
  /// Stable refusal code of a provider ("E_SHA_MISMATCH"); empty for other errors.
  std::string_view refusal() const { return rep_ ? std::string_view(rep_->refusal) : std::string_view(); }
  /// The provider instance whose work failed, as in config ("cuda/gpu:0"). Empty when no instance failed.
  std::string_view instance() const { return rep_ ? std::string_view(rep_->instance) : std::string_view(); }
  /// The device is lost, and only a new process can use it again.
  bool process_lost() const { return rep_ != nullptr && rep_->process_lost; }

  /// Adds an outer place in front of `where`. No effect on OK. Use it where one layer calls another.
  Status with_context(std::string_view place) &&;
  Status with_note(std::string_view note) &&;
  /// Adds ". Cause: <cause>. Cure: <cure>" to the message: the usual cause, and what to do. Only the first call has
  /// an effect.
  Status with_cure(std::string_view cause, std::string_view cure) &&;
  Status with_kind(ErrorKind kind) &&;
  Status with_refusal(std::string_view code) &&;
  /// No effect when an instance is set already: the innermost call names the instance that failed.
  Status with_instance(std::string_view id) &&;
  Status with_process_lost() &&;

  /// "INVALID_ARGUMENT: node 'conv1': message", or "OK".
  std::string to_string() const;

 private:
  struct Rep {
    StatusCode code;
    ErrorKind kind;
    std::string message, where, refusal, instance;
    bool process_lost = false;
    size_t reason_size, cure_begin = 0, cure_size = 0;  // places in `message`
  };
  std::unique_ptr<Rep> rep_;
};

inline Status ok_status() { return Status(); }

/// Builds a message from pieces: strings, numbers and characters.
template <class... Pieces>
std::string str_cat(const Pieces&... pieces);

template <class... Pieces>
Status invalid_model(const Pieces&... pieces) {
  return Status(StatusCode::kInvalidArgument, str_cat(pieces...), ErrorKind::kInvalidModel);
}
template <class... Pieces>
Status invalid_input(const Pieces&... pieces) {
  return Status(StatusCode::kInvalidArgument, str_cat(pieces...), ErrorKind::kInvalidInput);
}
template <class... Pieces>
Status config_error(const Pieces&... pieces) {
  return Status(StatusCode::kInvalidArgument, str_cat(pieces...), ErrorKind::kConfig);
}
template <class... Pieces>
Status unsupported(const Pieces&... pieces) {
  return Status(StatusCode::kUnimplemented, str_cat(pieces...), ErrorKind::kUnsupported);
}
template <class... Pieces>
Status limit_exceeded(const Pieces&... pieces) {
  return Status(StatusCode::kResourceExhausted, str_cat(pieces...), ErrorKind::kLimitExceeded);
}
template <class... Pieces>
Status out_of_memory(const Pieces&... pieces) {
  return Status(StatusCode::kResourceExhausted, str_cat(pieces...), ErrorKind::kOutOfMemory);
}
template <class... Pieces>
Status not_found(const Pieces&... pieces) {
  return Status(StatusCode::kNotFound, str_cat(pieces...));
}
template <class... Pieces>
Status internal_error(const Pieces&... pieces) {
  return Status(StatusCode::kInternal, str_cat(pieces...), ErrorKind::kInternal);
}

namespace detail {
void append(std::string& out, std::string_view text);
void append(std::string& out, char c);
void append(std::string& out, long long value);
void append(std::string& out, unsigned long long value);
void append(std::string& out, double value);
template <class T>
void append_any(std::string& out, const T& piece) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    append(out, std::string_view(piece));
  } else if constexpr (std::is_same_v<T, char>) {
    append(out, piece);
  } else if constexpr (std::is_floating_point_v<T>) {
    append(out, static_cast<double>(piece));
  } else if constexpr (std::is_enum_v<T> || std::is_signed_v<T>) {
    append(out, static_cast<long long>(piece));
  } else {
    append(out, static_cast<unsigned long long>(piece));
  }
}
}  // namespace detail

template <class... Pieces>
std::string str_cat(const Pieces&... pieces) {
  std::string out;
  (detail::append_any(out, pieces), ...);
  return out;
}

}  // namespace tenon

#define TENON_CONCAT_INNER_(a, b) a##b
#define TENON_CONCAT_(a, b) TENON_CONCAT_INNER_(a, b)

/// Returns the Status of `expr` from the enclosing function when it failed.
#define RETURN_IF_ERROR(expr)                      \
  do {                                             \
    ::tenon::Status tenon_status_ = (expr);        \
    if (!tenon_status_.ok()) return tenon_status_; \
  } while (0)
