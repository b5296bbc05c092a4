// Inputs and outputs of a session: their descriptions for the caller, and the checks of the caller's values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "host/device/type_info.h"
#include "host/exec/run_executable.h"
#include "tenon/tenon.h"

namespace tenon::session {

/// One input or output, in the form that the C API shows.
struct IoEntry : runtime::TypeInfo {
  IoEntry(std::string name_in, ir::Type type_in) : TypeInfo(std::move(type_in)), name(std::move(name_in)) {}

  std::string name;
  ir::TensorPtr default_value;  // of an input that the caller may omit, else null

  /// The result points into this entry.
  tenon_io_info info() const;
};

/// Two dims with the same symbol: they must be equal in a Run.
struct SharedDim {
  uint32_t first_input, first_dim, input, dim;
};

/// Immutable.
class IoList {
 public:
  IoList() = default;
  /// `what`: "input" or "output", for messages.
  IoList(const ir::Graph& graph, const std::vector<ir::ValueId>& values, std::string what);

  size_t size() const { return entries_.size(); }
  const IoEntry& operator[](size_t index) const { return entries_[index]; }
  /// NOT_FOUND; the message suggests the nearest name, or lists all.
  Result<uint32_t> find(std::string_view name) const;
  const std::vector<SharedDim>& shared_dims() const { return shared_dims_; }

 private:
  void find_shared_dims();

  std::string what_;
  std::vector<IoEntry> entries_;
  std::unordered_map<std::string_view, uint32_t> by_name_;
  std::vector<SharedDim> shared_dims_;
};

/// Checks kind, element type, rank and fixed dims as the model declares them, and that the tensor is complete. The
/// error names the input and says what was expected.
Status check_input(const IoEntry& entry, const tenon_tensor& tensor);

/// The same without the data: `tensor` may have none, and be anywhere.
Status check_type(const IoEntry& entry, const tenon_tensor& tensor);

/// Checks that dims with the same symbol are equal. `arguments`: one per entry, checked by check_input().
Status check_symbols(const IoList& inputs, std::span<const runtime::Argument> arguments);

/// Checks a value in memory of a device: that its content is there, and that its type is the model's. The error names
/// the input.
Status check_device_input(const IoEntry& entry, const tenon_value& value);

/// A tensor's address in host memory is a multiple of its element's size, or of 8. True for other kinds of values.
bool is_aligned(const tenon_tensor& tensor);

/// Replaces a tensor by a copy when its address is not aligned for its element type.
Status align(runtime::Argument* argument);

}  // namespace tenon::session
