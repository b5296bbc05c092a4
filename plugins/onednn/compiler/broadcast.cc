// Repeats a tensor along its axes of one element.
#include <algorithm>

#include "compiler/builder.h"

namespace tenon::onednn {
namespace {

/// Copies `from` into `to` of shape `dims`; a stride of 0 repeats.
void repeat(const float* from, float* to, const Dims& dims, const Dims& strides) {
  const size_t rank = dims.size();
  const int64_t row = dims[rank - 1], stride = strides[rank - 1];
  Dims at(rank, 0);
  for (int64_t rows = ep::element_count(dims) / row, offset = 0; rows > 0; --rows, to += row) {
    if (stride == 0) {
      std::fill_n(to, row, from[offset]);
    } else {
      std::copy_n(from + offset, row, to);
    }
    for (size_t axis = rank - 1; axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace

Tensor Builder::broadcast(const Tensor& from, DimsView wanted) {
  const Dims dims = wanted.empty() ? Dims{1} : Dims(wanted.begin(), wanted.end());
  Dims own(dims.size() - from.layout.dims().size(), 1);
  own.insert(own.end(), from.layout.dims().begin(), from.layout.dims().end());
  Tensor x = reshaped(from, own);
  if (own == dims) return x;
  const Tensor dense = as(x, Layout::plain(Type::kFloat32, own));
  Tensor out = temporary(Layout::plain(Type::kFloat32, dims));
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = own[i] == 1 ? 0 : stride;
    stride *= own[i];
  }
  local({dense, out}, [dims, strides](std::span<void* const> addresses) {
    repeat(static_cast<const float*>(addresses[0]), static_cast<float*>(addresses[1]), dims, strides);
  });
  return out;
}

}  // namespace tenon::onednn
