// Walks through decision trees, several at once, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

/// A node of a tree whose comparisons are all of one kind. A leaf is its own child.
struct FlatNode {
  float value;
  int32_t feature;   // the highest bit: NaN counts as true
  int32_t child[2];  // if the comparison is true, and if not
};

/// Takes walk i of `n` from node at[i] to its leaf, a node from `first_leaf` on. Its row begins at x + offsets[i].
using Descend = void (*)(const FlatNode* nodes, int32_t first_leaf, const float* x, const int64_t* offsets,
                         int32_t* at, int64_t n);

struct Comparisons {
  Descend less_equal, less;  // x <= value, x < value
};
struct Forests {
  Comparisons without_missing, with_missing;  // whether a node counts NaN as true
};

}  // namespace tenon::cpu::isa
