// Arity and output types of operators that published models use but ONNX does not define. Most come from ONNX
// Runtime's com.microsoft domain; ai.onnx once had the others. All have version 1.
#include <algorithm>
#include <climits>
#include <initializer_list>

#include "core/ops/rules.h"

namespace tenon::ops {

namespace {

using ir::Dim;
using ir::ElementType;
using ir::Node;
using ir::Shape;
using ir::Type;
using Types = std::vector<Type>;

/// The shape of a normalisation's statistics: 1 for the dimensions from `axis` on.
Shape statistics_shape(const Shape& shape, int64_t axis) {
  Shape out = shape;
  if (axis < 0) axis += static_cast<int64_t>(shape.rank());
  for (size_t i = static_cast<size_t>(std::max<int64_t>(axis, 0)); i < out.rank(); ++i) out.dims[i] = Dim(1);
  return out;
}

Status layer_norm(const Node& node, const InferInputs& inputs, Types& out) {
  RETURN_IF_ERROR(like_first(node, inputs, out));
  const Shape* shape = shape_input(inputs, 0);
  for (size_t i = 1; i < out.size(); ++i) {
    set_output(out, i, ElementType::kFloat32,
               shape ? statistics_shape(*shape, node.int_or("axis", -1)) : Shape());
  }
  return ok_status();
}

Status skip_layer_norm(const Node& node, const InferInputs& inputs, Types& out) {
  RETURN_IF_ERROR(layer_norm(node, inputs, out));
  if (out.size() > 3) out[3] = out[0];  // the sum that was normalised
  return ok_status();
}

/// input_ids, segment_ids?, word, position, segment?, gamma, beta, mask?, ... Output 0 has the type of input kLike.
template <size_t kLike>
Status embed_layer_norm(const Node&, const InferInputs& inputs, Types& out) {
  const Type* like = tensor_input(inputs, kLike);
  if (like == nullptr) return ok_status();
  const Dim batch = dim_input(inputs, 0, 0);
  const Shape shape({batch, dim_input(inputs, 0, 1), dim_input(inputs, 2, 1)});
  set_output(out, 0, like->element, shape);
  set_output(out, 1, ElementType::kInt32, Shape({batch}));
  set_output(out, 2, like->element, shape);
  return ok_status();
}

/// input [B,S,H], weights [H,q+k+v], bias, ...; input kPast is past [2,B,N,P,D]. Outputs have the type of input kLike.
template <size_t kLike, size_t kPast>
Status attention(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* like = tensor_input(inputs, kLike);
  if (like == nullptr) return ok_status();
  const int64_t heads = node.int_or("num_heads", 0);
  const ir::Attribute* sizes = node.find("qkv_hidden_sizes");
  Dim hidden = over(dim_input(inputs, 1, 1), 3);
  if (sizes != nullptr && sizes->ints.size() == 3) hidden = Dim(sizes->ints[2]);
  const Dim batch = dim_input(inputs, 0, 0), sequence = dim_input(inputs, 0, 1);
  set_output(out, 0, like->element, Shape({batch, sequence, hidden}));
  if (out.size() < 2) return ok_status();
  const bool has_past = inputs.types.size() > kPast && inputs.types[kPast] != nullptr;
  const bool shared = node.int_or("past_present_share_buffer", 0) != 0;
  Dim total = has_past ? plus(dim_input(inputs, kPast, 3), sequence) : sequence;
  if (shared && has_past) total = dim_input(inputs, kPast, 3);
  set_output(out, 1, like->element, Shape({Dim(2), batch, Dim(heads), total, over(hidden, heads)}));
  return ok_status();
}

/// query [B,S,H], key, value [B,L,Hv] or [B,N,L,D], ..., past_key [B,N,P,D] is input 6
Status multi_head_attention(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* query = tensor_input(inputs, 0);
  if (query == nullptr) return ok_status();
  const int64_t heads = node.int_or("num_heads", 0);
  Dim hidden;
  if (shape_input(inputs, 2, 3) != nullptr) hidden = dim_input(inputs, 2, 2);
  if (shape_input(inputs, 2, 4) != nullptr) hidden = times(dim_input(inputs, 2, 3), heads);
  const Dim batch = dim_input(inputs, 0, 0);
  if (shape_input(inputs, 0, 3) != nullptr) {
    set_output(out, 0, query->element, Shape({batch, dim_input(inputs, 0, 1), hidden}));
  } else {
    set_output(out, 0, query->element);
  }
  for (size_t i = 1; i < out.size() && i < 3; ++i) {
    const bool has_past = inputs.types.size() > 5 + i && inputs.types[5 + i] != nullptr;
    const Dim length = dim_input(inputs, 1, 1);
    const Dim total = has_past ? plus(dim_input(inputs, 5 + i, 2), length) : length;
    set_output(out, i, query->element, Shape({batch, Dim(heads), total, over(hidden, heads)}));
  }
  return ok_status();
}

/// query [B,S,H] (with key and value inside when those are missing), key, value, past_key, past_value, ...
Status group_query_attention(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* query = tensor_input(inputs, 0);
  if (query == nullptr) return ok_status();
  const int64_t heads = node.int_or("num_heads", 0), kv_heads = node.int_or("kv_num_heads", 0);
  const bool packed = tensor_input(inputs, 1) == nullptr;
  const Dim width = dim_input(inputs, 0, 2);
  const Dim size = over(width, packed ? heads + 2 * kv_heads : heads);
  const Dim batch = dim_input(inputs, 0, 0);
  set_output(out, 0, query->element,
             Shape({batch, dim_input(inputs, 0, 1), packed ? times(size, heads) : width}));
  for (size_t i = 1; i < out.size() && i < 3; ++i) {
    set_output(out, i, query->element, Shape({batch, Dim(kv_heads), Dim(), size}));
  }
  return ok_status();
}

/// A [..., K] and packed weights of K rows and N columns
Status matmul_nbits(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* a = tensor_input(inputs, 0);
  if (a == nullptr) return ok_status();
  Shape shape = a->shape;
  if (shape.has_rank && shape.rank() > 0) shape.dims.back() = Dim(node.int_or("N", -1));
  set_output(out, 0, a->element, std::move(shape));
  return ok_status();
}

Status fused_matmul(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* a = tensor_input(inputs, 0);
  if (a == nullptr) return ok_status();
  // A transposed batch has its rows on the first axis.
  Type turned[2];
  InferInputs both = inputs;
  for (size_t i = 0; i < 2; ++i) {
    const Shape* shape = shape_input(inputs, i);
    if (shape == nullptr || shape->rank() < 2 || node.int_or(i == 0 ? "transBatchA" : "transBatchB", 0) == 0)
      continue;
    turned[i] = *inputs.types[i];
    std::rotate(turned[i].shape.dims.begin(), turned[i].shape.dims.begin() + 1,
                turned[i].shape.dims.end() - 1);
    both.types[i] = &turned[i];
  }
  return matrix_product(both, 0, 1, node.int_or("transA", 0) != 0, node.int_or("transB", 0) != 0, a->element,
                        out);
}

template <size_t kScale>
Status dequantizing_matmul(const Node&, const InferInputs& inputs, Types& out) {
  const Type* scale = tensor_input(inputs, kScale);
  return scale == nullptr ? ok_status() : matrix_product(inputs, 0, 1, false, false, scale->element, out);
}

/// A, its scale and zero point, B, its scale and zero point, C, then y_scale and y_zero_point of a quantised result.
Status qgemm(const Node& node, const InferInputs& inputs, Types& out) {
  const bool is_quantized = inputs.types.size() > 7 && inputs.types[7] != nullptr;
  const Type* like = tensor_input(inputs, is_quantized ? 8 : 1);
  if (like == nullptr) return ok_status();
  return matrix_product(inputs, 0, 3, node.int_or("transA", 0) != 0, node.int_or("transB", 0) != 0,
                        like->element, out);
}

/// The inference of a standard operator with the same effect on the shape. Passes on only the first inputs.
template <class Name>
Status as_standard(const Node& node, const InferInputs& inputs, Types& out) {
  InferInputs first = inputs;
  if (first.types.size() > Name::kInputs) first.types.resize(Name::kInputs);
  if (first.values.size() > Name::kInputs) first.values.resize(Name::kInputs);
  return infer_as(Name::kName, Name::kSince, node, first, out);
}
struct ConvName {
  static constexpr std::string_view kName = "Conv";
  static constexpr int kSince = 11;
  static constexpr size_t kInputs = 3;
};
struct GemmName {
  static constexpr std::string_view kName = "Gemm";
  static constexpr int kSince = 13;
  static constexpr size_t kInputs = 3;
};
struct LstmName {
  static constexpr std::string_view kName = "LSTM";
  static constexpr int kSince = 14;
  static constexpr size_t kInputs = 1;
};
struct GridSampleName {
  static constexpr std::string_view kName = "GridSample";
  static constexpr int kSince = 16;
  static constexpr size_t kInputs = 2;
};
struct GatherNDName {
  static constexpr std::string_view kName = "GatherND";
  static constexpr int kSince = 13;
  static constexpr size_t kInputs = 2;
};

/// A, scale, zero, B, scale, zero, ...
Status qlinear_binary(const Node&, const InferInputs& inputs, Types& out) {
  const Type* a = tensor_input(inputs, 0);
  return a == nullptr ? ok_status() : broadcast(inputs, 0, 3, a->element, out);
}

/// y_scale, y_zero_point, then each input with its scale and zero point
Status qlinear_concat(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* first = tensor_input(inputs, 2);
  if (first == nullptr) return ok_status();
  set_output(out, 0, first->element);
  if (!first->shape.has_rank) return ok_status();
  Shape shape = first->shape;
  int64_t axis = node.int_or("axis", 0);
  if (axis < 0) axis += static_cast<int64_t>(shape.rank());
  if (axis < 0 || axis >= static_cast<int64_t>(shape.rank()))
    return invalid_model("axis ", axis, " is out of range");
  const size_t at = static_cast<size_t>(axis);
  for (size_t i = 5; i < inputs.types.size(); i += 3)
    shape.dims[at] = plus(shape.dims[at], dim_input(inputs, i, at));
  set_output(out, 0, first->element, std::move(shape));
  return ok_status();
}

Status qlinear_global_pool(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  if (x == nullptr) return ok_status();
  Shape shape = x->shape;
  const bool last = node.int_or("channels_last", 0) != 0;
  for (size_t i = 1; i < shape.rank(); ++i) {
    if (last ? i + 1 < shape.rank() : i > 1) shape.dims[i] = Dim(1);
  }
  set_output(out, 0, x->element, std::move(shape));
  return ok_status();
}

/// Channels may be last.
Status qlinear_average_pool(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* given = tensor_input(inputs, 0);
  if (given == nullptr) return ok_status();
  set_output(out, 0, given->element);
  Type x = *given;
  if (!x.shape.has_rank) return ok_status();
  if (x.shape.rank() < 3) return invalid_model("input must be of rank 3 or more, not ", x.shape.rank());
  const bool last = node.int_or("channels_last", 0) != 0;
  std::vector<Dim>& dims = x.shape.dims;
  if (last) std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  InferInputs first = inputs;
  first.types = {&x};
  first.values.resize(std::min<size_t>(1, first.values.size()));
  RETURN_IF_ERROR(infer_as("AveragePool", 11, node, first, out));
  std::vector<Dim>& made = out[0].shape.dims;
  if (last && made.size() > 2) std::rotate(made.begin() + 1, made.begin() + 2, made.end());
  return ok_status();
}

/// condition, X, scale, zero, Y, ...
Status qlinear_where(const Node&, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 1);
  if (x == nullptr) return ok_status();
  std::vector<Type> both(1);
  RETURN_IF_ERROR(broadcast(inputs, 1, 4, x->element, both));
  InferInputs rest = inputs;
  rest.types[1] = &both[0];
  return broadcast(rest, 0, 1, x->element, out);
}

/// data, indices, scales, zero_points?
Status gather_block_quantized(const Node& node, const InferInputs& inputs, Types& out) {
  const Type *data = tensor_input(inputs, 0), *scales = tensor_input(inputs, 2);
  if (data == nullptr || scales == nullptr) return ok_status();
  set_output(out, 0, scales->element);
  const Shape* indices = shape_input(inputs, 1);
  if (!data->shape.has_rank || indices == nullptr) return ok_status();
  Shape shape = data->shape;
  const auto rank = static_cast<int64_t>(shape.rank());
  int64_t axis = node.int_or("gather_axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return invalid_model("gather_axis is out of range for data of rank ", rank);
  const int64_t bits = node.int_or("bits", 4);
  if (data->element == ElementType::kUInt8 && bits > 0 && bits < 8)
    shape.dims.back() = times(shape.dims.back(), 8 / bits);
  const auto at = shape.dims.erase(shape.dims.begin() + axis);
  shape.dims.insert(at, indices->dims.begin(), indices->dims.end());
  set_output(out, 0, scales->element, std::move(shape));
  return ok_status();
}

Status quantize(const Node&, const InferInputs& inputs, Types& out) {
  const Type *x = tensor_input(inputs, 0), *zero = tensor_input(inputs, 2);
  if (x != nullptr) set_output(out, 0, zero ? zero->element : ElementType::kUInt8, x->shape);
  return ok_status();
}

Status dequantize(const Node&, const InferInputs& inputs, Types& out) {
  const Type *x = tensor_input(inputs, 0), *scale = tensor_input(inputs, 1);
  if (x != nullptr && scale != nullptr) set_output(out, 0, scale->element, x->shape);
  return ok_status();
}

/// input_ids [B,S], max_length, min_length, num_beams, num_return_sequences, ...
Status beam_search(const Node&, const InferInputs& inputs, Types& out) {
  auto known = [&inputs](size_t index) -> Dim {
    std::vector<int64_t> values;
    const bool given = index < inputs.values.size() && inputs.values[index] != nullptr;
    if (!given || !inputs.values[index]->to_ints(&values) || values.size() != 1 || values[0] < 0) return {};
    return Dim(values[0]);
  };
  const Dim batch = dim_input(inputs, 0, 0), length = known(1), beams = known(3), kept = known(4);
  set_output(out, 0, ElementType::kInt32, Shape({batch, kept, length}));
  set_output(out, 1, ElementType::kFloat32, Shape({batch, kept}));
  set_output(out, 2, ElementType::kFloat32, Shape({Dim(), batch, beams, Dim()}));
  return ok_status();
}

Status greedy_search(const Node&, const InferInputs& inputs, Types& out) {
  set_output(out, 0, ElementType::kInt32, Shape({dim_input(inputs, 0, 0), Dim()}));
  return ok_status();
}

/// uint32 with attribute `positive`, else int32
Status murmur_hash3(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  if (x == nullptr) return ok_status();
  const bool positive = node.int_or("positive", 1) != 0;
  set_output(out, 0, positive ? ElementType::kUInt32 : ElementType::kInt32, x->shape);
  return ok_status();
}

/// Appends an axis of unknown length for the tokens, unless the input may be empty.
Status tokenizer(const Node&, const InferInputs& inputs, Types& out) {
  set_output(out, 0, ElementType::kString);
  const Shape* shape = shape_input(inputs, 0);
  if (shape == nullptr) return ok_status();
  if (shape->rank() != 1 && shape->rank() != 2)
    return invalid_model("the strings must be of rank 1 or 2, not ", shape->rank());
  for (const Dim& dim : shape->dims) {
    if (!dim.known() || dim.value == 0) return ok_status();
  }
  Shape tokens = *shape;
  tokens.dims.emplace_back();
  set_output(out, 0, ElementType::kString, std::move(tokens));
  return ok_status();
}

/// Dropped from ai.onnx. Cuts `border` (left, top, right, bottom); `scale` (height, width), if given, is the size
/// that remains.
Status crop(const Node& node, const InferInputs& inputs, Types& out) {
  const Type* x = tensor_input(inputs, 0);
  if (x == nullptr) return ok_status();
  const ir::Attribute *border = node.find("border"), *scale = node.find("scale");
  if (border == nullptr || border->ints.size() != 4)
    return invalid_model("attribute 'border' must hold 4 integers");
  Shape shape = x->shape;
  if (shape.has_rank && shape.rank() != 4)
    return invalid_model("input must be of rank 4, not ", shape.rank());
  if (shape.has_rank) {
    const auto& b = border->ints;
    const bool sized = scale != nullptr && scale->ints.size() == 2;
    const Dim h = shape.dims[2], w = shape.dims[3];
    if (std::any_of(b.begin(), b.end(), [](int64_t border) { return border < 0; }))
      return invalid_model("attribute 'border' must not hold negative numbers");
    shape.dims[2] = sized ? Dim(scale->ints[0]) : changed(changed(h, -b[1]), -b[3]);
    shape.dims[3] = sized ? Dim(scale->ints[1]) : changed(changed(w, -b[0]), -b[2]);
  }
  set_output(out, 0, x->element, std::move(shape));
  return ok_status();
}

Status unsqueeze_by_input(const Node&, const InferInputs& inputs, Types& out) {
  if (const Type* x = tensor_input(inputs, 0)) set_output(out, 0, x->element);
  return ok_status();
}

constexpr std::string_view kMs = "com.microsoft";
constexpr int kMany = INT_MAX;

constexpr uint32_t inputs(std::initializer_list<uint32_t> indices) {
  uint32_t bits = 0;
  for (const uint32_t i : indices) bits |= 1u << i;
  return bits;
}

}  // namespace

const std::vector<OwnOperator>& own_operators() {
  static const std::vector<OwnOperator> table = {
      // domain, name, min inputs, max inputs, max outputs, rule, attributes, required inputs that may be empty.
      // Attributes: NAME is an integer; NAME:f, :s, :g a float, string, graph; :is, :fs, :ss a list. NAME! is
      // required.
      {kMs, "Attention", 2, 7, 2, attention<0, 4>,
       "num_heads! unidirectional qkv_hidden_sizes:is scale:f mask_filter_value:f do_rotary "
       "rotary_embedding_dim past_present_share_buffer"},
      {kMs, "BeamSearch", 5, 12, 3, beam_search,
       "eos_token_id! pad_token_id! decoder:g! encoder:g init_decoder:g model_type decoder_start_token_id "
       "early_stopping no_repeat_ngram_size vocab_size",
       inputs({2})},
      {kMs, "BiasGelu", 2, 2, 1, like_first, ""},
      {kMs, "BiasSoftmax", 2, 2, 1, like_first, "is_inner_broadcast! axis"},
      {kMs, "DequantizeLinear", 2, 3, 1, dequantize, "axis"},
      {kMs, "DynamicQuantizeLSTM", 12, 12, 3, as_standard<LstmName>,
       "activation_alpha:fs activation_beta:fs activations:ss clip:f direction:s hidden_size input_forget",
       inputs({3, 4, 5, 6, 7})},
      {kMs, "DynamicQuantizeMatMul", 3, 5, 1, dequantizing_matmul<2>, ""},
      {kMs, "EmbedLayerNormalization", 7, 9, 3, embed_layer_norm<2>, "epsilon:f mask_index_type",
       inputs({1, 4})},
      {kMs, "ExpandDims", 2, 2, 1, unsqueeze_by_input, ""},
      {kMs, "FastGelu", 1, 2, 1, like_first, ""},
      {kMs, "FusedConv", 2, 4, 1, as_standard<ConvName>,
       "auto_pad:s dilations:is group kernel_shape:is pads:is strides:is activation:s activation_params:fs"},
      {kMs, "FusedGemm", 2, 3, 1, as_standard<GemmName>,
       "alpha:f beta:f transA transB activation:s activation_alpha:f activation_beta:f activation_gamma:f"},
      {kMs, "FusedMatMul", 2, 2, 1, fused_matmul, "alpha:f transA transB transBatchA transBatchB"},
      {kMs, "GatherBlockQuantized", 3, 4, 1, gather_block_quantized,
       "bits block_size gather_axis quantize_axis"},
      {kMs, "GatherND", 2, 2, 1, as_standard<GatherNDName>, ""},
      {kMs, "Gelu", 1, 1, 1, like_first, ""},
      {kMs, "GreedySearch", 2, 7, 1, greedy_search,
       "eos_token_id! pad_token_id! decoder:g! encoder:g init_decoder:g model_type decoder_start_token_id "
       "no_repeat_ngram_size vocab_size"},
      {kMs, "GridSample", 2, 2, 1, as_standard<GridSampleName>, "align_corners mode:s padding_mode:s"},
      {kMs, "GroupNorm", 3, 3, 1, like_first, "activation! groups! channels_last epsilon:f"},
      {kMs, "GroupQueryAttention", 5, 16, 4, group_query_attention,
       "num_heads! kv_num_heads! causal do_rotary rotary_interleaved local_window_size scale:f softcap:f "
       "smooth_softmax sliding_window_cache kv_cache_bit_width k_quant_type:s v_quant_type:s "
       "qk_norm_epsilon:f qk_output",
       inputs({1, 2, 3, 4})},
      {kMs, "Inverse", 1, 1, 1, like_first, ""},
      {kMs, "LayerNormalization", 2, 3, 3, layer_norm, "axis epsilon:f stash_type"},
      {kMs, "MatMulIntegerToFloat", 4, 7, 1, dequantizing_matmul<2>, ""},
      {kMs, "MatMulNBits", 3, 6, 1, matmul_nbits, "N! K! block_size! bits accuracy_level weight_prepacked"},
      {kMs, "MultiHeadAttention", 1, 10, 4, multi_head_attention,
       "num_heads! unidirectional scale:f mask_filter_value:f"},
      {kMs, "MurmurHash3", 1, 1, 1, murmur_hash3, "positive seed"},
      {kMs, "QAttention", 5, 9, 2, attention<3, 8>,
       "num_heads! unidirectional scale:f mask_filter_value:f do_rotary past_present_share_buffer"},
      {kMs, "QEmbedLayerNormalization", 18, 18, 2, embed_layer_norm<8>, "epsilon:f",
       inputs({1, 4, 7, 10, 15})},
      {kMs, "QGemm", 6, 9, 1, qgemm, "alpha:f transA transB"},
      {kMs, "QLinearAdd", 7, 8, 1, qlinear_binary, "", inputs({2, 5})},
      {kMs, "QLinearAveragePool", 4, 5, 1, qlinear_average_pool,
       "auto_pad:s ceil_mode channels_last count_include_pad kernel_shape:is! pads:is strides:is",
       inputs({2})},
      {kMs, "QLinearConcat", 5, kMany, 1, qlinear_concat, "axis!"},
      {kMs, "QLinearGlobalAveragePool", 5, 5, 1, qlinear_global_pool, "channels_last"},
      {kMs, "QLinearLeakyRelu", 4, 5, 1, like_first, "alpha:f", inputs({2})},
      {kMs, "QLinearMul", 7, 8, 1, qlinear_binary, "", inputs({2, 5})},
      {kMs, "QLinearSigmoid", 4, 5, 1, like_first, "", inputs({2})},
      {kMs, "QLinearSoftmax", 5, 5, 1, like_first, "opset! axis", inputs({2})},
      {kMs, "QLinearWhere", 9, 9, 1, qlinear_where, ""},
      {kMs, "QuantizeLinear", 2, 3, 1, quantize, "axis"},
      {kMs, "QuickGelu", 1, 1, 1, like_first, "alpha:f"},
      {kMs, "RotaryEmbedding", 4, 4, 1, like_first,
       "interleaved is_packed_batching num_heads rotary_embedding_dim scale:f"},
      {kMs, "SimplifiedLayerNormalization", 2, 2, 2, layer_norm, "axis epsilon:f stash_type"},
      {kMs, "SkipLayerNormalization", 3, 5, 4, skip_layer_norm, "epsilon:f"},
      {kMs, "SkipSimplifiedLayerNormalization", 3, 4, 4, skip_layer_norm, "epsilon:f"},
      {kMs, "Tokenizer", 1, 1, 1, tokenizer, "mark! mincharnum! pad_value:s! separators:ss tokenexp:s"},
      {kMs, "TransposeMatMul", 2, 2, 1, fused_matmul, "alpha:f transA transB"},
      {kMs, "Trilu", 1, 2, 1, like_first, "upper"},
      // Operators that ai.onnx once had, or that ONNX Runtime's optimizer puts there.
      {"", "Affine", 1, 1, 1, like_first, "alpha:f beta:f"},
      {"", "Crop", 1, 1, 1, crop, "border:is scale:is"},
      {"", "DynamicSlice", 3, 4, 1, infer_slice_10, ""},
      {"", "ImageScaler", 1, 1, 1, like_first, "scale:f bias:fs"},
      {"", "LayerNormalization", 2, 3, 3, layer_norm, "axis epsilon:f stash_type"},
      {"", "MeanVarianceNormalization", 1, 1, 1, like_first, "across_channels normalize_variance"},
      {"", "ParametricSoftplus", 1, 1, 1, like_first, "alpha:f beta:f"},
      {"", "Scale", 1, 1, 1, like_first, "scale:f"},
      {"", "ScaledTanh", 1, 1, 1, like_first, "alpha:f beta:f"},
      {"", "SimplifiedLayerNormalization", 2, 2, 2, layer_norm, "axis epsilon:f stash_type"},
      {"", "ThresholdedRelu", 1, 1, 1, like_first, "alpha:f"},
  };
  return table;
}

}  // namespace tenon::ops
