// Attention in 16 bits, with cuDNN and by the own kernels, against plain loops in double.
#include "tests/cuda/provider/library_case.h"

namespace tenon::test {
namespace {

using Dims = std::vector<int64_t>;

struct AttentionCase {
  int64_t batch, heads, kv_heads, queries, keys, size, value_size;
  float scale = 0;  // 0: ONNX's default
  bool is_causal = false;
  bool heads_inside = false;  // [batch, length, heads * size]
  bool is_asked = true;       // cuDNN does it
};

/// The place of an element of [batch, heads, length, size] as the case lays it.
size_t place(const AttentionCase& one, int64_t heads, int64_t length, int64_t size, int64_t b, int64_t h,
             int64_t i, int64_t d) {
  return static_cast<size_t>(one.heads_inside ? ((b * length + i) * heads + h) * size + d
                                              : ((b * heads + h) * length + i) * size + d);
}

Dims dims_of(const AttentionCase& one, int64_t heads, int64_t length, int64_t size) {
  if (one.heads_inside) return {one.batch, length, heads * size};
  return {one.batch, heads, length, size};
}

Numbers attend(const AttentionCase& one, const Numbers& q, const Numbers& k, const Numbers& v) {
  const double scale =
      one.scale != 0 ? static_cast<double>(one.scale) : 1 / std::sqrt(static_cast<double>(one.size));
  Numbers y{dims_of(one, one.heads, one.queries, one.value_size), {}};
  y.values.resize(count_of(y.dims));
  for (int64_t b = 0; b < one.batch; ++b) {
    for (int64_t h = 0; h < one.heads; ++h) {
      const int64_t shared = h / (one.heads / one.kv_heads);
      for (int64_t i = 0; i < one.queries; ++i) {
        std::vector<double> weights;
        double most = -INFINITY, sum = 0;
        const int64_t seen = one.is_causal ? std::min(one.keys, i + 1) : one.keys;
        for (int64_t j = 0; j < seen; ++j) {
          double score = 0;
          for (int64_t d = 0; d < one.size; ++d)
            score += q.values[place(one, one.heads, one.queries, one.size, b, h, i, d)] *
                     k.values[place(one, one.kv_heads, one.keys, one.size, b, shared, j, d)];
          weights.push_back(score * scale);
          most = std::max(most, weights.back());
        }
        for (double& weight : weights) sum += weight = std::exp(weight - most);
        for (int64_t d = 0; d < one.value_size; ++d) {
          double out = 0;
          for (size_t j = 0; j < weights.size(); ++j)
            out += weights[j] / sum *
                   v.values[place(one, one.kv_heads, one.keys, one.value_size, b, shared,
                                  static_cast<int64_t>(j), d)];
          y.values[place(one, one.heads, one.queries, one.value_size, b, h, i, d)] = out;
        }
      }
    }
  }
  return y;
}

void expect_attention(const AttentionCase& one, uint32_t dtype) {
  const Numbers q = drawn(dtype, dims_of(one, one.heads, one.queries, one.size), 1),
                k = drawn(dtype, dims_of(one, one.kv_heads, one.keys, one.size), 2),
                v = drawn(dtype, dims_of(one, one.kv_heads, one.keys, one.value_size), 3);
  NodeModel model{dtype, {q, k, v}, "Attention", {}};
  model.opset = 23;
  if (one.scale != 0) model.attributes.push_back(ir::Attribute::of_float("scale", one.scale));
  if (one.is_causal) model.attributes.push_back(ir::Attribute::of_int("is_causal", 1));
  if (one.heads_inside) {
    model.attributes.push_back(ir::Attribute::of_int("q_num_heads", one.heads));
    model.attributes.push_back(ir::Attribute::of_int("kv_num_heads", one.kv_heads));
  }
  const Numbers wanted = attend(one, q, k, v);
  for (const std::string options : {"options.convolutions=auto", "options.convolutions=own"}) {
    const std::string what = ep::cat(ep::dtype_name(dtype), ": ", ep::DimsView(q.dims), " and ",
                                     ep::DimsView(k.dims), one.is_causal ? ", causal, " : ", ", options);
    reset_cuda_calls();
    const Numbers got = run_on_cuda(model, {options});
    const bool is_expected = TENON_CUDA_HAS_CUDNN && one.is_asked && options == "options.convolutions=auto";
    EXPECT_EQ(cuda_calls().of("cudnnBackendExecute") > 0, is_expected) << what;
    ASSERT_EQ(got.dims, wanted.dims) << what;
    EXPECT_LE(distance(got, wanted), dtype == TENON_FLOAT16 ? 3e-3 : 2e-2) << what;
  }
}

TEST(CudaAttention, OfSequencesAndGroupsOfHeads) {
  for (const uint32_t dtype : {TENON_FLOAT16, TENON_BFLOAT16}) {
    expect_attention({2, 2, 2, 32, 32, 16, 16}, dtype);
    expect_attention({1, 4, 2, 19, 33, 8, 24, 0.5f}, dtype);
    expect_attention({2, 4, 4, 20, 20, 16, 16, 0, false, true}, dtype);
    expect_attention({1, 2, 2, 24, 24, 16, 16, 0, true, false, false}, dtype);
    expect_attention({1, 2, 1, 1, 40, 16, 16, 0, false, false, false}, dtype);   // a decoder's
    expect_attention({1, 1, 1, 16, 16, 20, 20, 0, false, false, false}, dtype);  // no whole eights
  }
}

}  // namespace
}  // namespace tenon::test
