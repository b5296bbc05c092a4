// What the rules for LayerNormalization and RMSNormalization share. Internal to core/transform/raise.
//
// Both divide d by sqrt(mean(d * d) + epsilon) over the last axes, then multiply by a scale. They differ in d: the input,
// or the input without its mean.
#pragma once

#include "core/transform/raise/raise.h"

namespace tenon::transform {

/// d / sqrt(mean(d * d) + epsilon), followed from the mean of the squares to the quotient.
struct Normalized {
  std::vector<ir::NodeId> nodes;
  ir::ValueId d = ir::kNone, quotient = ir::kNone;
  int64_t axes = 0;  // how many of the last axes
  float epsilon = 0;
};

/// `mean` is the ReduceMean of the squares.
std::optional<Normalized> find_normalized(const ir::Graph& graph, ir::NodeId mean);
/// How many of the last axes a ReduceMean with kept dimensions runs over; 0 when it is not of that form.
int64_t last_axes(const ir::Graph& graph, const ir::Node& mean);
/// x when `d` is x - mean of x over the last `axes`, with the two nodes; otherwise kNone.
ir::ValueId without_mean(const ir::Graph& graph, ir::ValueId d, int64_t axes, std::vector<ir::NodeId>* nodes);

/// Adds the Casts around a normalisation that computes in float32: the input is the one of the Cast before it and the
/// quotient is the result of the Cast after it, of the same narrow type. `x` and `quotient` change if they are there.
void take_casts(const ir::Graph& graph, ir::ValueId* x, ir::ValueId* quotient,
                std::vector<ir::NodeId>* nodes);

/// A scale or a bias after the quotient.
struct Parameter {
  ir::NodeId node = ir::kNone;  // Mul or Add; kNone: there is none
  ir::ValueId value = ir::kNone, result = ir::kNone;
};
/// The only reader of `value` when it is `op_type` of it and a tensor with one element per normalised element of `x`.
Parameter find_parameter(const ir::Graph& graph, ir::ValueId value, std::string_view op_type, ir::ValueId x,
                         int64_t axes);
/// The value of a parameter without dimensions before the normalised ones; a new constant where it has some.
ir::ValueId shaped_parameter(ir::Graph& graph, ir::ValueId value, int64_t axes);
/// A new constant of ones for the normalised elements of `x`; kNone where a dimension is not known.
ir::ValueId ones_like(ir::Graph& graph, ir::ValueId x, int64_t axes);

}  // namespace tenon::transform
