#include "host/device/type_info.h"

#include <utility>

namespace tenon::runtime {

const ir::Type& innermost(const ir::Type& type) {
  const ir::Type* at = &type;
  while (!at->is_tensor() && at->inner != nullptr) at = at->inner.get();
  return *at;
}

TypeInfo::TypeInfo(ir::Type of) : type(std::move(of)), type_text(type.to_string()) {
  for (const ir::Dim& dim : type.shape.dims) {
    dims.push_back(dim.known() ? dim.value : TENON_DIM_UNKNOWN);
    dim_names.push_back(dim.known() ? std::string() : dim.symbol);
  }
  for (const std::string& name : dim_names) dim_name_views.push_back({name.data(), name.size()});
}

tenon_io_info TypeInfo::info(std::string_view name) const {
  tenon_io_info out{};
  out.struct_size = sizeof(out);
  out.kind = static_cast<uint32_t>(type.kind);
  out.dtype = static_cast<uint32_t>(innermost(type).element);
  out.rank = type.is_tensor() && type.shape.has_rank ? static_cast<int32_t>(dims.size()) : TENON_RANK_UNKNOWN;
  out.name = {name.data(), name.size()};
  out.dims = dims.data();
  out.dim_names = dim_name_views.data();
  out.type_text = {type_text.data(), type_text.size()};
  return out;
}

}  // namespace tenon::runtime
