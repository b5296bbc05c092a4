// An operator as this provider compiles it, and the registry of operators. Each family is one file in ops/
// that registers itself at its end; no other file names it.
//
//   class Relu : public Operation {
//    public:
//     static Support supports(const NodeView& n) { return Check(n).input(0, kFloat32); }   // pure; says why not
//     explicit Relu(const NodeView&) {}                                                      // once per node
//     Dims shape(const Builder& b, const Node& node, size_t output) const override { ... }   // of an output
//     void build(Builder& b, const Node& node) const override { ... }                        // once per shapes
//   };
//   ONEDNN_OPERATOR(Relu, .op_type = "Relu", .contract = "X: any")
//
// The contract is checked first, so that supports(), the constructor, shape() and build() never see inputs
// that it excludes, as far as shapes are known by then. build() only sees outputs with the shapes that
// shape() returns.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/dnnl_backend.h"
#include "compiler/operator_entry.h"

namespace tenon::onednn {

using ep::cat;
using ep::Check;
using ep::fail;
using ep::require;
using ep::TypeList;

inline constexpr TypeList<float> kFloat32;
inline constexpr uint32_t kNone = TENON_NO_INDEX;
/// The library's limit.
inline constexpr size_t kMostAxes = 12;
/// Some of the library's code counts elements in 32 bits.
inline constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();
/// Whether a tensor of these dims has at most kMostElements. Unknown and empty axes count as 1, as in
/// strides.
bool can_be_counted(DimsView dims);

/// The bound on an element of which nothing is known.
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

class Builder;
struct Node;

/// A function of each element of one value. A primitive can apply it before it stores its result.
struct Pointwise {
  bool is_binary = false;
  Eltwise eltwise = Eltwise::kLinear;
  float alpha = 0, beta = 0;
  Binary binary = Binary::kAdd;  // a function of both inputs
  /// Whether the library's form handles infinities and NaN as ONNX does.
  bool exact = true;
};

/// Immutable once made.
class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  /// The dims of an output, computed from the inputs. If they do not follow from those: the inferred dims,
  /// after a check that they are possible.
  virtual Dims shape(const Builder& builder, const Node& node, size_t output) const = 0;
  /// Adds the tasks that compute the node's outputs from its inputs, for the shapes that `builder` knows.
  virtual void build(Builder& builder, const Node& node) const = 0;
  /// If set, the primitive that makes the input may apply this function; build() is then not called.
  virtual std::optional<Pointwise> pointwise() const { return std::nullopt; }
  /// A bound on the magnitude of the outputs, from what `builder` knows of the inputs.
  virtual double bound(const Builder& /*builder*/, const Node& /*node*/) const { return kUnbounded; }
  /// If the operation only concatenates: the axis.
  virtual std::optional<int64_t> joins() const { return std::nullopt; }
  /// Whether a constant input 1 is only read in packed forms of one view of it.
  virtual bool packs_weights() const { return false; }
  /// Whether a Run may refuse elements of inputs. They are then checked even if all outputs are empty.
  virtual bool checks_inputs() const { return false; }
  /// Whether a program with this operation should keep images in blocks of channels.
  virtual bool likes_blocks(const Builder& /*builder*/, const Node& /*node*/) const { return false; }
};

/// A node of a program. Values are given by number; kNone where missing.
struct Node {
  std::unique_ptr<Operation> operation;
  ep::Contract contract;
  std::vector<uint32_t> inputs, outputs;
  std::string op;
  std::string place;  // "node 'conv1' (Conv)"
};

/// The operator for a node, or null with the reason in `out_refusal`.
const OperatorEntry* find_operator(const NodeView& node, Support* out_refusal);
/// `axis` counted from the front of a tensor of that rank. Throws INVALID_ARGUMENT if it is out of range.
size_t axis_of(int64_t axis, size_t rank);

namespace detail {
template <class T>
std::unique_ptr<Operation> make_operation(const NodeView& node) {
  return std::make_unique<T>(node);
}
}  // namespace detail

#define ONEDNN_OPERATOR_AT_(T, n, ...)                                                 \
  constinit OperatorEntry onednn_operator_##n{OperatorSpec{__VA_ARGS__}, &T::supports, \
                                              &detail::make_operation<T>};             \
  [[maybe_unused]] const OperatorRegistry::Registrar onednn_registrar_##n{onednn_operator_##n};
#define ONEDNN_OPERATOR_EXPAND_(T, n, ...) ONEDNN_OPERATOR_AT_(T, n, __VA_ARGS__)
/// Registers operation T. Use it inside an unnamed namespace. See OperatorSpec for the fields.
#define ONEDNN_OPERATOR(T, ...) ONEDNN_OPERATOR_EXPAND_(T, __COUNTER__, __VA_ARGS__)

}  // namespace tenon::onednn
