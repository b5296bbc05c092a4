// What the operators of ai.onnx.ml share: rows of numbers, class labels, transforms of scores.
#pragma once

#include <span>
#include <string>

#include "kernels/common/shape.h"

namespace tenon::cpu {

inline constexpr TypeList<float, double, int64_t, int32_t> kMlNumbers;

/// The final transform of the scores of a row.
enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

/// Reads attribute `post_transform`: a name, or a number since TreeEnsemble-5.
PostTransform post_transform_of(const NodeView& n);
/// Transforms one row in place.
void apply_transform(PostTransform transform, std::span<double> scores);
double logistic(double x);

/// The two scores of a model that gives one: the negative class gets 1 - s, or -s when `symmetric`.
std::array<double, 2> two_scores(PostTransform transform, double score, bool symmetric);

/// [N, C], or [C] as one row; contracts exclude other ranks.
struct Rows {
  int64_t rows = 1, columns = 1;
};
Rows rows_of(DimsView dims);

/// The elements as float32. Other types of kMlNumbers are converted in scratch memory.
const float* numbers_as_float(const Context& ctx, TensorView from);

/// The labels of a classifier: strings or integers, whichever attribute is present.
class ClassLabels {
 public:
  ClassLabels(const NodeView& n, std::string_view strings, std::string_view ints)
      : strings_(n.attr_strings(strings)), ints_(n.attr_ints(ints)) {}

  bool are_strings() const { return !strings_.empty(); }
  int64_t size() const { return static_cast<int64_t>(are_strings() ? strings_.size() : ints_.size()); }
  const std::vector<std::string>& strings() const { return strings_; }
  const std::vector<int64_t>& ints() const { return ints_; }

  /// Writes the label of each winner to output `output`, [rows].
  void write(const Context& ctx, int output, std::span<const int32_t> winners) const;

 private:
  std::vector<std::string> strings_;
  std::vector<int64_t> ints_;
};

}  // namespace tenon::cpu
