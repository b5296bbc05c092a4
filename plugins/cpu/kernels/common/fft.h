// Discrete Fourier transforms of any length, in double precision.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace tenon::cpu {

/// Throws when the work was cancelled. An empty Look does nothing.
struct Look {
  const void* context = nullptr;
  void (*check)(const void* context) = nullptr;

  template <class C>
  static Look at(const C& context) {
    return {&context, [](const void* c) { static_cast<const C*>(c)->check_cancelled(); }};
  }
  void operator()() const {
    if (check != nullptr) check(context);
  }
};

/// The tables for one length. Immutable: threads may share it, each with its own buffers.
class Fft {
 public:
  using Complex = std::complex<double>;

  explicit Fft(int64_t n, Look look = {});  // n > 0
  /// Number of elements in the tables for `n`, for n < 2^60.
  static int64_t table_size(int64_t n);
  int64_t size() const { return n_; }

  /// Transforms size() elements in place: the sum over k of x[k] * exp(-2 pi i j k / n). When `inverse`, the
  /// sign is opposite and the result is divided by n. `work` has work_size() elements.
  void run(Complex* data, bool inverse, Complex* work, Look look = {}) const;
  int64_t work_size() const { return inner_ ? inner_->n_ : 0; }

 private:
  void powers_of_two(Complex* data, Look look) const;
  void any_length(Complex* data, Complex* work, Look look) const;

  int64_t n_;
  std::vector<Complex> roots_;  // exp(-2 pi i k / n) for k < n / 2; n a power of two
  // Other lengths use Bluestein's algorithm: convolution with a chirp, by powers of two.
  std::unique_ptr<Fft> inner_;
  std::vector<Complex> chirp_, chirp_transform_;
};

}  // namespace tenon::cpu
