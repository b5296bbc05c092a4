#include "core/partition/groups.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace tenon::partition {

PointGraph::PointGraph(const ir::Graph& graph, const std::vector<ir::NodeId>& order,
                       const std::vector<uint32_t>& point_of, uint32_t points)
    : points_(points), first_(points + 1, 0) {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (const ir::NodeId id : order) {
    const uint32_t to = point_of[id];
    for_each_producer(graph, graph.node(id), [&](ir::NodeId producer) {
      const uint32_t from = point_of[producer];
      if (from != to) edges.emplace_back(from, to);
    });
  }
  for (const auto& edge : edges) ++first_[edge.first + 1];
  for (uint32_t p = 0; p < points; ++p) first_[p + 1] += first_[p];
  next_.resize(edges.size());
  std::vector<uint32_t> at(first_.begin(), first_.end() - 1);
  for (const auto& edge : edges) next_[at[edge.first]++] = edge.second;
}

std::vector<bool> PointGraph::on_cycles() const {
  // Tarjan's strongly connected components. The stack is explicit because models are deep.
  constexpr uint32_t kNew = 0xFFFFFFFF;
  std::vector<uint32_t> number(points_, kNew), low(points_, 0), edge(first_.begin(), first_.end() - 1);
  std::vector<bool> on_stack(points_, false), cyclic(points_, false);
  std::vector<uint32_t> component, path;
  uint32_t count = 0;
  const auto enter = [&](uint32_t p) {
    number[p] = low[p] = count++;
    component.push_back(p);
    on_stack[p] = true;
    path.push_back(p);
  };
  const auto leave = [&](uint32_t p) {
    path.pop_back();
    if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[p]);
    if (low[p] != number[p]) return;
    const bool several = component.back() != p;
    for (uint32_t member = kNew; member != p;) {
      member = component.back();
      component.pop_back();
      on_stack[member] = false;
      cyclic[member] = several;
    }
  };
  for (uint32_t start = 0; start < points_; ++start) {
    if (number[start] != kNew) continue;
    enter(start);
    while (!path.empty()) {
      const uint32_t p = path.back();
      if (edge[p] == first_[p + 1]) {
        leave(p);
        continue;
      }
      const uint32_t to = next_[edge[p]++];
      if (number[to] == kNew) {
        enter(to);
      } else if (on_stack[to]) {
        low[p] = std::min(low[p], number[to]);
      }
    }
  }
  return cyclic;
}

std::vector<uint32_t> PointGraph::sorted(const std::vector<uint32_t>& priority) const {
  std::vector<uint32_t> waits_for(points_, 0), out;
  for (const uint32_t to : next_) ++waits_for[to];
  using Entry = std::pair<uint32_t, uint32_t>;  // priority, point
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (uint32_t p = 0; p < points_; ++p) {
    if (waits_for[p] == 0) ready.emplace(priority[p], p);
  }
  while (!ready.empty()) {
    const uint32_t p = ready.top().second;
    ready.pop();
    out.push_back(p);
    for (uint32_t e = first_[p]; e < first_[p + 1]; ++e) {
      if (--waits_for[next_[e]] == 0) ready.emplace(priority[next_[e]], next_[e]);
    }
  }
  return out;
}

}  // namespace tenon::partition
