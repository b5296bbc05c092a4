// Linear models over rows of numbers.
#pragma once

#include "kernels/common/gemm.h"
#include "kernels/common/scratch.h"
#include "kernels/ml/ml.h"

namespace tenon::cpu {

/// In prepare: throws an Error unless there are `outputs` rows with one coefficient per feature.
inline void require_coefficients(const Rows& x, const std::vector<float>& coefficients, int64_t outputs) {
  const auto given = static_cast<int64_t>(coefficients.size());
  require(given % outputs == 0 && given / outputs == x.columns, TENON_INVALID_ARGUMENT, given,
          " coefficients for ", outputs, " outputs of ", x.columns, " features");
}

/// x [rows, columns] times coefficients [outputs, columns], plus intercepts if any. In scratch memory.
inline float* linear_scores(const Context& ctx, const std::vector<float>& coefficients,
                            const std::vector<float>& intercepts, int64_t outputs) {
  const Rows x = rows_of(ctx.input(0).dims());
  auto* scores = ctx.scratch<float>(x.rows * outputs);
  for (int64_t i = 0; i < x.rows * outputs; ++i)
    scores[i] = intercepts.empty() ? 0.0f : intercepts[static_cast<size_t>(i % outputs)];
  const float* data = numbers_as_float(ctx, ctx.input(0));
  gemm<float>(ctx, {x.rows, outputs, x.columns, data, x.columns, false, coefficients.data(), x.columns, true,
                    scores, outputs, true});
  return scores;
}

/// Transforms one row of scores into `out`. `room` has as many elements as the row.
inline void transform_row(PostTransform transform, const float* scores, std::span<double> room, float* out) {
  if (transform == PostTransform::kNone) {
    std::copy_n(scores, room.size(), out);
    return;
  }
  std::copy_n(scores, room.size(), room.begin());
  apply_transform(transform, room);
  for (size_t i = 0; i < room.size(); ++i) out[i] = static_cast<float>(room[i]);
}

}  // namespace tenon::cpu
