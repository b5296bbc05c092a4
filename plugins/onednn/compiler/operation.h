// An operator as this provider compiles it, and the registry of all. A family of operators is one file in ops/,
// registered at its foot; nothing else names it.
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
// supports(), the constructor, shape() and build() see nothing that the contract excludes: it is checked before, as far as
// shapes are known by then. build() sees outputs of no other shape than shape() says.
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
/// More the library does not know.
inline constexpr size_t kMostAxes = 12;
/// The library's code counts elements in 32 bits here and there.
inline constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();
/// Whether a tensor of these dims has no more; an axis without elements counts as one, since strides are products of dims
/// too, and so does a dim that is not known.
bool can_be_counted(DimsView dims);

/// The magnitude of a number of which nothing is known.
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

class Builder;
struct Node;

/// A function of each element of one value, which a primitive can apply before it stores its result.
struct Pointwise {
  bool is_binary = false;
  Eltwise eltwise = Eltwise::kLinear;
  float alpha = 0, beta = 0;
  Binary binary = Binary::kAdd;  // of both inputs
  /// Whether the library's own form treats infinities and NaN as ONNX does.
  bool exact = true;
};

/// Immutable once made.
class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  /// The dims of an output that follow from the inputs; where they do not, those that were inferred, if they are possible.
  virtual Dims shape(const Builder& builder, const Node& node, size_t output) const = 0;
  /// Adds the steps that compute the node's outputs from its inputs, for the shapes that `builder` knows.
  virtual void build(Builder& builder, const Node& node) const = 0;
  /// When it is one, whoever makes its input may do it at once; build() is then not called.
  virtual std::optional<Pointwise> pointwise() const { return std::nullopt; }
  /// What no element of an output exceeds in magnitude, from what `builder` knows of the inputs.
  virtual double bound(const Builder& /*builder*/, const Node& /*node*/) const { return kUnbounded; }
  /// The axis along which it lays its inputs side by side, where it does nothing else.
  virtual std::optional<int64_t> joins() const { return std::nullopt; }
  /// Whether input 1, where it is a constant, is read in packed forms of one view of it, and in no other way.
  virtual bool packs_weights() const { return false; }
  /// Whether Run refuses some elements of its inputs: then they are looked at also where no output has any.
  virtual bool checks_inputs() const { return false; }
  /// Whether an island with it is best kept in blocks of channels.
  virtual bool likes_blocks(const Builder& /*builder*/, const Node& /*node*/) const { return false; }
};

/// A node of a program, its values by number; kNone where missing.
struct Node {
  std::unique_ptr<Operation> operation;
  ep::Contract contract;
  std::vector<uint32_t> inputs, outputs;
  std::string op;
  std::string place;  // "node 'conv1' (Conv)"
};

/// The operation for a node, or null and why there is none.
const OperatorEntry* find_operator(const NodeView& node, Support* out_refusal);
/// What the operator demands of this node's inputs.
ep::Contract contract_of(const OperatorEntry& entry, const NodeView& node);
/// `axis` of a tensor of that rank, counted from the front; INVALID_ARGUMENT when there is none.
size_t axis_of(int64_t axis, size_t rank);
/// Sorted by domain, operator and version; for documents and tests.
std::vector<const OperatorEntry*> all_operators();

namespace detail {
struct OperatorRegistrar {
  explicit OperatorRegistrar(OperatorEntry& entry);
};
template <class T>
std::unique_ptr<Operation> make_operation(const NodeView& node) {
  return std::make_unique<T>(node);
}
}  // namespace detail

#define ONEDNN_OPERATOR_AT_(T, n, ...)                                                 \
  constinit OperatorEntry onednn_operator_##n{OperatorSpec{__VA_ARGS__}, &T::supports, \
                                              &detail::make_operation<T>};             \
  [[maybe_unused]] const detail::OperatorRegistrar onednn_registrar_##n{onednn_operator_##n};
#define ONEDNN_OPERATOR_EXPAND_(T, n, ...) ONEDNN_OPERATOR_AT_(T, n, __VA_ARGS__)
/// Inside an unnamed namespace: registers operation T. See OperatorSpec for the fields.
#define ONEDNN_OPERATOR(T, ...) ONEDNN_OPERATOR_EXPAND_(T, __COUNTER__, __VA_ARGS__)

}  // namespace tenon::onednn
