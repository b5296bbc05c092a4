// The type of a value in the form in which the C API shows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/type.h"
#include "tenon/tenon.h"

namespace tenon::runtime {

/// Move-only, because info() gives pointers into it.
struct TypeInfo {
  TypeInfo() = default;
  explicit TypeInfo(ir::Type of);
  TypeInfo(TypeInfo&&) = default;
  TypeInfo& operator=(TypeInfo&&) = default;

  ir::Type type;
  std::string type_text;
  std::vector<int64_t> dims;           // TENON_DIM_UNKNOWN where not fixed
  std::vector<std::string> dim_names;  // "" where unnamed
  std::vector<tenon_str> dim_name_views;

  /// Points into this object; `name` is borrowed too.
  tenon_io_info info(std::string_view name = {}) const;
};

/// The tensor type within sequences, optionals and maps; of a map that of its values.
const ir::Type& innermost(const ir::Type& type);

}  // namespace tenon::runtime
