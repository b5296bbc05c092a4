#include <algorithm>
#include <cmath>
#include <limits>

#include "run.h"

namespace fake_cudnn {
namespace {

double dot(const float* a, const float* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

}  // namespace

Elements attend(const Tensor& q, const Elements& queries, const Tensor& k, const Elements& keys,
                const Tensor& v, const Elements& values, double scale) {
  const int64_t heads = q.dims[1], length = q.dims[2], size = q.dims[3], known = k.dims[2],
                value_size = v.dims[3];
  // Tensor cores take weights in the type of the values.
  const auto rounding =
      v.type == fake_cuda::Type::kHalf ? fake_cuda::Rounding::kHalf : fake_cuda::Rounding::kBfloat;
  Elements out(static_cast<size_t>(q.dims[0] * heads * length * value_size));
  std::vector<double> weights(static_cast<size_t>(known));
  for (int64_t head = 0; head < q.dims[0] * heads; ++head) {
    const int64_t batch = head / heads, own = head % heads;
    // Several heads of queries share one of keys, and one of values.
    const float* const from_k = keys.data() + (batch * k.dims[1] + own / (heads / k.dims[1])) * known * size;
    const float* const from_v =
        values.data() + (batch * v.dims[1] + own / (heads / v.dims[1])) * known * value_size;
    for (int64_t row = 0; row < length; ++row) {
      const float* const query = queries.data() + (head * length + row) * size;
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t j = 0; j < known; ++j) {
        weights[static_cast<size_t>(j)] = scale * dot(query, from_k + j * size, size);
        most = std::max(most, weights[static_cast<size_t>(j)]);
      }
      for (double& weight : weights) sum += weight = std::exp(weight - most);
      std::vector<double> row_sums(static_cast<size_t>(value_size));
      for (int64_t j = 0; j < known; ++j) {
        const double weight =
            fake_cuda::rounded(static_cast<float>(weights[static_cast<size_t>(j)]), rounding);
        for (int64_t d = 0; d < value_size; ++d)
          row_sums[static_cast<size_t>(d)] += weight * from_v[j * value_size + d];
      }
      float* const to = out.data() + (head * length + row) * value_size;
      for (int64_t d = 0; d < value_size; ++d)
        to[d] = static_cast<float>(row_sums[static_cast<size_t>(d)] / sum);
    }
  }
  return out;
}

}  // namespace fake_cudnn
