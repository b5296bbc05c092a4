// Drivers whose threads a fork does not copy. In a child of fork any call of such a driver may block for ever.
#ifndef TENON_EP_DEVICE_OWN_PROCESS_HPP_
#define TENON_EP_DEVICE_OWN_PROCESS_HPP_

#if !defined(_WIN32)
#include <unistd.h>
#endif

#include <atomic>

#include "tenon/ep/error.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// The process in which a driver is used. One object per driver, for the life of the library. Thread-safe.
class OwnProcess {
 public:
  /// `api`: its name, such as "OpenCL".
  explicit constexpr OwnProcess(const char* api) : api_(api) {}

  /// Call it before the first use of the driver. Throws as require().
  void claim() {
    int64_t nobody = 0;
    owner_.compare_exchange_strong(nobody, current());
    require();
  }
  /// Whether this process was forked from one that had used the driver.
  bool is_forked() const {
    const int64_t owner = owner_.load(std::memory_order_relaxed);
    return owner != 0 && owner != current();
  }
  /// Throws UNAVAILABLE with DEVICE_LOST and PROCESS_LOST if is_forked().
  void require() const {
    if (!is_forked()) return;
    throw Error{TENON_UNAVAILABLE,
                cat("this process was forked from process ", owner_.load(), ", which had used ", api_,
                    " and whose driver threads do not exist here; start a new process (exec), or fork before "
                    "the first use of ",
                    api_),
                TENON_ERROR_DEVICE_LOST | TENON_ERROR_PROCESS_LOST};
  }

  /// A number that a child of fork does not share with its parent.
  static int64_t current() {
#if defined(_WIN32)
    return 1;  // there is no fork
#else
    return getpid();
#endif
  }

 private:
  const char* const api_;
  std::atomic<int64_t> owner_{0};
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OWN_PROCESS_HPP_
