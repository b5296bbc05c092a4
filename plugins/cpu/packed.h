// Constants in packed form, which all sessions of a process share.
#pragma once

#include <cstdint>
#include <memory>

#include "pages.h"

namespace tenon::cpu {

/// Floats of a constant in a form of our own, 64-byte aligned. Uninitialised at first.
class Packed {
 public:
  explicit Packed(int64_t elements)
      : elements_(elements), pages_(static_cast<uint64_t>(elements) * sizeof(float)) {}
  float* data() { return static_cast<float*>(pages_.data()); }
  const float* data() const { return static_cast<const float*>(pages_.data()); }
  int64_t elements() const { return elements_; }

 private:
  int64_t elements_;
  Pages pages_;
};

/// `made`, or what has the same bytes and was given here before, if something still uses it: then `made` may go. So a second
/// session of a model holds no weights of its own. Thread-safe. A process that was forked after the library was loaded shares nothing.
std::shared_ptr<const Packed> shared(std::shared_ptr<const Packed> made);

}  // namespace tenon::cpu
