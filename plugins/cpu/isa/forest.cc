#include "isa/forest.h"

#include "isa/parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

constexpr int64_t kWalks = 16;  // at once: their loads do not wait for each other
constexpr int kLevels = 3;      // between looks whether all have ended

template <bool kOrEqual>
inline void step(const FlatNode* nodes, const float* x, const int64_t* offsets, int32_t* at, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const FlatNode& node = nodes[at[i]];
    const float value = x[offsets[i] + (node.feature & 0x7FFFFFFF)];
    const bool below = kOrEqual ? value <= node.value : value < node.value;
    const bool is_true = below | ((value != value) & (node.feature < 0));
    at[i] = node.child[is_true ? 0 : 1];
  }
}

template <bool kOrEqual>
void descend(const FlatNode* nodes, int32_t first_leaf, const float* x, const int64_t* offsets, int32_t* at,
             int64_t n) {
  for (int64_t first = 0; first < n; first += kWalks, at += kWalks, offsets += kWalks) {
    const int64_t walks = n - first < kWalks ? n - first : kWalks;
    bool open = true;
    while (open) {
      for (int level = 0; level < kLevels; ++level) {
        if (walks == kWalks) {
          step<kOrEqual>(nodes, x, offsets, at, kWalks);
        } else {
          step<kOrEqual>(nodes, x, offsets, at, walks);
        }
      }
      open = false;
      for (int64_t i = 0; i < walks; ++i) open |= at[i] < first_leaf;
    }
  }
}

}  // namespace

void fill_forest(Table& table) {
  static const Forests kForests = {descend<true>, descend<false>};
  table.forest = &kForests;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
