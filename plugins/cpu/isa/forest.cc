#include "isa/forest.h"

#include "isa/parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

constexpr int kWalks = 8;   // at once, in registers: their loads do not wait for each other
constexpr int kLevels = 3;  // between looks whether all have ended

/// The node after `at`. Without kMissing no node counts NaN as true.
template <bool kOrEqual, bool kMissing>
inline int32_t step(const FlatNode* nodes, const float* row, int32_t at) {
  const FlatNode& node = nodes[at];
  if constexpr (kMissing) {
    const float value = row[node.feature & 0x7FFFFFFF];
    const bool below = kOrEqual ? value <= node.value : value < node.value;
    return node.child[below | ((value != value) & (node.feature < 0)) ? 0 : 1];
  } else {
    const float value = row[node.feature];
    return node.child[(kOrEqual ? value <= node.value : value < node.value) ? 0 : 1];
  }
}

/// The next kWalks walks.
template <bool kOrEqual, bool kMissing>
inline void descend_together(const FlatNode* nodes, int32_t first_leaf, const float* x,
                             const int64_t* offsets, int32_t* at) {
  int32_t now[kWalks];
#pragma GCC unroll 8
  for (int i = 0; i < kWalks; ++i) now[i] = at[i];
  int32_t least = 0;
  do {
    for (int level = 0; level < kLevels; ++level) {
#pragma GCC unroll 8
      for (int i = 0; i < kWalks; ++i) now[i] = step<kOrEqual, kMissing>(nodes, x + offsets[i], now[i]);
    }
    least = now[0];
#pragma GCC unroll 8
    for (int i = 1; i < kWalks; ++i) least = now[i] < least ? now[i] : least;
  } while (least < first_leaf);
#pragma GCC unroll 8
  for (int i = 0; i < kWalks; ++i) at[i] = now[i];
}

template <bool kOrEqual, bool kMissing>
void descend(const FlatNode* nodes, int32_t first_leaf, const float* x, const int64_t* offsets, int32_t* at,
             int64_t n) {
  int64_t i = 0;
  for (; i + kWalks <= n; i += kWalks)
    descend_together<kOrEqual, kMissing>(nodes, first_leaf, x, offsets + i, at + i);
  for (; i < n; ++i) {
    while (at[i] < first_leaf) at[i] = step<kOrEqual, kMissing>(nodes, x + offsets[i], at[i]);
  }
}

}  // namespace

void fill_forest(Table& table) {
  static const Forests kForests = {{descend<true, false>, descend<false, false>},
                                   {descend<true, true>, descend<false, true>}};
  table.forest = &kForests;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
