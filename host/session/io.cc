#include "host/session/io.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "host/base/text.h"
#include "host/device/device_value.h"

namespace tenon::session {
namespace {

std::string text_of(const tenon_tensor& tensor) {
  if (tensor.kind != TENON_KIND_TENSOR) return "not a tensor";
  if (!runtime::check_dims_given(tensor).ok()) return str_cat("of rank ", tensor.rank);
  return str_cat(ir::element_type_name(static_cast<ir::ElementType>(tensor.dtype)),
                 ir::Shape::of({tensor.dims, tensor.dims + tensor.rank}).to_string());
}

Status wrong(const IoEntry& entry, const tenon_tensor& tensor, std::string_view why) {
  return invalid_input("input '", entry.name, "' must be ", entry.type_text, ", but is ", text_of(tensor),
                       ": ", why);
}

/// Checks that the tensor has data, and the number of bytes that its shape needs.
Status check_whole(const IoEntry& entry, const tenon_tensor& tensor) {
  int64_t count = 0;
  if (!runtime::count_elements({tensor.dims, tensor.rank}, &count))
    return wrong(entry, tensor, "the shape is not valid");
  if (tensor.dtype == TENON_STRING) {
    const bool whole = count == 0 || tensor.offsets != nullptr;
    return whole ? ok_status() : wrong(entry, tensor, "a string tensor needs offsets");
  }
  uint64_t bytes = 0;
  if (!runtime::tensor_bytes(tensor.dtype, {tensor.dims, tensor.rank}, &bytes)) {
    return wrong(entry, tensor, "it does not fit into memory");
  }
  if (bytes != 0 && tensor.data == nullptr) return wrong(entry, tensor, "it has no data");
  if (tensor.byte_size != bytes) {
    return wrong(entry, tensor, str_cat("its shape needs ", bytes, " bytes, but it has ", tensor.byte_size));
  }
  return ok_status();
}

}  // namespace

tenon_io_info IoEntry::info() const {
  tenon_io_info out = TypeInfo::info(name);
  out.has_default = default_value != nullptr ? 1 : 0;
  return out;
}

IoList::IoList(const ir::Graph& graph, const std::vector<ir::ValueId>& values, std::string what)
    : what_(std::move(what)) {
  for (ir::ValueId v : values) {
    IoEntry entry(graph.value(v).name, graph.value(v).type);
    for (const ir::Default& fallback : graph.defaults()) {
      if (fallback.input == v) entry.default_value = fallback.value;
    }
    entries_.push_back(std::move(entry));
  }
  for (uint32_t i = 0; i < entries_.size(); ++i)  // the entries are not moved from here on
    by_name_.emplace(entries_[i].name, i);
  find_shared_dims();
}

void IoList::find_shared_dims() {
  std::map<std::string_view, std::pair<uint32_t, uint32_t>> first;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    for (uint32_t d = 0; d < entries_[i].dim_names.size(); ++d) {
      const std::string& symbol = entries_[i].dim_names[d];
      if (symbol.empty()) continue;
      const auto at = first.try_emplace(symbol, i, d).first;
      if (at->second != std::pair(i, d)) shared_dims_.push_back({at->second.first, at->second.second, i, d});
    }
  }
}

Result<uint32_t> IoList::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  if (at != by_name_.end()) return at->second;
  std::vector<std::string> names;
  for (const IoEntry& entry : entries_) names.push_back(entry.name);
  return Status(StatusCode::kNotFound,
                str_cat("the model has no ", what_, " '", name, "'", suggestion(name, names)),
                ErrorKind::kInvalidInput);
}

Status check_input(const IoEntry& entry, const tenon_tensor& tensor) {
  const ir::Type& type = entry.type;
  if (type.kind == ir::ValueKind::kOptional && tensor.kind != TENON_KIND_OPTIONAL)
    return ok_status();  // the content of the optional
  if (type.kind != ir::ValueKind::kUnknown && tensor.kind != static_cast<uint32_t>(type.kind)) {
    return wrong(entry, tensor, "the kind of value differs");
  }
  if (tensor.kind != TENON_KIND_TENSOR) return ok_status();
  if (Status status = runtime::check_dims_given(tensor); !status.ok())
    return wrong(entry, tensor, status.message());
  if (tensor.strides != nullptr) return wrong(entry, tensor, "it is not dense");
  if (tensor.domain != TENON_DOMAIN_HOST) return wrong(entry, tensor, "it is not in host memory");
  RETURN_IF_ERROR(check_type(entry, tensor));
  return check_whole(entry, tensor);
}

Status check_type(const IoEntry& entry, const tenon_tensor& tensor) {
  const ir::Type& type = entry.type;
  if (type.element != ir::ElementType::kUndefined && tensor.dtype != static_cast<uint32_t>(type.element)) {
    return wrong(entry, tensor, "the element type differs");
  }
  if (type.shape.has_rank && tensor.rank != type.shape.rank())
    return wrong(entry, tensor, "the rank differs");
  for (size_t d = 0; d < entry.dims.size(); ++d) {
    if (entry.dims[d] >= 0 && tensor.dims[d] != entry.dims[d]) {
      return wrong(entry, tensor, str_cat("dim ", d, " must be ", entry.dims[d]));
    }
  }
  return ok_status();
}

Status check_device_input(const IoEntry& entry, const tenon_value& value) {
  if (entry.type.kind != ir::ValueKind::kTensor && entry.type.kind != ir::ValueKind::kUnknown) {
    return wrong(
        entry, value.tensor,
        "a value in memory of a device can only be given for a tensor; copy it with value_to_host first");
  }
  RETURN_IF_ERROR(check_type(entry, value.tensor));
  return runtime::check_usable(value).with_context(str_cat("input '", entry.name, "'"));
}

Status check_symbols(const IoList& inputs, std::span<const runtime::Argument> arguments) {
  for (const SharedDim& shared : inputs.shared_dims()) {
    const tenon_tensor &first = arguments[shared.first_input].tensor, &other = arguments[shared.input].tensor;
    if (first.kind != TENON_KIND_TENSOR || other.kind != TENON_KIND_TENSOR) continue;
    if (first.dims[shared.first_dim] == other.dims[shared.dim]) continue;
    const IoEntry &first_entry = inputs[shared.first_input], &entry = inputs[shared.input];
    return invalid_input("dim '", entry.dim_names[shared.dim], "' is ", first.dims[shared.first_dim],
                         " in input '", first_entry.name, "' (", first_entry.type_text, ") and ",
                         other.dims[shared.dim], " in input '", entry.name, "' (", entry.type_text, ")");
  }
  return ok_status();
}

bool is_aligned(const tenon_tensor& tensor) {
  if (tensor.kind != TENON_KIND_TENSOR || tensor.dtype == TENON_STRING || tensor.data == nullptr) return true;
  const uint32_t bits = ir::element_bits(static_cast<ir::ElementType>(tensor.dtype));
  const uint64_t wanted = std::clamp<uint64_t>(bits / 8, 1, 8);
  return reinterpret_cast<uintptr_t>(tensor.data) % wanted == 0;
}

Status align(runtime::Argument* argument) {
  if (argument->is_on_device() || is_aligned(argument->tensor)) return ok_status();
  ASSIGN_OR_RETURN(runtime::ValueRef copied, runtime::copy_tensor(argument->tensor));
  *argument = runtime::Argument(std::move(copied));
  return ok_status();
}

}  // namespace tenon::session
