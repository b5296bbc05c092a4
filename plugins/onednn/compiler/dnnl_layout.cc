#include <algorithm>
#include <numeric>

#include "compiler/dnnl_data.h"

namespace tenon::onednn {

namespace {

memory::data_type dnnl_type(Type type) {
  switch (type) {
    case Type::kFloat32:
      return memory::data_type::f32;
    case Type::kBFloat16:
      return memory::data_type::bf16;
    case Type::kInt32:
    case Type::kInt64:  // only the places of elements matter, not their size
      return memory::data_type::s32;
    case Type::kInt8:
      return memory::data_type::s8;
    case Type::kUInt8:
      return memory::data_type::u8;
  }
  return memory::data_type::undef;
}

Type own_type(dnnl_data_type_t type) {
  switch (type) {
    case dnnl_bf16:
      return Type::kBFloat16;
    case dnnl_s32:
      return Type::kInt32;
    case dnnl_s8:
      return Type::kInt8;
    case dnnl_u8:
      return Type::kUInt8;
    default:
      return Type::kFloat32;
  }
}

/// One axis as a nest of loops, outermost first: element count and stride.
struct Loop {
  int64_t count, stride;
};

/// Loops of each axis over its padded size. Adjacent loops that form one are merged, so that two layouts with
/// equal loops place every element at the same address.
std::vector<std::vector<Loop>> loops_of(const dnnl_memory_desc_t& d) {
  const dnnl_blocking_desc_t& blocking = d.format_desc.blocking;
  std::vector<std::vector<Loop>> inner(static_cast<size_t>(d.ndims)), out(inner.size());
  std::vector<int64_t> blocks(inner.size(), 1);
  int64_t stride = 1;
  for (int b = blocking.inner_nblks - 1; b >= 0; --b) {
    const auto axis = static_cast<size_t>(blocking.inner_idxs[b]);
    inner[axis].insert(inner[axis].begin(), {blocking.inner_blks[b], stride});
    stride *= blocking.inner_blks[b];
    blocks[axis] *= blocking.inner_blks[b];
  }
  for (size_t axis = 0; axis < inner.size(); ++axis) {
    inner[axis].insert(inner[axis].begin(), {d.padded_dims[axis] / blocks[axis], blocking.strides[axis]});
    for (const Loop& loop : inner[axis]) {
      if (loop.count == 1) continue;
      auto& merged = out[axis];
      if (!merged.empty() && merged.back().stride == loop.count * loop.stride) {
        merged.back() = {merged.back().count * loop.count, loop.stride};
      } else {
        merged.push_back(loop);
      }
    }
  }
  return out;
}

std::string key_of(const dnnl_memory_desc_t& d) {
  std::string key = std::to_string(d.data_type) + ":";
  for (int i = 0; i < d.ndims; ++i) key += std::to_string(d.dims[i]) + ",";
  if (d.format_kind == dnnl_format_kind_any) return key + "any";
  if (d.format_kind != dnnl_blocked) {  // Winograd weights and packed matrices are compared by their bytes
    const auto* bytes = reinterpret_cast<const unsigned char*>(&d.format_desc);
    key +=
        "opaque" + std::to_string(d.format_kind) + ":" + std::to_string(dnnl_memory_desc_get_size(&d)) + ":";
    uint64_t hash = 1469598103934665603ull;
    for (size_t i = 0; i < sizeof(d.format_desc); ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
    return key + std::to_string(hash);
  }
  key += ep::cat("@", d.offset0, ":");
  const auto loops = loops_of(d);
  for (size_t axis = 0; axis < loops.size(); ++axis) {
    if (d.padded_dims[axis] != d.dims[axis]) key += ep::cat("p", d.padded_dims[axis]);
    for (const Loop& loop : loops[axis]) key += ep::cat(loop.count, "*", loop.stride, " ");
    key += "|";
  }
  if (d.extra.flags != 0) {
    key += ep::cat("x", d.extra.flags, ",", d.extra.compensation_mask, ",", d.extra.scale_adjust);
  }
  return key;
}

/// Strides of a dense tensor whose axes lie in memory in `order`, outermost first.
Dims strides_in_order(const dnnl_memory_desc_t& d, const std::vector<int>& order) {
  Dims out(order.size(), 1);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    out[axis] = stride;
    stride *= d.dims[axis];
  }
  return out;
}

/// Whether `strides` match for all axes with more than one element.
bool are_strides_of(const dnnl_memory_desc_t& d, const Dims& strides) {
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (d.dims[axis] != 1 && d.format_desc.blocking.strides[axis] != strides[axis]) return false;
  }
  return true;
}

/// Normalises the strides of axes of one element. They have no meaning, but the library chooses its kernels
/// by them. They become those of the library's own formats (rows, or channels last), or else such that no
/// axis lies within another.
void settle_strides(dnnl_memory_desc_t& d) {
  if (d.format_kind != dnnl_blocked || d.format_desc.blocking.inner_nblks != 0) return;
  if (!std::equal(d.dims, d.dims + d.ndims, d.padded_dims) || std::count(d.dims, d.dims + d.ndims, 0) != 0)
    return;
  auto* strides = d.format_desc.blocking.strides;
  std::vector<int> rows(static_cast<size_t>(d.ndims));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<int> channels_last = rows;
  if (d.ndims > 2) std::rotate(channels_last.begin() + 1, channels_last.begin() + 2, channels_last.end());
  for (const auto& order : {rows, channels_last}) {
    const Dims wanted = strides_in_order(d, order);
    if (are_strides_of(d, wanted)) return static_cast<void>(std::copy(wanted.begin(), wanted.end(), strides));
  }
  int64_t outside = 1;  // the span of the axes behind; of all axes at first
  for (int axis = 0; axis < d.ndims; ++axis) outside = std::max(outside, d.dims[axis] * strides[axis]);
  for (int axis = 0; axis < d.ndims; ++axis) {
    if (d.dims[axis] != 1)
      outside = strides[axis];
    else
      strides[axis] = outside;
  }
}

Dims row_major(DimsView dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(dims[i], 1);
  return strides;
}

Dims at_least_1d(DimsView dims) { return dims.empty() ? Dims{1} : Dims(dims.begin(), dims.end()); }

}  // namespace

Layout wrap(memory::desc desc, Type type) {
  if (desc.is_zero()) return {};
  settle_strides(desc.data);
  auto data = std::make_shared<Layout::Data>();
  data->desc = desc;
  data->type = type;
  data->dims = desc.dims();
  data->key = (type == Type::kInt64 ? "wide " : "") + key_of(desc.data);
  return Layout(std::move(data));
}

Layout wrap(const memory::desc& desc) { return wrap(desc, own_type(desc.data.data_type)); }

const memory::desc& unwrap(const Layout& layout) {
  static const memory::desc none;
  if (layout && layout.type() == Type::kInt64) [[unlikely]]
    ep::fail(TENON_UNIMPLEMENTED, "oneDNN does not support int64");
  return layout ? layout.data().desc : none;
}

uint64_t bytes_of(Type type) {
  switch (type) {
    case Type::kBFloat16:
      return 2;
    case Type::kInt8:
    case Type::kUInt8:
      return 1;
    case Type::kInt64:
      return 8;
    default:
      return 4;
  }
}

Layout Layout::plain(Type type, DimsView dims) {
  const Dims full = at_least_1d(dims);
  return strided(type, full, row_major(full));
}

Layout Layout::strided(Type type, DimsView dims, DimsView strides) {
  const Dims places(strides.begin(), strides.end());
  return wrap(memory::desc({dims.begin(), dims.end()}, dnnl_type(type), places), type);
}

Layout Layout::any(Type type, DimsView dims) {
  return wrap(memory::desc(at_least_1d(dims), dnnl_type(type), memory::format_tag::any));
}

Layout Layout::blocked(Type type, DimsView dims) {
  return wrap(memory::desc({dims.begin(), dims.end()}, dnnl_type(type), memory::format_tag::nChw16c));
}

Type Layout::type() const { return data_->type; }
const Dims& Layout::dims() const { return data_->dims; }
uint64_t Layout::bytes() const { return data_->desc.get_size() * (type() == Type::kInt64 ? 2 : 1); }
bool Layout::is_any() const { return data_->desc.data.format_kind == dnnl_format_kind_any; }
bool Layout::is_opaque() const { return !is_any() && data_->desc.data.format_kind != dnnl_blocked; }
bool Layout::is_plain() const { return *this == plain(type(), dims()); }
bool Layout::is_dense() const {
  return data_->desc.data.format_kind == dnnl_blocked && data_->desc.data.offset0 == 0 &&
         bytes() == static_cast<uint64_t>(elements()) * bytes_of(type());
}
bool Layout::has_gaps() const {
  const dnnl_memory_desc_t& d = data_->desc.data;
  return !is_any() && !is_dense() && (d.offset0 != 0 || std::equal(d.dims, d.dims + d.ndims, d.padded_dims));
}
const std::string& Layout::key() const {
  static const std::string none;
  return data_ == nullptr ? none : data_->key;
}

std::optional<Layout> Layout::reshaped(DimsView dims) const {
  const Dims wanted = at_least_1d(dims);
  if (is_plain()) return plain(type(), wanted);
  const memory::desc desc = data_->desc.reshape(wanted, true);
  if (desc.is_zero()) return std::nullopt;
  return wrap(desc, type());
}

Layout Layout::permuted(std::span<const int64_t> permutation) const {
  std::vector<int> to(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    to[static_cast<size_t>(permutation[i])] = static_cast<int>(i);
  return wrap(data_->desc.permute_axes(to), type());
}

Layout Layout::with_type(Type type) const {
  if (type != this->type() && has_gaps()) return plain(type, dims());
  memory::desc desc = data_->desc;
  desc.data.data_type = static_cast<dnnl_data_type_t>(dnnl_type(type));
  return wrap(desc, type);
}

std::optional<Layout> Layout::part(DimsView dims, DimsView offsets) const {
  const memory::desc desc =
      data_->desc.submemory_desc({dims.begin(), dims.end()}, {offsets.begin(), offsets.end()}, true);
  if (desc.is_zero()) return std::nullopt;
  return wrap(desc, type());
}

}  // namespace tenon::onednn
