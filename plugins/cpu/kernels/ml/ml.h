// What the operators of ai.onnx.ml share: rows of numbers, class labels, transforms of scores, lookup tables.
#pragma once

#include <span>
#include <string>

#include "kernels/common/shape.h"

namespace tenon::cpu {

inline constexpr TypeList<float, double, int64_t, int32_t> kMlNumbers;

/// What happens to the scores of a row at the end.
enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

/// Attribute `post_transform`: its name, or from TreeEnsemble-5 on its number.
PostTransform post_transform_of(const NodeView& n);
/// In place, over one row.
void apply_transform(PostTransform transform, std::span<double> scores);
double logistic(double x);

/// The two scores of a model that gives one: the negative class is 1 - s, or -s when `symmetric`.
std::array<double, 2> two_scores(PostTransform transform, double score, bool symmetric);

/// [N, C], or [C] as one row; the kernels' contracts leave no other rank.
struct Rows {
  int64_t rows = 1, columns = 1;
};
Rows rows_of(DimsView dims);

/// Elements as float32, converted into scratch memory when they are of another type of kMlNumbers.
const float* numbers_as_float(const Context& ctx, TensorView from);

/// The labels of a classifier: strings or integers, whichever attribute has any.
class ClassLabels {
 public:
  ClassLabels(const NodeView& n, std::string_view strings, std::string_view ints)
      : strings_(n.attr_strings(strings)), ints_(n.attr_ints(ints)) {}

  bool are_strings() const { return !strings_.empty(); }
  int64_t size() const { return static_cast<int64_t>(are_strings() ? strings_.size() : ints_.size()); }
  const std::vector<std::string>& strings() const { return strings_; }
  const std::vector<int64_t>& ints() const { return ints_; }

  /// Gives output `output`, [rows], the label of each winner.
  void write(const Context& ctx, int output, std::span<const int32_t> winners) const;

 private:
  std::vector<std::string> strings_;
  std::vector<int64_t> ints_;
};

}  // namespace tenon::cpu
