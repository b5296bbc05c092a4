#include "core/partition/label_swap.h"

#include <algorithm>
#include <array>

#include "core/partition/cost_terms.h"
#include "core/partition/min_cut.h"

namespace tenon::partition {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

using Assignment = std::vector<uint32_t>;

/// One exchange. The source's side of the cut is the first label, the sink's side the second.
class Swap {
 public:
  Swap(const CostProblem& problem, const Assignment& now, uint32_t first, uint32_t second)
      : problem_(problem),
        now_(now),
        labels_{first, second},
        point_(now.size(), kNone),
        fixed_(problem.labels) {
    for (uint32_t node = 0; node < now.size(); ++node) {
      if (now[node] != first && now[node] != second) continue;
      if (!can_run(problem, node, first) || !can_run(problem, node, second)) continue;
      point_[node] = cut_.add_node();
      free_.push_back(node);
      unary_.push_back(
          {std::min(problem.time(node, first), kMostCost), std::min(problem.time(node, second), kMostCost)});
    }
  }

  Assignment best() {
    if (free_.empty()) return now_;
    for (const CostProblem::Value& value : problem_.values) add(value);
    std::vector<uint32_t> stay;
    for (size_t i = 0; i < free_.size(); ++i) {
      const uint32_t point = point_[free_[i]];
      const int64_t both = std::min(unary_[i][0], unary_[i][1]);
      cut_.add_edge(point, MinCut::kSink, unary_[i][0] - both);
      cut_.add_edge(MinCut::kSource, point, unary_[i][1] - both);
      if (now_[free_[i]] == labels_[0]) stay.push_back(point);
    }
    const std::vector<bool> side = cut_.source_side(stay);
    Assignment out = now_;
    for (const uint32_t node : free_) out[node] = side[point_[node]] ? labels_[0] : labels_[1];
    return out;
  }

 private:
  void add(const CostProblem::Value& value) {
    const uint32_t producer = point_[value.producer];
    fixed_.clear();
    movable_.clear();
    for (const uint32_t consumer : value.consumers) {
      if (point_[consumer] == kNone) {
        fixed_.insert(now_[consumer]);
      } else {
        movable_.push_back(point_[consumer]);
      }
    }
    if (producer == kNone) {
      // Moves from the label of the producer to those of fixed consumers are paid in any case.
      const uint32_t from = now_[value.producer];
      if (!fixed_.has(labels_[0])) pay_if_any(0, MinCut::kSink, problem_.move(value, from, labels_[0]));
      if (!fixed_.has(labels_[1])) pay_if_any(1, MinCut::kSource, problem_.move(value, from, labels_[1]));
      return;
    }
    for (const int side : {0, 1}) {
      int64_t& sum = unary_[producer - 2][static_cast<size_t>(side)];
      for (const uint32_t to : fixed_.labels()) {
        sum = plus(sum, problem_.move(value, labels_[static_cast<size_t>(side)], to));
      }
    }
    if (!fixed_.has(labels_[1])) pay_if_any(1, producer, problem_.move(value, labels_[0], labels_[1]));
    if (!fixed_.has(labels_[0])) pay_if_any(0, producer, problem_.move(value, labels_[1], labels_[0]));
  }

  /// Pays `cost` when any point of movable_ is on `side` and `other` on the other side.
  void pay_if_any(int side, uint32_t other, int64_t cost) {
    if (cost == 0 || movable_.empty()) return;
    uint32_t any = movable_[0];
    if (movable_.size() > 1) {
      any = cut_.add_node();  // is on `side` as soon as one of them is
      for (const uint32_t point : movable_) {
        side == 0 ? cut_.add_edge(point, any, MinCut::kUnlimited)
                  : cut_.add_edge(any, point, MinCut::kUnlimited);
      }
    }
    side == 0 ? cut_.add_edge(any, other, cost) : cut_.add_edge(other, any, cost);
  }

  const CostProblem& problem_;
  const Assignment& now_;
  const std::array<uint32_t, 2> labels_;
  MinCut cut_;
  std::vector<uint32_t> point_;  // per node: its point in the cut, kNone when its label is fixed
  std::vector<uint32_t> free_;   // the nodes with a point, which has the number of their place + 2
  std::vector<std::array<int64_t, 2>>
      unary_;                      // per free node: what each label costs whatever the others have
  LabelSet fixed_;                 // of the value at hand: the labels of fixed consumers
  std::vector<uint32_t> movable_;  // of the value at hand: the points of its other consumers
};

}  // namespace

std::vector<uint32_t> swap_labels(const CostProblem& problem, const std::vector<uint32_t>& now,
                                  uint32_t first, uint32_t second) {
  return Swap(problem, now, first, second).best();
}

}  // namespace tenon::partition
