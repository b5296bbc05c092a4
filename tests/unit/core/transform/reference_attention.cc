// Attention of the slow evaluator: without past, softcap, window and causality.
#include <algorithm>
#include <cmath>

#include "tests/unit/core/transform/reference_operators.h"

namespace tenon::testing {

namespace {

/// Element (batch, head, position, index) of a tensor of rank 4, or of one of rank 3 with the heads inside.
double element(const Array& x, int64_t heads, int64_t b, int64_t h, int64_t p, int64_t i) {
  const std::vector<int64_t>& d = x.dims;
  const int64_t at =
      d.size() == 4 ? ((b * d[1] + h) * d[2] + p) * d[3] + i : (b * d[1] + p) * d[2] + h * (d[2] / heads) + i;
  return x.values[static_cast<size_t>(at)];
}

double mask_at(const Array& mask, std::vector<int64_t> index) {
  int64_t at = 0, stride = 1;
  for (size_t i = 0; i < mask.dims.size(); ++i) {
    const int64_t dim = mask.dims[mask.dims.size() - 1 - i];
    at += dim == 1 ? 0 : index[3 - i] * stride;
    stride *= dim;
  }
  return mask.values[static_cast<size_t>(at)];
}

}  // namespace

bool call_attention(const Call& call, std::vector<Array>* outputs) {
  if (!call.node.is("Attention")) return false;
  const Array &q = *call.in[0], &k = *call.in[1], &v = *call.in[2];
  const Array* mask = call.in.size() > 3 ? call.in[3] : nullptr;
  const bool is_bool =
      mask != nullptr && call.graph.value(call.node.inputs[3]).type.element == ir::ElementType::kBool;
  const bool inside = q.dims.size() == 3;
  const int64_t heads = inside ? call.node.int_or("q_num_heads", 0) : q.dims[1];
  const int64_t kv_heads = inside ? call.node.int_or("kv_num_heads", 0) : k.dims[1];
  const int64_t queries = inside ? q.dims[1] : q.dims[2], keys = inside ? k.dims[1] : k.dims[2];
  const int64_t size = inside ? q.dims[2] / heads : q.dims[3],
                value_size = inside ? v.dims[2] / kv_heads : v.dims[3];
  const double scale = static_cast<double>(call.number("scale", 1 / std::sqrt(static_cast<float>(size))));
  Array out;
  out.dims = inside ? std::vector<int64_t>{q.dims[0], queries, heads * value_size}
                    : std::vector<int64_t>{q.dims[0], heads, queries, value_size};
  out.values.resize(static_cast<size_t>(out.count()));
  for (int64_t n = 0; n < q.dims[0] * heads * queries; ++n) {
    const int64_t b = n / queries / heads, h = n / queries % heads, p = n % queries,
                  kv = h / (heads / kv_heads);
    std::vector<double> scores, biases;
    for (int64_t t = 0; t < keys; ++t) {
      double sum = 0;
      for (int64_t i = 0; i < size; ++i)
        sum += element(q, heads, b, h, p, i) * element(k, kv_heads, b, kv, t, i);
      const double given = mask == nullptr ? 0 : mask_at(*mask, {b, h, p, t});
      biases.push_back(!is_bool ? given : given != 0 ? 0 : -INFINITY);
      scores.push_back(sum * scale + biases.back());
    }
    const bool sees_any = *std::max_element(biases.begin(), biases.end()) != -INFINITY;
    const double top = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (double& score : scores) total += score = sees_any ? std::exp(score - top) : 0;
    for (int64_t i = 0; i < value_size; ++i) {
      double sum = 0;
      for (int64_t t = 0; t < keys && sees_any; ++t)
        sum += scores[static_cast<size_t>(t)] / total * element(v, kv_heads, b, kv, t, i);
      const int64_t at = inside ? ((b * queries + p) * heads + h) * value_size + i : n * value_size + i;
      out.values[static_cast<size_t>(at)] = sum;
    }
  }
  *outputs = {out};
  return true;
}

}  // namespace tenon::testing
