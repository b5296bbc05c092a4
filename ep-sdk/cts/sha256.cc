#include "ep-sdk/cts/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tenon::cts {
namespace {

using Words = std::array<uint32_t, 8>;

/// The first 32 bits of the fractional part of `root`.
uint32_t fraction(long double root) {
  return static_cast<uint32_t>((root - std::floor(root)) * 4294967296.0L);
}

/// The constants come from primes: square roots for the initial state, cube roots for the rounds.
struct Constants {
  Words start{};
  std::array<uint32_t, 64> rounds{};

  Constants() {
    size_t found = 0;
    for (uint32_t n = 2; found < 64; ++n) {
      bool prime = true;
      for (uint32_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
      if (!prime) continue;
      if (found < 8) start[found] = fraction(std::sqrt(static_cast<long double>(n)));
      rounds[found++] = fraction(std::cbrt(static_cast<long double>(n)));
    }
  }
};

const Constants& constants() {
  static const Constants out;
  return out;
}

void add_block(const unsigned char* block, Words& state) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) {
    const unsigned char* p = block + 4 * i;
    w[i] = uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + constants().rounds[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const Words sums = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += sums[i];
}

}  // namespace

std::array<uint8_t, 32> sha256_bytes(std::string_view bytes) {
  Words state = constants().start;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const size_t whole = bytes.size() / 64 * 64;
  for (size_t at = 0; at < whole; at += 64) add_block(data + at, state);

  std::string rest(bytes.substr(whole));
  rest += '\x80';
  while (rest.size() % 64 != 56) rest += '\0';
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) rest += static_cast<char>(bits >> shift);
  for (size_t at = 0; at < rest.size(); at += 64)
    add_block(reinterpret_cast<const unsigned char*>(rest.data()) + at, state);

  std::array<uint8_t, 32> out{};
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(state[i / 4] >> (24 - i % 4 * 8));
  return out;
}

std::string sha256(std::string_view bytes) {
  std::string out;
  for (const uint8_t byte : sha256_bytes(bytes)) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace tenon::cts
