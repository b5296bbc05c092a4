// Bounds on the magnitude of the elements of values. They follow from the weights, and from checks during the
// run where the weights say too little.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "compiler/builder.h"
#include "openmp/parallel.h"

namespace tenon::onednn {
namespace {

/// The greatest magnitude that a check accepts. Networks stay far below it, and a dozen layers with such
/// inputs still give finite numbers.
constexpr float kChecked = 0x1p32f;
/// The greatest bound that counts as safely finite. It leaves room for the sums inside a layer: Winograd's
/// transforms multiply them by up to 2^15.
constexpr double kTame = 0x1p108;
constexpr int64_t kGrain = 65536;

/// Whether all magnitudes are at most kChecked, without NaN. Floats without sign bit order as integers.
bool are_small(const float* x, int64_t n) {
  constexpr auto kLimit = std::bit_cast<int32_t>(kChecked);
  int32_t greater = 0;
  for (int64_t i = 0; i < n; ++i) greater |= (std::bit_cast<int32_t>(x[i]) & 0x7fffffff) > kLimit ? 1 : 0;
  return greater == 0;
}

}  // namespace

double Builder::bound(uint32_t value) const {
  return is_constant(value) ? program_.magnitudes(value).greatest : bounds_[value];
}

double Builder::least(uint32_t value) const {
  if (!is_constant(value) || program_.values()[value].dtype != TENON_FLOAT32) return 0;
  double out = kUnbounded;
  for (const float x : constant<float>(value))
    out = std::min(out, double{std::fabs(x)});  // bound() detects NaN
  return out;
}

double Builder::row_bound(uint32_t value) const {
  return is_constant(value) ? program_.magnitudes(value).row : kUnbounded;
}

/// Computes the bounds of a node's outputs. With an input that may be NaN there are none, since NaN spreads.
void Builder::learn(uint32_t number) {
  if (!checked_) return;
  const Node& node = program_.nodes()[number];
  const auto may_be_nan = [&](uint32_t v) {
    return v != kNone && program_.values()[v].dtype == TENON_FLOAT32 && !is_tame(v);
  };
  const bool unknown = std::any_of(node.inputs.begin(), node.inputs.end(), may_be_nan);
  const double bound = unknown ? kUnbounded : node.operation->bound(*this, node);
  for (const uint32_t v : node.outputs) {
    if (v != kNone) bounds_[v] = bound;
  }
}

bool Builder::is_tame(uint32_t value) const {
  return instance().relaxed || (checked_ && bound(value) <= kTame);
}

bool Builder::tame(uint32_t value) {
  if (is_tame(value)) return true;
  if (!checked_ || is_constant(value)) return false;
  if (tensors_[value].buffer != kNone) return check_in_run(value);
  const uint32_t maker = makers_[value];
  for (const uint32_t input : program_.nodes()[maker].inputs) {
    if (input == kNone || is_constant(input) || bounds_[input] <= kChecked) continue;
    const bool made = tensors_[input].buffer != kNone;
    if (!(made ? check_in_run(input) : tame(input))) return false;
  }
  learn(maker);
  return is_tame(value);
}

bool Builder::check_in_run(uint32_t value) {
  const Tensor x = kept(value);
  if (x.layout.type() != Type::kFloat32 || x.layout.has_gaps()) return false;
  Task task;
  touch(x.buffer);
  task.arguments.push_back({0, x.buffer});
  task.probe =
      [n = static_cast<int64_t>(x.layout.bytes() / sizeof(float))](std::span<void* const> addresses) {
        const auto* numbers = static_cast<const float*>(addresses[0]);
        std::atomic<bool> small{true};
        parallel(n, kGrain, [&](int64_t begin, int64_t end) {
          if (!are_small(numbers + begin, end - begin)) small.store(false, std::memory_order_relaxed);
        });
        return small.load(std::memory_order_relaxed);
      };
  recipe_->tasks.push_back(std::move(task));
  recipe_->checked = true;
  bounds_[value] = kChecked;
  return true;
}

}  // namespace tenon::onednn
