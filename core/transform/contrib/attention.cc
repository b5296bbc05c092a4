// Attention over heads, with causal and padding masks and past keys and values; rotary embeddings.
#include <cmath>

#include "core/transform/contrib/lower.h"

namespace tenon::transform {

namespace {

using ir::Attribute;
using ir::ElementType;
using ir::ValueId;

/// Queries [B,N,S,D], keys [B,N,T,D] and values [B,N,T,Dv], including past ones.
struct Heads {
  ValueId query, key, value;
};

/// Reshapes [B,L,N*D] to [B,N,L,D].
ValueId split_heads(Site& site, ValueId x, int64_t heads) {
  // -1 stands for the size of a head.
  return site.emit.transpose(site.emit.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}

/// Reshapes [B,N,L,D] to [B,L,width]. `width` -1: inferred by Reshape, which fails for an empty batch.
ValueId merge_heads(Site& site, ValueId x, int64_t width) {
  return site.emit.reshape(site.emit.transpose(x, {0, 2, 1, 3}), {0, 0, width > 0 ? width : -1});
}

/// One dimension of a value, as a tensor [1].
ValueId dim_of(Site& site, ValueId x, int64_t axis) {
  return site.emit.slice(site.emit.op("Shape", {x}), 0, axis, axis + 1);
}

/// 0, 1, ..., length - 1, for a length given as a tensor [1].
ValueId count_up(Site& site, ValueId length) {
  Emitter& emit = site.emit;
  return emit.op("Range", {emit.constant(ir::Tensor::scalar_int(0)), emit.squeeze(length, {0}),
                           emit.constant(ir::Tensor::scalar_int(1))});
}

/// [S,T]: query i has position T - S + i and attends to keys up to that position.
ValueId causal_mask(Site& site, const Heads& heads) {
  Emitter& emit = site.emit;
  const ValueId length = dim_of(site, heads.query, 2), total = dim_of(site, heads.key, 2);
  const ValueId rows = emit.op("Add", {count_up(site, length), emit.op("Sub", {total, length})});
  const ValueId columns = count_up(site, total);
  return emit.op("LessOrEqual", {emit.unsqueeze(columns, {0}), emit.unsqueeze(rows, {1})});
}

Status unknown_rank(size_t input) {
  return unsupported(
      "the rank of input ", input,
      " is not known, but the meaning of the operator depends on it; declare the shapes of the "
      "model's inputs");
}

/// Converts a mask of 0 and 1 ([B,T], [B,S,T] or [B,1,S,T]) or lengths [B] to booleans that broadcast to [B,N,S,T].
Result<ValueId> padding_mask(Site& site, size_t index, const Heads& heads) {
  Emitter& emit = site.emit;
  const int rank = site.rank(index);
  if (rank == 1) {
    // Only [B] is supported: masks [2B] and [3B+2] have another meaning.
    const int64_t batch = site.dim(0, 0), entries = site.dim(index, 0);
    const ir::Type &mask = site.type(site.in(index)), &input = site.type(site.in(0));
    const bool known = batch >= 0 && entries >= 0;
    const bool same = input.shape.rank() > 0 && mask.shape.dims[0] == input.shape.dims[0];
    if (known && batch != entries)
      return unsupported("a mask of rank 1 must hold one length per batch entry");
    const ValueId columns = emit.unsqueeze(count_up(site, dim_of(site, heads.key, 2)), {0});
    ValueId lengths = emit.unsqueeze(emit.cast(site.in(index), ElementType::kInt64), {1});
    if (!known && !same) {  // makes a Run with another form fail instead of broadcasting
      lengths = emit.op("Reshape", {lengths, emit.op("Concat", {dim_of(site, site.in(0), 0), emit.ints({1})},
                                                     {Attribute::of_int("axis", 0)})});
    }
    return emit.unsqueeze(emit.op("Less", {columns, lengths}), {1, 2});
  }
  const ValueId truth = emit.cast(site.in(index), ElementType::kBool);
  if (rank == 2) return emit.unsqueeze(truth, {1, 2});
  if (rank == 3) return emit.unsqueeze(truth, {1});
  if (rank == 4) return truth;
  if (rank < 0) return unknown_rank(index);
  return unsupported("a mask of rank ", rank, " cannot be expressed in ai.onnx");
}

struct Masks {
  bool causal = false;
  int padding = -1;  // input index; -1: none
  int bias = -1;     // input index of a bias on the scores; -1: none
};

Result<ValueId> attend(Site& site, const Heads& heads, const Masks& masks, int64_t head_size) {
  Emitter& emit = site.emit;
  const ElementType element = site.type(heads.query).element;
  double scale = site.number("scale", 0.0);
  if (scale == 0.0 && head_size > 0) scale = 1.0 / std::sqrt(static_cast<double>(head_size));
  ValueId scores = emit.op("MatMul", {heads.query, emit.transpose(heads.key, {0, 1, 3, 2})});
  if (scale != 0.0) {
    scores = emit.op("Mul", {scores, emit.scalar(element, scale)});
  } else {
    const ValueId size = emit.cast(dim_of(site, heads.query, 3), ElementType::kFloat32);
    scores = emit.op("Div", {scores, emit.cast(emit.op("Sqrt", {size}), element)});
  }
  if (masks.bias >= 0) scores = emit.op("Add", {scores, site.in(static_cast<size_t>(masks.bias))});
  ValueId seen = ir::kNone;
  if (masks.causal) seen = causal_mask(site, heads);
  if (masks.padding >= 0) {
    ASSIGN_OR_RETURN(const ValueId padding, padding_mask(site, static_cast<size_t>(masks.padding), heads));
    seen = seen == ir::kNone ? padding : emit.op("And", {seen, padding});
  }
  if (seen != ir::kNone) {
    const ValueId zero = emit.scalar(element, 0);
    const ValueId hidden = emit.scalar(element, site.number("mask_filter_value", -10000.0));
    scores = emit.op("Add", {scores, emit.op("Where", {seen, zero, hidden})});
  }
  return emit.op("MatMul", {emit.op("Softmax", {scores}, {Attribute::of_int("axis", -1)}), heads.value});
}

/// The widths of queries, keys and values in the columns of the weights.
Result<std::vector<int64_t>> widths_of(Site& site, int64_t heads) {
  std::vector<int64_t> widths;
  if (const ir::Attribute* sizes = site.node.find("qkv_hidden_sizes")) widths = sizes->ints;
  if (widths.size() % 3 != 0 || widths.size() > 3 || heads <= 0)
    return unsupported("attribute num_heads or qkv_hidden_sizes is out of range");
  if (widths.empty() && site.dim(1, 1) < 0) return std::vector<int64_t>(3, -1);  // three equal ones
  if (widths.empty()) widths.assign(3, site.dim(1, 1) / 3);
  for (const int64_t width : widths) {
    if (width <= 0 || width % heads != 0)
      return unsupported("the width of the weights does not fit its heads");
  }
  return widths;
}

/// Prepends past [2,B,N,P,D] to keys and values.
void prepend_past(Site& site, size_t index, Heads& heads) {
  if (!site.has(index)) return;
  Emitter& emit = site.emit;
  const std::vector<ValueId> past = emit.split(site.in(index), 0, {1, 1});
  if (!emit.status().ok()) return;
  const Attribute axis = Attribute::of_int("axis", 2);
  heads.key = emit.op("Concat", {emit.squeeze(past[0], {0}), heads.key}, {axis});
  heads.value = emit.op("Concat", {emit.squeeze(past[1], {0}), heads.value}, {axis});
}

Status check_attention(const Site& site) {
  if (site.node.int_or("do_rotary", 0) != 0) {
    return unsupported(
        "attribute do_rotary is set: rotary embeddings inside have no form in ai.onnx; export "
        "RotaryEmbedding before "
        "MultiHeadAttention");
  }
  if (site.node.int_or("past_present_share_buffer", 0) != 0) {
    return unsupported(
        "attribute past_present_share_buffer is set: past and present are values of their own here; export "
        "the "
        "model without a shared buffer");
  }
  return ok_status();
}

/// Attention over queries, keys and values that lie beside each other in `projected`. `past`: an input.
Lowered attend_projected(Site& site, ValueId projected, const Masks& masks, size_t past) {
  Emitter& emit = site.emit;
  const int64_t count = site.node.int_or("num_heads", 0);
  ASSIGN_OR_RETURN(const std::vector<int64_t> widths, widths_of(site, count));
  const std::vector<ValueId> parts =
      widths[0] > 0 ? emit.split(projected, 2, widths)
                    : emit.ops("Split", {projected}, 3,
                               {Attribute::of_int("axis", 2), Attribute::of_int("num_outputs", 3)});
  RETURN_IF_ERROR(emit.status());
  Heads heads{split_heads(site, parts[0], count), split_heads(site, parts[1], count),
              split_heads(site, parts[2], count)};
  prepend_past(site, past, heads);
  RETURN_IF_ERROR(emit.status());
  ASSIGN_OR_RETURN(const ValueId context, attend(site, heads, masks, widths[0] > 0 ? widths[0] / count : -1));
  const ValueId out = merge_heads(site, context, widths[2]);
  if (!site.wants(1)) return one(out);
  const ValueId key = emit.unsqueeze(heads.key, {0}), value = emit.unsqueeze(heads.value, {0});
  return std::vector<ValueId>{out, emit.op("Concat", {key, value}, {Attribute::of_int("axis", 0)})};
}

/// Inputs: input [B,S,H], weights [H,q+k+v], bias?, mask?, past?, attention_bias?, past_sequence_length?
Lowered lower_attention(Site& site) {
  RETURN_IF_ERROR(check_attention(site));
  if (site.has(6)) {
    return unsupported(
        "input past_sequence_length is given: past and present are values of their own here; export the "
        "model "
        "without a shared buffer");
  }
  ValueId projected = site.emit.op("MatMul", {site.in(0), site.in(1)});
  if (site.has(2)) projected = site.emit.op("Add", {projected, site.in(2)});
  Masks masks;
  masks.causal = site.node.int_or("unidirectional", 0) != 0;
  masks.padding = site.has(3) ? 3 : -1;
  masks.bias = site.has(5) ? 5 : -1;
  return attend_projected(site, projected, masks, 4);
}

/// Inputs: input and weights in bytes, bias, input_scale, weight_scale, mask?, their zero points?, past?
Lowered lower_qattention(Site& site) {
  RETURN_IF_ERROR(check_attention(site));
  const ValueId scale = site.emit.op("Mul", {site.in(3), site.in(4)});
  const ValueId projected =
      scaled_product(site, site.in(0), site.in(6), site.in(1), site.in(7), scale, site.in(2));
  Masks masks;
  masks.causal = site.node.int_or("unidirectional", 0) != 0;
  masks.padding = site.has(5) ? 5 : -1;
  return attend_projected(site, projected, masks, 8);
}

/// Inputs: query [B,S,H], key and value [B,L,H] or [B,N,L,D], bias?, key_padding_mask?, attention_bias?, past_key?,
/// past_value?
Lowered lower_multi_head_attention(Site& site) {
  Emitter& emit = site.emit;
  const int64_t count = site.node.int_or("num_heads", 0), width = site.dim(0, 2);
  for (size_t i = 0; i < 3; ++i) {
    if (site.has(i) && site.rank(i) < 0) return unknown_rank(i);
  }
  if (site.rank(0) != 3 || !site.has(1) || !site.has(2) || count <= 0 || (width >= 0 && width % count != 0)) {
    return unsupported(
        "queries must have rank 3 and a width that is a multiple of num_heads, with separate keys and "
        "values");
  }
  if (site.has(8) || site.has(9)) {
    return unsupported(
        "inputs past_sequence_length and cache_indirection belong to a shared buffer for past and present; "
        "export the "
        "model without it");
  }
  if (site.has(6) != site.has(7))
    return unsupported("past_key and past_value must both be given, or neither");
  const bool ready = site.rank(1) == 4 && site.rank(2) == 4;
  if (!ready && (site.rank(1) != 3 || site.rank(2) != 3))
    return unsupported("keys and values must both be of rank 3, or both of rank 4");
  const int64_t value_size = site.dim(2, ready ? 3 : 2);
  const int64_t value_width = ready && value_size > 0 && value_size < INT64_MAX / count ? value_size * count
                              : ready                                                   ? -1
                                                                                        : value_size;
  std::vector<ValueId> parts = {site.in(0), site.in(1), site.in(2)};
  if (site.has(3)) {
    std::vector<ValueId> biases;
    if (width > 0 && value_width > 0) {
      biases = emit.split(site.in(3), 0, {width, width, value_width});
    } else {
      // The last width is the rest.
      const ValueId one_width = dim_of(site, site.in(0), 2), all = emit.op("Shape", {site.in(3)});
      const ValueId rest = emit.op("Sub", {all, emit.op("Mul", {one_width, emit.ints({2})})});
      const ValueId sizes = emit.op("Concat", {one_width, one_width, rest}, {Attribute::of_int("axis", 0)});
      biases = emit.ops("Split", {site.in(3), sizes}, 3, {Attribute::of_int("axis", 0)});
    }
    RETURN_IF_ERROR(emit.status());
    for (size_t i = 0; i < (ready ? 1u : 3u); ++i) parts[i] = emit.op("Add", {parts[i], biases[i]});
  }
  Heads heads{split_heads(site, parts[0], count), ready ? parts[1] : split_heads(site, parts[1], count),
              ready ? parts[2] : split_heads(site, parts[2], count)};
  if (site.has(6) && site.has(7)) {
    const Attribute axis = Attribute::of_int("axis", 2);
    heads.key = emit.op("Concat", {site.in(6), heads.key}, {axis});
    heads.value = emit.op("Concat", {site.in(7), heads.value}, {axis});
  }
  RETURN_IF_ERROR(emit.status());
  Masks masks;
  masks.causal = site.node.int_or("unidirectional", 0) != 0;
  masks.padding = site.has(4) ? 4 : -1;
  masks.bias = site.has(5) ? 5 : -1;
  ASSIGN_OR_RETURN(const ValueId context, attend(site, heads, masks, width > 0 ? width / count : -1));
  return std::vector<ValueId>{merge_heads(site, context, value_width), heads.key, heads.value};
}

/// Inputs: input [B,S,H] or [B,N,S,D], position_ids [1] or [B,S], cos and sin [M,D/2].
Lowered lower_rotary_embedding(Site& site) {
  Emitter& emit = site.emit;
  if (site.number("scale", 1.0) != 1.0 || site.node.int_or("is_packed_batching", 0) != 0) {
    return unsupported(
        "attributes scale (other than 1) and is_packed_batching cannot be expressed in ai.onnx");
  }
  if (site.rank(0) < 0 || site.rank(1) < 0)
    return unsupported("the rank of the input or of position_ids is not known");
  ValueId positions = site.in(1);
  if (site.rank(1) == 1) {
    const int64_t axis = site.rank(0) == 4 ? 2 : 1;
    const ValueId row = emit.op("Add", {count_up(site, dim_of(site, site.in(0), axis)), positions});
    const ValueId shape = emit.op("Concat", {dim_of(site, site.in(0), 0), dim_of(site, site.in(0), axis)},
                                  {Attribute::of_int("axis", 0)});
    positions = emit.op("Expand", {emit.unsqueeze(row, {0}), shape});
  }
  std::vector<Attribute> attributes = site.attributes({"interleaved", "rotary_embedding_dim"});
  int64_t heads = site.node.int_or("num_heads", 0);
  if (site.rank(0) == 3 && heads == 0) {
    const int64_t half = site.dim(2, 1), width = site.dim(0, 2);
    if (half <= 0 || width <= 0 || width % (2 * half) != 0)
      return unsupported("the number of heads is not known");
    heads = width / (2 * half);
  }
  if (heads > 0) attributes.push_back(Attribute::of_int("num_heads", heads));
  return one(emit.op("RotaryEmbedding", {site.in(0), site.in(2), site.in(3), positions}, attributes));
}

}  // namespace

const std::vector<NamedLowering>& attention_lowerings() {
  static const std::vector<NamedLowering> table = {
      {kMicrosoft, "Attention", lower_attention},
      {kMicrosoft, "MultiHeadAttention", lower_multi_head_attention},
      {kMicrosoft, "QAttention", lower_qattention},
      {kMicrosoft, "RotaryEmbedding", lower_rotary_embedding},
  };
  return table;
}

}  // namespace tenon::transform
