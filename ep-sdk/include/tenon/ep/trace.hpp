// The clock of times at the border, and spans inside a claim.
#ifndef TENON_EP_TRACE_HPP_
#define TENON_EP_TRACE_HPP_

#include <chrono>

#include "tenon/ep/error.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// Now, on the clock of tenon_time_span.
inline uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// A span inside a claim, from here to the end of the scope, in the trace of the Run. Reads the clock only if the Run is
/// traced. `name` is borrowed and not empty. `run` may be NULL.
class TraceSpan {
 public:
  TraceSpan(tenon_run* run, std::string_view name) : run_(run), name_(name) {
    if (host().trace != nullptr && host().trace(run, {"", 0}, 0, 0) != 0) begin_ns_ = now_ns();
  }
  ~TraceSpan() {
    if (begin_ns_ != 0) host().trace(run_, to_str(name_), begin_ns_, now_ns());
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  tenon_run* run_;
  std::string_view name_;
  uint64_t begin_ns_ = 0;  // 0: not traced
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_TRACE_HPP_
