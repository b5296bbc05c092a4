#include "kernels/common/reduce.h"

#include <numeric>

namespace tenon::cpu {
namespace {

// Appends a dim, merged with the previous one if one stride covers both.
void append(Dims* dims, Dims* strides, int64_t dim, int64_t stride) {
  if (dim == 1) return;
  if (!dims->empty() && strides->back() == stride * dim) {
    dims->back() *= dim;
    strides->back() = stride;
  } else {
    dims->push_back(dim);
    strides->push_back(stride);
  }
}

}  // namespace

int64_t ReduceState::kept_offset(int64_t output) const {
  const int64_t *dims = kept_dims.data(), *strides = kept_strides.data();
  int64_t offset = 0;
  for (size_t d = kept_dims.size(); d-- > 0; output /= dims[d]) offset += output % dims[d] * strides[d];
  return offset;
}

ReduceState prepare_reduce(DimsView dims, std::span<const int> axes) {
  ReduceState state;
  const Dims strides = strides_of(dims);
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end();
    (reduced ? state.reduced : state.outputs) *= dims[d];
    if (reduced)
      append(&state.reduced_dims, &state.reduced_strides, dims[d], strides[d]);
    else
      append(&state.kept_dims, &state.kept_strides, dims[d], strides[d]);
  }
  if (state.reduced_dims.empty()) append(&state.reduced_dims, &state.reduced_strides, state.reduced, 1);
  if (state.reduced_dims.empty()) state.reduced_dims = {1}, state.reduced_strides = {1};
  return state;
}

ReduceBase::ReduceBase(const NodeView& node, bool axes_are_input)
    : axes_are_input_(axes_are_input),
      keepdims_(node.attr_i("keepdims", 1) != 0),
      noop_(node.attr_i("noop_with_empty_axes", 0) != 0),
      axes_(node.attr_ints("axes")) {}

std::vector<int> ReduceBase::axes_of(int rank, bool given, const Dims& input) const {
  const Dims& axes = axes_are_input_ && given ? input : axes_;
  if (!axes.empty()) return normalize_axes(axes, rank);
  std::vector<int> all(noop_ ? 0 : static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

ReduceBase::State ReduceBase::prepare(PrepareContext& p) const {
  const DimsView in = p.input(0).dims();
  const bool given = axes_are_input_ && p.has_input(1);
  const std::vector<int> axes =
      axes_of(static_cast<int>(in.size()), given, given ? p.input(1).to_dims() : Dims());
  Dims out;
  for (size_t d = 0; d < in.size(); ++d) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end();
    if (!reduced)
      out.push_back(in[d]);
    else if (keepdims_)
      out.push_back(1);
  }
  p.set_output(0, out);
  return prepare_reduce(in, axes);
}

}  // namespace tenon::cpu
