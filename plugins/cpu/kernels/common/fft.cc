#include "kernels/common/fft.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tenon::cpu {
namespace {

using Complex = Fft::Complex;

constexpr double kPi = 3.14159265358979323846;

Complex turn(double angle) { return {std::cos(angle), std::sin(angle)}; }

constexpr size_t kBetweenLooks = 1 << 20;

// Skips the checks for infinities that operator* makes.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

int64_t Fft::table_size(int64_t n) {
  const auto length = static_cast<uint64_t>(n);
  if (std::has_single_bit(length)) return n / 2;
  const auto inner = static_cast<int64_t>(std::bit_ceil(2 * length - 1));
  return inner / 2 + n + inner;
}

Fft::Fft(int64_t n, Look look) : n_(n) {
  const auto length = static_cast<size_t>(n);
  if (std::has_single_bit(length)) {
    roots_.reserve(length / 2);
    for (size_t k = 0; k < length / 2; ++k) {
      if (k % kBetweenLooks == 0) look();
      roots_.push_back(turn(-2 * kPi * static_cast<double>(k) / static_cast<double>(n)));
    }
    return;
  }
  inner_ = std::make_unique<Fft>(static_cast<int64_t>(std::bit_ceil(2 * length - 1)), look);
  chirp_transform_.assign(static_cast<size_t>(inner_->size()), 0);
  chirp_.reserve(length);
  size_t square = 0;  // k * k modulo 2n keeps the angle small and exact
  for (size_t k = 0; k < length; ++k) {
    if (k % kBetweenLooks == 0) look();
    const double angle = kPi * static_cast<double>(square) / static_cast<double>(n);
    square = (square + 2 * k + 1) % (2 * length);
    chirp_.push_back(turn(-angle));
    chirp_transform_[k] = turn(angle);
    if (k > 0) chirp_transform_[chirp_transform_.size() - k] = turn(angle);
  }
  inner_->powers_of_two(chirp_transform_.data(), look);
}

void Fft::run(Complex* data, bool inverse, Complex* work, Look look) const {
  const auto conjugate = [&](double scale) {
    for (int64_t i = 0; i < n_; ++i) data[i] = std::conj(data[i]) * scale;
  };
  look();
  if (inverse) conjugate(1);
  if (inner_)
    any_length(data, work, look);
  else
    powers_of_two(data, look);
  if (inverse) conjugate(1 / static_cast<double>(n_));
}

void Fft::powers_of_two(Complex* data, Look look) const {
  const auto n = static_cast<size_t>(n_);
  for (size_t i = 1, j = 0; i < n; ++i) {  // bit-reversed order
    size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j |= bit;
    if (i < j) std::swap(data[i], data[j]);
    if (i % kBetweenLooks == 0) look();
  }
  for (size_t half = 1; half < n; half *= 2) {
    const size_t step = n / (2 * half);
    size_t done = 0;
    for (size_t first = 0; first < n; first += 2 * half) {
      if ((done += half) >= kBetweenLooks) look(), done = 0;
      for (size_t k = 0; k < half; ++k) {
        const Complex odd = times(data[first + half + k], roots_[k * step]);
        data[first + half + k] = data[first + k] - odd;
        data[first + k] += odd;
      }
    }
  }
}

void Fft::any_length(Complex* data, Complex* work, Look look) const {
  const auto n = static_cast<size_t>(n_), m = static_cast<size_t>(inner_->size());
  std::fill_n(work, m, Complex());
  for (size_t k = 0; k < n; ++k) work[k] = times(data[k], chirp_[k]);
  inner_->powers_of_two(work, look);
  for (size_t k = 0; k < m; ++k) work[k] = std::conj(times(work[k], chirp_transform_[k]));
  inner_->powers_of_two(work, look);
  for (size_t k = 0; k < n; ++k) data[k] = times(std::conj(work[k]) / static_cast<double>(m), chirp_[k]);
}

}  // namespace tenon::cpu
