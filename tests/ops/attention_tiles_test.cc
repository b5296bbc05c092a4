// Attention of several tiles, blocks and parts, with masks of each form, against ONNX's formula in float64.
#include <cmath>

#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

struct Heads {
  int64_t batch = 1, heads = 2, kv_heads = 1, queries = 1, keys = 1, size = 8, value_size = 8, past = 0;
  bool is_causal = false, masks = false;  // masks: [queries, keys]
  bool is_inside = false;                 // rank 3
  Dims mask = {};                         // another shape; the last dim may be less than the keys
  enum { kNumbers, kInfinities, kBools } mask_kind = kNumbers;
  float mask_shift = 0;  // added to the numbers of the mask
  float cap = 0;
  int64_t left = -1, right = -1;
  std::vector<int64_t> lengths = {};
  std::vector<float> sinks = {};  // of each head: a score without a value
  /// An element of K or V that has another value than its neighbours.
  int64_t odd_key = -1, odd_value = -1;
  float odd = 0;
};

double at(const Tensor& tensor, int64_t i) {
  return static_cast<double>(ep::load_element<float>(tensor.bytes.data(), i));
}

/// Small multiples of a quarter.
std::vector<float> quarters(int64_t n, int seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<float>((i * i * 5 + i * 3 + seed * 7) % 13 - 6) / 4);
  return values;
}

/// Values of [batch, heads, length, size] as they lie in memory.
Tensor laid_out(const Heads& p, const std::vector<float>& values, int64_t heads, int64_t length,
                int64_t size) {
  if (!p.is_inside) return f32({p.batch, heads, length, size}, values);
  std::vector<float> out(values.size());
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    const int64_t d = i % size, row = i / size % length, h = i / size / length % heads,
                  b = i / size / length / heads;
    out[static_cast<size_t>(((b * length + row) * heads + h) * size + d)] = values[static_cast<size_t>(i)];
  }
  return f32({p.batch, length, heads * size}, out);
}

/// What a mask of p's form adds, of the element that lies at `i`.
double bias(const Heads& p, int64_t i) {
  if (p.mask_kind != Heads::kNumbers && (i * 7 + i / 5) % 3 == 0)
    return -std::numeric_limits<double>::infinity();
  return p.mask_kind == Heads::kBools
             ? 0
             : static_cast<double>((i * i * 5 + i * 3 + 42) % 13 - 6) / 4 + static_cast<double>(p.mask_shift);
}
Tensor mask_of(const Heads& p, const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(bias(p, i)));
  if (p.mask_kind != Heads::kBools) return f32(dims, values);
  std::vector<bool> bits;
  for (const float value : values) bits.push_back(value == 0);
  return b8(dims, bits);
}

OpCase attention(std::string name, Heads p) {
  const int64_t all = p.past + p.keys, shared = p.heads / p.kv_heads, planes = p.batch * p.kv_heads;
  if (p.masks && p.mask.empty()) p.mask = {p.queries, all};
  const std::vector<float> q = quarters(p.batch * p.heads * p.queries * p.size, 1);
  std::vector<float> k = quarters(planes * p.keys * p.size, 2),
                     v = quarters(planes * p.keys * p.value_size, 3);
  if (p.odd_key >= 0) k[static_cast<size_t>(p.odd_key)] = p.odd;
  if (p.odd_value >= 0) v[static_cast<size_t>(p.odd_value)] = p.odd;
  const Tensor past_k = f32({p.batch, p.kv_heads, p.past, p.size}, quarters(planes * p.past * p.size, 4));
  const Tensor past_v =
      f32({p.batch, p.kv_heads, p.past, p.value_size}, quarters(planes * p.past * p.value_size, 5));
  const auto mask_at = [&](int64_t b, int64_t h, int64_t i, int64_t key) {
    const int64_t places[] = {b, h, i, key};
    int64_t place = 0;
    for (size_t d = 0; d < p.mask.size(); ++d)
      place = place * p.mask[d] + (p.mask[d] == 1 ? 0 : places[4 - p.mask.size() + d]);
    return bias(p, place);
  };
  std::vector<float> out;
  for (int64_t line = 0; line < p.batch * p.heads * p.queries; ++line) {
    const int64_t i = line % p.queries, plane = line / p.queries, b = plane / p.heads, h = plane % p.heads;
    const int64_t kv = b * p.kv_heads + h / shared;
    const auto key_at = [&](const std::vector<float>& fresh, const Tensor& past, int64_t width, int64_t key,
                            int64_t d) {
      return key < p.past
                 ? at(past, (kv * p.past + key) * width + d)
                 : static_cast<double>(fresh[static_cast<size_t>((kv * p.keys + key - p.past) * width + d)]);
    };
    const int64_t valid = p.lengths.empty() ? all : p.lengths[static_cast<size_t>(b)],
                  place = i + (p.lengths.empty() ? p.past : valid - p.queries);
    std::vector<double> scores;
    bool any = false;
    for (int64_t key = 0; key < all; ++key) {
      double score = 0;
      for (int64_t d = 0; d < p.size; ++d)
        score += static_cast<double>(q[static_cast<size_t>(line * p.size + d)]) *
                 key_at(k, past_k, p.size, key, d);
      score /= std::sqrt(static_cast<double>(p.size));
      if (p.cap != 0) score = static_cast<double>(p.cap) * std::tanh(score / static_cast<double>(p.cap));
      bool is_seen = key < valid && (!p.is_causal || key <= place) && (p.left < 0 || key >= place - p.left) &&
                     (p.right < 0 || key <= place + p.right) && (p.mask.empty() || key < p.mask.back());
      if (is_seen && !p.mask.empty()) {
        is_seen = !std::isinf(mask_at(b, h, i, key));
        score += mask_at(b, h, i, key);
      }
      any = any || is_seen;
      scores.push_back(is_seen ? score : -std::numeric_limits<double>::infinity());
    }
    double top = *std::max_element(scores.begin(), scores.end());
    if (!p.sinks.empty()) top = std::max(top, static_cast<double>(p.sinks[static_cast<size_t>(h)]));
    double sum = p.sinks.empty() ? 0 : std::exp(static_cast<double>(p.sinks[static_cast<size_t>(h)]) - top);
    for (double& score : scores) sum += score = std::exp(score - top);
    for (int64_t d = 0; d < p.value_size; ++d) {
      double value = 0;
      for (int64_t key = 0; any && key < all; ++key)
        value += scores[static_cast<size_t>(key)] / sum * key_at(v, past_v, p.value_size, key, d);
      out.push_back(static_cast<float>(value));
    }
  }
  OpCase row{std::move(name),
             {laid_out(p, q, p.heads, p.queries, p.size), laid_out(p, k, p.kv_heads, p.keys, p.size),
              laid_out(p, v, p.kv_heads, p.keys, p.value_size)},
             {laid_out(p, out, p.heads, p.queries, p.value_size)}};
  if (!p.mask.empty() || p.past != 0 || !p.lengths.empty())
    row.inputs.push_back(!p.mask.empty() ? mask_of(p, p.mask) : none());
  if (p.past != 0) row.inputs.insert(row.inputs.end(), {past_k, past_v});
  if (!p.lengths.empty()) row.inputs.insert(row.inputs.end(), {none(), none(), i64({p.batch}, p.lengths)});
  if (p.is_causal) row.attributes.push_back({"is_causal", int64_t{1}});
  if (p.is_inside) {
    row.attributes.push_back({"q_num_heads", p.heads});
    row.attributes.push_back({"kv_num_heads", p.kv_heads});
  }
  if (p.cap != 0) row.attributes.push_back({"softcap", p.cap});
  if (p.left >= 0) row.attributes.push_back({"left_window_size", p.left});
  if (p.right >= 0) row.attributes.push_back({"right_window_size", p.right});
  return row;
}

/// The same computed by com.microsoft's operator, which also returns the keys and values by head.
OpCase group_query_attention(std::string name, Heads p) {
  p.is_inside = true, p.value_size = p.size, p.queries = p.keys, p.is_causal = true;
  OpCase row = attention(std::move(name), p);
  const int64_t last = p.keys - 1;
  row.inputs.insert(row.inputs.end(),
                    {none(), none(), i32({p.batch}, std::vector<int64_t>(static_cast<size_t>(p.batch), last)),
                     i32({1}, {last + 1}), none(), none(), none(), none()});
  if (!p.sinks.empty()) row.inputs.push_back(f32({p.heads}, p.sinks));
  const Dims cache{p.batch, p.kv_heads, p.keys, p.size};
  const int64_t n = p.batch * p.kv_heads * p.keys * p.size;
  row.outputs.push_back(f32(cache, quarters(n, 2)));
  row.outputs.push_back(f32(cache, quarters(n, 3)));
  row.attributes = {{"num_heads", p.heads}, {"kv_num_heads", p.kv_heads}};
  if (p.left >= 0) row.attributes.push_back({"local_window_size", p.left + 1});
  return row;
}

/// Lengths around registers, tiles and blocks: few queries and many, keys of one block and of several.
std::vector<OpCase> lengths() {
  std::vector<OpCase> out;
  const auto add = [&](int64_t queries, int64_t keys, int64_t size, int64_t value_size) {
    out.push_back(attention("lengths_" + std::to_string(queries) + "_" + std::to_string(keys) + "_" +
                                std::to_string(size) + "_" + std::to_string(value_size),
                            {.queries = queries, .keys = keys, .size = size, .value_size = value_size}));
  };
  for (const int64_t keys : {1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 130}) add(7, keys, 17, 17);
  for (int64_t queries = 1; queries <= 13; ++queries) add(queries, 49, 32, 32);
  for (const int64_t queries : {47, 48, 49, 97}) add(queries, 33, 16, 16);
  for (const int64_t size : {1, 3, 17, 64, 80, 128}) {
    add(1, 70, size, size);
    add(6, 70, size, size);
  }
  add(13, 1500, 64, 64);
  add(5, 1700, 80, 33);
  add(2, 1500, 3, 130);
  return out;
}

std::vector<OpCase> masks() {
  std::vector<OpCase> out;
  const std::pair<const char*, Dims> shapes[] = {
      {"keys", {70}},           {"queries", {1, 1, 9, 70}}, {"one_row", {1, 1, 1, 70}},
      {"batch", {2, 1, 1, 70}}, {"heads", {1, 2, 9, 70}},   {"all", {2, 2, 9, 70}},
      {"short", {9, 67}}};
  for (const auto& [name, shape] : shapes) {
    Heads p{.batch = 2, .queries = 9, .keys = 70, .size = 16, .value_size = 16, .mask = shape};
    out.push_back(attention(std::string("mask_of_") + name, p));
    p.mask_kind = Heads::kInfinities;
    p.is_causal = true;
    out.push_back(attention(std::string("mask_with_infinities_of_") + name, p));
    p.mask_kind = Heads::kBools;
    p.is_causal = false;
    out.push_back(attention(std::string("bool_mask_of_") + name, p));
  }
  out.push_back(attention("mask_of_blocks", {.queries = 6,
                                             .keys = 1700,
                                             .size = 64,
                                             .value_size = 64,
                                             .mask = {6, 1700},
                                             .mask_kind = Heads::kInfinities}));
  out.push_back(attention("bool_mask_of_blocks", {.queries = 6,
                                                  .keys = 1700,
                                                  .size = 64,
                                                  .value_size = 64,
                                                  .mask = {1700},
                                                  .mask_kind = Heads::kBools}));
  return out;
}

OP_CASES(Attention, 23, lengths())
OP_CASES(Attention, 23, masks())
OP_CASES(
    Attention, 23,
    {attention("tiles", {.queries = 70, .keys = 90, .size = 40, .value_size = 72}),
     attention("tiles_causal", {.batch = 2, .queries = 70, .keys = 70, .size = 24, .is_causal = true}),
     attention("tiles_masked", {.kv_heads = 2, .queries = 66, .keys = 130, .size = 16, .masks = true}),
     attention("one_query", {.heads = 4, .kv_heads = 2, .keys = 600, .size = 64, .value_size = 64}),
     attention("few_queries", {.queries = 3, .keys = 700, .size = 96, .value_size = 80, .masks = true}),
     attention("one_query_after_others",
               {.batch = 2, .heads = 4, .past = 300, .is_causal = true, .masks = true}),
     attention("tiles_after_others", {.queries = 70, .keys = 70, .past = 90, .is_causal = true}),
     attention("wide", {.queries = 9, .keys = 20, .size = 300, .value_size = 270}),
     attention("inside", {.batch = 2,
                          .heads = 4,
                          .kv_heads = 2,
                          .queries = 50,
                          .keys = 70,
                          .size = 20,
                          .value_size = 12,
                          .is_inside = true}),
     attention("inside_few", {.batch = 2,
                              .heads = 4,
                              .kv_heads = 2,
                              .queries = 2,
                              .keys = 70,
                              .size = 20,
                              .value_size = 12,
                              .is_inside = true}),
     attention("cap", {.queries = 9, .keys = 70, .size = 16, .value_size = 16, .masks = true, .cap = 1.5f}),
     attention("blocks_causal", {.queries = 110, .keys = 110, .size = 16, .past = 1500, .is_causal = true}),
     attention(
         "larger_score_in_later_block",
         {.queries = 9, .keys = 1700, .size = 64, .value_size = 64, .odd_key = 1500 * 64 + 3, .odd = 12}),
     attention("larger_score_in_later_block_causal", {.queries = 9,
                                                      .keys = 9,
                                                      .size = 64,
                                                      .value_size = 20,
                                                      .past = 1700,
                                                      .is_causal = true,
                                                      .odd_key = 4 * 64 + 3,
                                                      .odd = 12}),
     attention("low_scores", {.queries = 9, .keys = 70, .size = 16, .masks = true, .mask_shift = -300}),
     attention("low_scores_causal",
               {.queries = 70, .keys = 70, .size = 16, .is_causal = true, .masks = true, .mask_shift = -300}),
     attention("large_values", {.queries = 9, .keys = 70, .odd_value = 33, .odd = 1e38f}),
     attention("large_values_of_few", {.queries = 2, .keys = 70, .odd_value = 33, .odd = 1e38f}),
     attention("nan_in_key", {.queries = 9, .keys = 70, .odd_key = 33 * 8, .odd = kNan}),
     attention("infinity_in_key",
               {.queries = 9, .keys = 70, .is_causal = true, .odd_key = 5 * 8, .odd = kInf}),
     attention("infinity_in_key_of_few",
               {.queries = 3, .keys = 70, .is_causal = true, .odd_key = 8, .odd = -kInf}),
     attention("nan_in_value", {.queries = 9, .keys = 70, .odd_value = 33, .odd = kNan}),
     attention("infinity_in_value", {.queries = 9, .keys = 70, .odd_value = 65, .odd = kInf}),
     attention("infinity_in_value_of_few", {.queries = 3, .keys = 70, .odd_value = 65, .odd = -kInf}),
     attention("no_size", {.queries = 9, .keys = 70, .size = 0})})
OP_CASES(Attention, 24,
         {attention("lengths_tiles", {.batch = 3, .queries = 9, .keys = 70, .lengths = {9, 70, 33}}),
          attention("lengths_tiles_causal",
                    {.batch = 3, .queries = 9, .keys = 70, .is_causal = true, .lengths = {9, 70, 5}}),
          attention("lengths_few",
                    {.batch = 3, .queries = 1, .keys = 70, .is_causal = true, .lengths = {1, 70, 33}})})
OP_CASES(
    Attention, 25,
    {attention("window_tiles", {.queries = 130, .keys = 130, .left = 20, .right = 3}),
     attention("window_few", {.queries = 3, .keys = 130, .left = 20, .right = 3}),
     attention(
         "window_blocks",
         {.queries = 70, .keys = 70, .size = 64, .value_size = 64, .past = 1800, .left = 600, .right = 0})})
OP_CASES_IN("com.microsoft", GroupQueryAttention, 1,
            {group_query_attention("tiles", {.batch = 2, .heads = 4, .kv_heads = 2, .keys = 70, .size = 20}),
             group_query_attention("tiles_window",
                                   {.heads = 2, .kv_heads = 1, .keys = 70, .size = 16, .left = 9}),
             group_query_attention("tiles_sinks",
                                   {.heads = 2, .kv_heads = 1, .keys = 70, .size = 16, .sinks = {0.5f, -1}}),
             group_query_attention("few_sinks",
                                   {.heads = 2, .kv_heads = 1, .keys = 3, .size = 16, .sinks = {0.5f, -1}})})

}  // namespace
}  // namespace tenon::test
