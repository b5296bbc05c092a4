// Random numbers. With a seed, every Run draws NumPy's numbers for that seed, like ONNX's reference. Without,
// each Run of each node draws others.
#pragma once

#include <atomic>
#include <cmath>
#include <random>

#include "tenon/ep.hpp"

namespace tenon::cpu {

class RandomStream {
 public:
  explicit RandomStream(uint32_t seed) : engine_(seed) {}

  /// Uniform in [0, 1), from 53 random bits.
  double uniform() {
    const uint64_t high = engine_() >> 5, low = engine_() >> 6;
    return static_cast<double>(high * 67108864 + low) / 9007199254740992.0;
  }
  /// Normal with mean 0 and deviation 1, by the polar method.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    spare_ = factor * x;
    has_spare_ = true;
    return factor * y;
  }

 private:
  std::mt19937 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Attribute `seed`, or a mix of the output's name and the number of Runs so far.
class RandomSeed {
 public:
  explicit RandomSeed(const ep::NodeView& n) : given_(n.has_attr("seed")) {
    if (given_) {
      const float seed = n.attr_f("seed");
      ep::require(std::fabs(seed) < 9e18f, TENON_INVALID_ARGUMENT, "seed is ", seed);
      seed_ = static_cast<uint32_t>(static_cast<int64_t>(seed));
      return;
    }
    seed_ = 2166136261u;
    for (const char c : n.output(0).name()) seed_ = (seed_ ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  RandomStream stream() const {
    if (given_) return RandomStream(seed_);
    return RandomStream(seed_ + runs_.fetch_add(1, std::memory_order_relaxed) * 2654435761u);
  }

 private:
  bool given_;
  uint32_t seed_ = 0;
  mutable std::atomic<uint32_t> runs_{0};
};

}  // namespace tenon::cpu
