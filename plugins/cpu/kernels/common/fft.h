// Discrete Fourier transforms of any length, in double precision.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace tenon::cpu {

/// The tables for one length. Immutable; run() may be called by several threads, each with its own buffers.
class Fft {
 public:
  using Complex = std::complex<double>;

  explicit Fft(int64_t n);  // n > 0
  int64_t size() const { return n_; }

  /// Transforms size() elements in place: sum over k of x[k] * exp(-2 pi i j k / n), or with the opposite
  /// sign and divided by n when `inverse`. `work`: as many elements as work_size() says.
  void run(Complex* data, bool inverse, Complex* work) const;
  int64_t work_size() const { return inner_ ? inner_->n_ : 0; }

 private:
  void powers_of_two(Complex* data) const;
  void any_length(Complex* data, Complex* work) const;

  int64_t n_;
  std::vector<Complex> roots_;  // exp(-2 pi i k / n) for k < n / 2; n a power of two
  // Other lengths, after Bluestein: a convolution with a chirp, by transforms of a power of two.
  std::unique_ptr<Fft> inner_;
  std::vector<Complex> chirp_, chirp_transform_;
};

}  // namespace tenon::cpu
