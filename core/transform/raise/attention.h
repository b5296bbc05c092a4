// What the files of the rule for Attention share. Internal to core/transform/raise.
#pragma once

#include <array>

#include "core/transform/raise/raise.h"

namespace tenon::transform {

/// Of a tensor of rank 4.
using FourDims = std::array<ir::Dim, 4>;

/// Whether both are certainly the same number.
bool is_same(const ir::Dim& a, const ir::Dim& b);
/// The dimensions of a tensor of rank 4; nothing for others.
std::optional<FourDims> four_dims(const ir::Graph& graph, ir::ValueId value);

// ---- Queries, keys and values (attention_heads.cc) ----

/// The queries, keys or values of all heads.
struct HeadInput {
  FourDims dims;                 // batch, heads, length, size
  ir::ValueId four = ir::kNone;  // the tensor of these dimensions; kNone when no value of the graph holds it
  /// [batch, length, heads * size], from which the nodes in `split` make what the product reads; kNone when there is none.
  ir::ValueId three = ir::kNone;
  std::vector<ir::NodeId> nodes;  // from `four` to the product
  /// The shape in which Attention reads `three`, as Reshape takes it. Empty: as it is.
  std::vector<int64_t> view;
  std::vector<ir::NodeId> split;  // from `three` to `four`, or to what `nodes` read
};

/// Steps back from a value over products and quotients by numbers, of which `scale` gets the product. Stops at a value
/// that others read as well.
ir::ValueId without_numbers(const ir::Graph& graph, ir::ValueId value, double* scale,
                            std::vector<ir::NodeId>* nodes);
/// Queries or values; nothing when `value` does not have rank 4.
std::optional<HeadInput> find_heads(const ir::Graph& graph, ir::ValueId value);
/// Keys, of which `value` holds the transposed matrices. Numbers that multiply them go into `scale`.
std::optional<HeadInput> find_keys(const ir::Graph& graph, ir::ValueId value, double* scale);

/// Keys or values before each of their heads was repeated for a group of queries; nothing when they were not.
std::optional<HeadInput> find_unrepeated(const ir::Graph& graph, const HeadInput& repeated);

/// [batch, queries, heads * size] made of [batch, heads, queries, size]; kNone when there is none.
struct Joined {
  ir::ValueId value = ir::kNone;
  std::vector<int64_t> view;  // the shape of `value` that is meant; empty: its own
  std::vector<ir::NodeId> nodes;
};
Joined find_joined(const ir::Graph& graph, ir::ValueId four);

// ---- Masks (attention_mask.cc) ----

/// What excludes keys.
struct AttentionMask {
  ir::ValueId scores = ir::kNone;  // before the mask
  ir::ValueId value = ir::kNone;   // kNone: there is none
  /// The score of excluded keys, where `value` says by bool which take part. Nothing for floats that are added.
  std::optional<double> excluded = {};
  bool is_inverted = false;            // true excludes
  std::vector<ir::NodeId> nodes = {};  // between the scores and the softmax
};

/// The forms in which a softmax may read `scores` with a mask: the first that fits counts.
std::vector<AttentionMask> find_masks(const ir::Graph& graph, ir::ValueId scores);
/// Whether Attention takes the mask for scores of these dimensions.
bool mask_fits(const ir::Graph& graph, const AttentionMask& mask, const FourDims& scores);
/// Whether Attention gives what the softmax gives. `is_guarded`: zeros take the place of weights that are not numbers.
bool mask_means_the_same(const ir::Graph& graph, const AttentionMask& mask, bool is_guarded);

}  // namespace tenon::transform
