// What is done to a row.
#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "tests/ops/hostile_rows.h"

namespace tenon::test {
namespace {

/// `tensor` with other dims; its elements repeat.
Tensor reshaped(const Tensor& tensor, const Dims& dims) {
  Tensor out = tensor;
  out.dims = dims;
  const auto count = static_cast<size_t>(out.size());
  if (tensor.dtype == TENON_STRING) {
    out.strings.assign(count, "x");
    for (size_t i = 0; i < count && !tensor.strings.empty(); ++i)
      out.strings[i] = tensor.strings[i % tensor.strings.size()];
    return out;
  }
  out.bytes.assign(ep::dtype_bytes(tensor.dtype, count), 0);
  for (size_t i = 0; i < out.bytes.size() && !tensor.bytes.empty(); ++i)
    out.bytes[i] = tensor.bytes[i % tensor.bytes.size()];
  return out;
}

std::set<Dims> other_dims(const Dims& dims) {
  std::set<Dims> out = {{}, {0}};
  for (size_t d = 0; d < dims.size(); ++d) {
    for (const int64_t size : {dims[d] + 1, dims[d] - 1, int64_t{0}, int64_t{1}}) {
      Dims changed = dims;
      changed[d] = size;
      if (size >= 0) out.insert(changed);
    }
  }
  for (const int64_t more : {1, 2}) {
    Dims longer = dims;
    longer.insert(longer.begin(), more);
    out.insert(longer);
  }
  if (!dims.empty()) out.insert(Dims(dims.begin() + 1, dims.end()));
  out.erase(dims);
  return out;
}

bool is_integer(uint32_t dtype) { return dtype == TENON_INT32 || dtype == TENON_INT64; }

/// One element set to a number, as near as its type has it. False for a type that holds no such number.
bool put(Tensor& tensor, int64_t at, int64_t value) {
  if (tensor.size() <= at) return false;
  if (tensor.dtype == TENON_INT64) {
    ep::store_element<int64_t>(tensor.bytes.data(), at, value);
  } else if (tensor.dtype == TENON_INT32) {
    const int64_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
    ep::store_element<int32_t>(tensor.bytes.data(), at, static_cast<int32_t>(std::clamp(value, low, high)));
  } else if (tensor.dtype == TENON_FLOAT32) {
    ep::store_element<float>(tensor.bytes.data(), at, static_cast<float>(value));
  } else {
    return false;
  }
  return true;
}

class Maker {
 public:
  Maker(const NodeCase& row, const std::vector<ep::Contract>& contracts) : row_(row), contracts_(contracts) {}

  std::vector<Variant> make() {
    for (size_t i = 0; i < row_.inputs.size(); ++i) {
      if (row_.inputs[i].kind == TENON_KIND_NONE) continue;
      leave_out(i);
      if (row_.inputs[i].kind != TENON_KIND_TENSOR) continue;
      for (const Dims& dims : other_dims(row_.inputs[i].dims)) {
        NodeCase node = row_;
        node.inputs[i] = reshaped(node.inputs[i], dims);
        add(cat("input ", i, " has the shape ", dims), std::move(node), {});
      }
      if (has_mark(i, "index") && is_integer(row_.inputs[i].dtype)) spoil_indices(i);
      if (has_mark(i, "size")) spoil_sizes(i);
    }
    return std::move(out_);
  }

 private:
  template <class... Parts>
  static std::string cat(const Parts&... parts) {
    return ep::cat(parts...);
  }

  /// Once with all inputs of the Run, once with all but the first as constants.
  void add(const std::string& text, NodeCase node, const std::string& must_fail) {
    const std::string why = contracts_.empty() ? "" : excluded(contracts_, node.inputs);
    const std::string reason = why.empty() ? must_fail : why;
    out_.push_back({text, node, reason});
    bool has_constants = false;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i].kind != TENON_KIND_TENSOR || node.inputs[i].constant) continue;
      node.inputs[i].constant = has_constants = true;
    }
    if (has_constants)
      out_.push_back({text + ", inputs but the first are constants", std::move(node), reason});
  }

  void leave_out(size_t i) {
    NodeCase node = row_;
    node.inputs[i] = none();
    add(cat("input ", i, " is missing"), node, {});
    if (i == 0) return;
    node.inputs.resize(i);
    add(cat("inputs from ", i, " on are missing"), std::move(node), {});
  }

  bool has_mark(size_t i, std::string_view mark) const {
    for (const ep::Contract& contract : contracts_) {
      const auto& inputs = contract.inputs();
      if (i < inputs.size() ? inputs[i].mark == mark
                            : !inputs.empty() && inputs.back().rest && inputs.back().mark == mark)
        return true;
    }
    return false;
  }

  /// First and last element.
  void put_value(size_t i, int64_t value, const std::string& must_fail) {
    const int64_t last = row_.inputs[i].size() - 1;
    for (const int64_t at : std::set<int64_t>{0, last}) {
      NodeCase node = row_;
      if (at < 0 || !put(node.inputs[i], at, value)) continue;
      add(cat("element ", at, " of input ", i, " is ", value), std::move(node), must_fail);
    }
  }

  void spoil_indices(size_t i) {
    // Of what there is to count: elements along an axis, those of a whole tensor, and of a sequence.
    int64_t most = 0;
    std::set<int64_t> sizes;
    const auto add = [&](const Tensor& tensor) {
      if (tensor.kind != TENON_KIND_TENSOR) sizes.insert(static_cast<int64_t>(tensor.elements.size()));
      if (tensor.kind == TENON_KIND_TENSOR) sizes.insert(tensor.dims.begin(), tensor.dims.end());
      if (tensor.kind == TENON_KIND_TENSOR) most = std::max(most, tensor.size());
      if (!sizes.empty()) most = std::max(most, *sizes.rbegin());
    };
    for (size_t k = 0; k < row_.inputs.size(); ++k) {
      if (k != i) add(row_.inputs[k]);
    }
    for (const int64_t size : sizes) {
      put_value(i, size, {});
      put_value(i, -size - 1, {});
    }
    for (const Tensor& output : row_.outputs) add(output);
    const std::string why = "the index lies outside of everything";
    for (const int64_t value :
         {most + 1, -most - 2, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()})
      put_value(i, value, why);
  }

  void spoil_sizes(size_t i) {
    for (const int64_t value : {int64_t{-1}, int64_t{1} << 31, int64_t{1} << 62}) put_value(i, value, {});
  }

  const NodeCase& row_;
  const std::vector<ep::Contract>& contracts_;
  std::vector<Variant> out_;
};

}  // namespace

std::vector<Variant> variants_of(const NodeCase& row, const std::vector<ep::Contract>& contracts) {
  return Maker(row, contracts).make();
}

}  // namespace tenon::test
