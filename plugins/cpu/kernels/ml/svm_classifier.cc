#include "kernels/common/scratch.h"
#include "kernels/ml/svm.h"

namespace tenon::cpu {
namespace {

/// From the probability of each class against each other one to one per class, by the fixed point iteration
/// of Wu, Lin and Weng ("Probability estimates for multi-class classification", 2004, second method). pairs[i
/// * n + j] is i against j. The result is p [n]; q [n * n] and qp [n] are scratch.
void couple(const double* pairs, size_t n, double* q, double* qp, double* p) {
  std::fill_n(q, n * n, 0.0);
  std::fill_n(p, n, 1 / static_cast<double>(n));
  for (size_t t = 0; t < n; ++t)
    for (size_t j = 0; j < n; ++j) {
      if (j == t) continue;
      q[t * n + t] += pairs[j * n + t] * pairs[j * n + t];
      q[t * n + j] = -pairs[j * n + t] * pairs[t * n + j];
    }
  const size_t rounds = std::max<size_t>(100, n);
  for (size_t round = 0; round < rounds; ++round) {
    double pqp = 0, error = 0;
    for (size_t t = 0; t < n; ++t) {
      qp[t] = 0;
      for (size_t j = 0; j < n; ++j) qp[t] += q[t * n + j] * p[j];
      pqp += p[t] * qp[t];
    }
    for (size_t t = 0; t < n; ++t) error = std::max(error, std::fabs(qp[t] - pqp));
    if (error < 0.005 / static_cast<double>(n)) break;
    for (size_t t = 0; t < n; ++t) {
      const double step = (pqp - qp[t]) / q[t * n + t], scale = 1 / (1 + step);
      p[t] += step;
      pqp = (pqp + step * (step * q[t * n + t] + 2 * qp[t])) * scale * scale;
      for (size_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + step * q[t * n + j]) * scale;
        p[j] *= scale;
      }
    }
  }
}

// With support vectors: one classifier and one vote per pair of classes. Without: one linear score per class.
class SvmClassifier {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kMlNumbers); }

  explicit SvmClassifier(const NodeView& n)
      : kernel_(n),
        labels_(n, "classlabels_strings", "classlabels_ints"),
        coefficients_(n.attr_floats("coefficients")),
        vectors_(n.attr_floats("support_vectors")),
        rho_(n.attr_floats("rho")),
        prob_a_(n.attr_floats("prob_a")),
        prob_b_(n.attr_floats("prob_b")),
        per_class_(n.attr_ints("vectors_per_class")),
        transform_(post_transform_of(n)) {
    classes_ = static_cast<size_t>(labels_.size());
    require(classes_ > 0, TENON_INVALID_ARGUMENT, "there are no class labels");
    for (const int64_t count : per_class_) {
      require(count >= 0 && static_cast<size_t>(count) <= vectors_.size() - total_, TENON_INVALID_ARGUMENT,
              "vectors_per_class has ", count, " for ", vectors_.size(), " elements of support_vectors");
      starts_.push_back(total_);
      total_ += static_cast<size_t>(count);
    }
    if (total_ > 0)
      check_pairs();
    else
      check_linear();
  }

  void prepare(PrepareContext& p) const {
    const Rows x = rows_of(p.input(0).dims());
    require(x.columns == features_, TENON_INVALID_ARGUMENT, x.columns, " features, expected ", features_);
    p.set_output(0, Dims{x.rows});
    p.set_output(1, Dims{x.rows, outputs()});
  }

  void run(const Context& ctx) const {
    const Rows x = rows_of(ctx.input(0).dims());
    const float* data = numbers_as_float(ctx, ctx.input(0));
    float* out = ctx.has_output(1) ? ctx.output(1).data<float>() : nullptr;
    const std::span<int32_t> winners = scratch_list<int32_t>(ctx, x.rows);
    const WorkerLists<double> rooms(ctx, static_cast<int64_t>(Room::size(*this)));
    const WorkerLists<int> all_votes(ctx, static_cast<int64_t>(classes_));
    const auto work = static_cast<int64_t>(vectors_.size() + coefficients_.size() + 1);
    const int64_t grain = std::max<int64_t>(1, kGrainCheap / work);
    ctx.parallel_for(x.rows, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
      const Room room(*this, rooms.of(worker), all_votes.of(worker));
      for (int64_t r = begin; r < end; ++r) {
        ctx.check_cancelled();
        std::span<double> scores;
        winners[static_cast<size_t>(r)] = classify(data + r * features_, room, &scores);
        for (size_t i = 0; out != nullptr && i < scores.size(); ++i)
          out[r * outputs() + static_cast<int64_t>(i)] = static_cast<float>(scores[i]);
      }
    });
    labels_.write(ctx, 0, winners);
  }

 private:
  struct Room {
    static size_t size(const SvmClassifier& s) {
      return s.total_ + std::max<size_t>(2, s.pairs()) + 2 * s.classes_ * s.classes_ + 2 * s.classes_;
    }
    Room(const SvmClassifier& s, std::span<double> all, std::span<int> votes) : votes(votes) {
      const auto take = [&all](size_t n) {
        const std::span<double> out = all.first(n);
        all = all.subspan(n);
        return out;
      };
      compared = take(s.total_), pairs = take(std::max<size_t>(2, s.pairs()));
      against = take(s.classes_ * s.classes_), q = take(s.classes_ * s.classes_);
      classes = take(s.classes_), qp = take(s.classes_);
    }
    std::span<double> compared;        // one per support vector
    std::span<double> pairs;           // scores; at least two elements
    std::span<double> against, q, qp;  // scratch of couple()
    std::span<double> classes;         // scores of the classes
    std::span<int> votes;
  };

  size_t pairs() const { return classes_ * (classes_ - 1) / 2; }
  int64_t outputs() const {
    if (total_ == 0 || !prob_a_.empty() || classes_ <= 2) return static_cast<int64_t>(classes_);
    return static_cast<int64_t>(pairs());
  }

  void check_pairs() {
    features_ = static_cast<int64_t>(vectors_.size() / total_);
    require(per_class_.size() == classes_ && vectors_.size() % total_ == 0 &&
                coefficients_.size() >= (classes_ - 1) * total_ && rho_.size() >= pairs() && classes_ > 1,
            TENON_INVALID_ARGUMENT,
            "the lists of support vectors, coefficients, rho and labels do not match");
    require(prob_a_.size() == prob_b_.size() && (prob_a_.empty() || prob_a_.size() >= pairs()),
            TENON_INVALID_ARGUMENT, prob_a_.size(), " and ", prob_b_.size(), " probability coefficients for ",
            pairs(), " pairs");
  }
  void check_linear() {
    kernel_.make_linear();
    features_ = static_cast<int64_t>(coefficients_.size() / classes_);
    require(coefficients_.size() % classes_ == 0 && !rho_.empty(), TENON_INVALID_ARGUMENT,
            "the lists of coefficients, rho and labels do not match");
  }

  int32_t classify(const float* row, const Room& room, std::span<double>* out_scores) const {
    if (total_ == 0) {
      for (size_t c = 0; c < classes_; ++c)
        room.classes[c] =
            kernel_(row, coefficients_.data() + static_cast<int64_t>(c) * features_, features_) +
            static_cast<double>(rho_[0]);
      *out_scores = room.classes;
      const auto winner = std::max_element(out_scores->begin(), out_scores->end()) - out_scores->begin();
      apply_transform(transform_, *out_scores);
      return static_cast<int32_t>(winner);
    }
    score_pairs(row, room);
    *out_scores = room.pairs.first(pairs());
    if (!prob_a_.empty()) {
      probabilities(room);
      *out_scores = room.classes;
    } else if (classes_ == 2) {
      *out_scores = room.pairs.first(2);
      room.pairs[1] = room.pairs[0];
      room.pairs[0] = -room.pairs[1];
    }
    apply_transform(transform_, *out_scores);
    return static_cast<int32_t>(std::max_element(room.votes.begin(), room.votes.end()) - room.votes.begin());
  }

  /// One score per pair (0, 1), (0, 2), ... (1, 2), ... Row k of a class's coefficients is for its k-th other
  /// class.
  void score_pairs(const float* row, const Room& room) const {
    std::fill(room.votes.begin(), room.votes.end(), 0);
    for (size_t v = 0; v < total_; ++v)
      room.compared[v] = kernel_(row, vectors_.data() + static_cast<int64_t>(v) * features_, features_);
    size_t pair = 0;
    for (size_t i = 0; i < classes_; ++i)
      for (size_t j = i + 1; j < classes_; ++j, ++pair) {
        const double score =
            weigh(room.compared, j - 1, i) + weigh(room.compared, i, j) + static_cast<double>(rho_[pair]);
        room.pairs[pair] = score;
        ++room.votes[score > 0 ? i : j];
      }
  }
  double weigh(std::span<const double> compared, size_t coefficient_row, size_t of_class) const {
    double sum = 0;
    const size_t first = starts_[of_class], last = first + static_cast<size_t>(per_class_[of_class]);
    for (size_t v = first; v < last; ++v)
      sum += static_cast<double>(coefficients_[coefficient_row * total_ + v]) * compared[v];
    return sum;
  }

  void probabilities(const Room& room) const {
    std::fill(room.against.begin(), room.against.end(), 0.0);
    size_t pair = 0;
    for (size_t i = 0; i < classes_; ++i)
      for (size_t j = i + 1; j < classes_; ++j, ++pair) {
        const double raw = logistic(
            -(room.pairs[pair] * static_cast<double>(prob_a_[pair]) + static_cast<double>(prob_b_[pair])));
        const double p = std::clamp(raw, 1e-7, 1 - 1e-7);
        room.against[i * classes_ + j] = p;
        room.against[j * classes_ + i] = 1 - p;
      }
    couple(room.against.data(), classes_, room.q.data(), room.qp.data(), room.classes.data());
  }

  SvmKernel kernel_;
  ClassLabels labels_;
  std::vector<float> coefficients_, vectors_, rho_, prob_a_, prob_b_;
  std::vector<int64_t> per_class_;
  PostTransform transform_;
  std::vector<size_t> starts_;  // first support vector of each class
  size_t classes_ = 0, total_ = 0;
  int64_t features_ = 0;
};
TENON_KERNEL(SvmClassifier, .domain = "ai.onnx.ml", .op_type = "SVMClassifier", .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu
