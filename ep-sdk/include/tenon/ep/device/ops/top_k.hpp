// TopK along one axis: the first k elements of each line in a total order. NaN counts as the largest number; of equal elements the
// one with the lower index comes first. Results are always in order, also where `sorted` is 0.
//
// A merge sort that keeps k elements: each launch merges up to 32 sorted runs of a line into one, at first runs of one element. A
// work-item finds the rank of one element among those of its group, by a binary search in each other run. So all loops are short,
// and no memory is shared between work-items.
//
// Kernel TopK(x, from, to, y, places, stage, largest, has_y, has_places), a work-item for each element that is left. `from` and `to`
// have the indices of those elements along the axis; the first launch reads no indices, the last one writes y and places instead.
#ifndef TENON_EP_DEVICE_OPS_TOP_K_HPP_
#define TENON_EP_DEVICE_OPS_TOP_K_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/launch.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

inline constexpr int64_t kMergedRuns = 32;

/// One launch. x has `outer` x `axis` x `inner` elements, of which `items` are left per line. A struct of 32-bit integers, declared
/// alike in the language of the kernels.
struct TopKStage {
  int32_t outer, axis, inner;
  int32_t items;    // of a line: runs of `run` elements, of which the last may be shorter
  int32_t run;      // elements of a sorted run
  int32_t group;    // elements of the runs that are merged
  int32_t keep;     // elements that a group leaves
  int32_t results;  // that a line leaves
  int32_t is_first, is_last;
};

struct TopKState {
  std::vector<TopKStage> stages;  // none if nothing is wanted
  uint64_t second = 0;            // the place in the workspace, in bytes, of every other launch's indices
};

/// The launches for k > 0 of each line of `axis` elements.
inline std::vector<TopKStage> top_k_stages(int64_t outer, int64_t axis, int64_t inner, int64_t k) {
  std::vector<TopKStage> out;
  for (int64_t items = axis, run = 1;;) {
    const int64_t group = std::min(items, run * kMergedRuns), groups = (items + group - 1) / group;
    const int64_t keep = std::min(k, group);
    const int64_t results = (groups - 1) * keep + std::min(keep, items - (groups - 1) * group);
    out.push_back({narrow(outer), narrow(axis), narrow(inner), narrow(items), narrow(run), narrow(group),
                   narrow(keep), narrow(results), int32_t{out.empty()}, int32_t{groups == 1}});
    if (groups == 1) return out;
    items = results;
    run = keep;
  }
}

template <class B>
class TopK {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kDeviceRealTypes + kIntTypes)
        .input(1, kIndexTypes)
        .that(!has_attribute(n) || n.has_attr("k"), TENON_REJECT_ATTRIBUTE, "the attribute k is missing");
  }
  static std::vector<int> shape_inputs(const NodeView& n) {
    return has_attribute(n) ? std::vector<int>{} : std::vector<int>{1};
  }
  explicit TopK(const NodeView& n)
      : axis_(n.attr_i("axis", -1)),
        k_(has_attribute(n) ? n.attr_i("k") : 0),
        has_attribute_(has_attribute(n)),
        largest_(n.attr_i("largest", 1) != 0),
        kernel_(B::load(n, "TopK", {computes_in(n.input(0).dtype())})) {}

  TopKState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const size_t axis = checked_axis(axis_, x.size());
    const int64_t k = wanted(p);
    require(k >= 0 && k <= x[axis], TENON_INVALID_ARGUMENT, "k is ", k, ", and the axis has ", x[axis],
            " elements");
    Dims dims(x.begin(), x.end());
    dims[axis] = k;
    p.set_output(0, dims);
    p.set_output(1, dims);
    TopKState out;
    narrow(product_of(2, element_count(x)));  // kernels add two places
    if (element_count(dims) == 0) return out;
    const int64_t outer = element_count(x.first(axis)), inner = element_count(x.subspan(axis + 1));
    out.stages = top_k_stages(outer, x[axis], inner, k);
    if (out.stages.size() == 1) return out;
    const auto bytes = [&](size_t stage) {
      const auto lines = static_cast<uint64_t>(outer * inner);
      return lines * static_cast<uint64_t>(out.stages[stage].results) * sizeof(int32_t);
    };
    out.second = bytes(0);
    p.workspace(bytes(0) + (out.stages.size() > 2 ? bytes(1) : 0));  // later launches leave less
    return out;
  }

  void record(typename B::Recorder& ctx, const TopKState& state) const {
    const TensorArg nothing{&kNoTensor};
    const bool has_y = ctx.has_output(0), has_places = ctx.has_output(1);
    const TensorArg y = has_y ? out(ctx.output(0)) : nothing,
                    places = has_places ? out(ctx.output(1)) : nothing;
    const auto merge = [&](const TopKStage& stage, const auto& from, const auto& to) {
      const Size3 items{static_cast<size_t>(stage.items) * static_cast<size_t>(stage.inner),
                        static_cast<size_t>(stage.outer), 1};
      launch(ctx, kernel_, items, in(ctx.input(0)), from, to, y, places, stage, int32_t{largest_},
             int32_t{has_y}, int32_t{has_places});
    };
    if (state.stages.size() == 1) return merge(state.stages[0], nothing, nothing);
    WorkspaceArg from{state.second}, to{0};
    for (const TopKStage& stage : state.stages) {
      merge(stage, from, to);
      std::swap(from, to);
    }
  }

 private:
  /// Before version 10, k is an attribute.
  static bool has_attribute(const NodeView& n) { return n.since_version() < 10; }
  /// The contract says that K is one number.
  int64_t wanted(const PrepareContext& p) const { return has_attribute_ ? k_ : p.input(1).to_dims().at(0); }

  int64_t axis_, k_;
  bool has_attribute_, largest_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_TOP_K_HPP_
