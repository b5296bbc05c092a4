// Inputs and outputs of a session: what callers are told about them, and how what they bring is checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "host/exec/run_executable.h"
#include "tenon/tenon.h"

namespace tenon::session {

/// One input or output, in the form that the C API shows.
struct IoEntry {
  std::string name, type_text;
  ir::Type type;
  std::vector<int64_t> dims;
  std::vector<std::string> dim_names;
  std::vector<tenon_str> dim_name_views;
  ir::TensorPtr default_value;  // of an input that may be left out

  /// Borrowed from this entry.
  tenon_io_info info() const;
};

/// Two dims with one symbol: equal in every Run.
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
  /// NOT_FOUND with the nearest name and all names there are.
  Result<uint32_t> find(std::string_view name) const;
  const std::vector<SharedDim>& shared_dims() const { return shared_dims_; }

 private:
  void find_shared_dims();

  std::string what_;
  std::vector<IoEntry> entries_;
  std::unordered_map<std::string_view, uint32_t> by_name_;
  std::vector<SharedDim> shared_dims_;
};

/// Kind, element type, rank and fixed dims as the model declares them; a description that is whole. The error
/// names the input and says what was expected.
Status check_input(const IoEntry& entry, const tenon_tensor& tensor);

/// Dims with one symbol are equal among all inputs. `arguments`: one per entry, checked one by one before.
Status check_symbols(const IoList& inputs, std::span<const runtime::Argument> arguments);

/// Copies a tensor whose address does not suit its element type; leaves others as they are.
Status align(runtime::Argument* argument);

}  // namespace tenon::session
