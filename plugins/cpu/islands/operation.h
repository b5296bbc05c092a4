// An operator as islands compile it, and the registry of operators. An island is a part of the model that this provider runs as
// one: images lie channels last, weights are packed, and elementwise nodes run inside the node before them.
//
// Each family is one file in ops/ that registers itself at its end; no other file names it.
//
//   class Relu : public Operation {
//    public:
//     static Support supports(const NodeView& n) { ... }                                  // pure; says why not
//     explicit Relu(const NodeView&) {}                                                     // once per node
//     Dims shape(const Builder& b, const Node& node, size_t output) const override { ... }  // of an output
//     void build(Builder& b, const Node& node) const override { ... }                       // once per shapes
//   };
//   CPU_ISLAND_OPERATOR(Relu, .op_type = "Relu")
//
// A node joins an island only if a kernel of kernels/ supports it too, so that supports() asks only what islands need beyond
// that. The kernel's contract is checked before shape() and build(); build() sees outputs with the shapes of shape().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/compute.h"
#include "tenon/ep.hpp"

namespace tenon::cpu::islands {

using ep::cat;
using ep::Check;
using ep::Dims;
using ep::DimsView;
using ep::fail;
using ep::NodeView;
using ep::require;
using ep::Support;
using isa::Step;

inline constexpr uint32_t kNone = TENON_NO_INDEX;
inline constexpr ep::TypeList<float> kFloat32;

class Builder;
class Program;
struct Node;

/// What quantised elements stand for: (byte - zero) * scale. `zero` is moved with the bytes of int8 (Element::kByte), so it is in
/// 0 to 255.
struct Scaling {
  float scale = 0, zero = 0;
};

/// Whether the step is max(y, 0).
inline bool is_relu(const Step& s) {
  return s.kind == Step::Kind::kClamp && s.alpha == 0 && s.beta == std::numeric_limits<float>::infinity();
}

/// A node that changes each element of one of its inputs.
struct Pointwise {
  Step step;      // without its operand
  Step reversed;  // for a binary function: if the element is its second argument
  bool binary = false;
};

/// Immutable once made.
class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  /// The dims of an output, computed from those of the inputs. Throws INVALID_ARGUMENT if they do not fit.
  virtual Dims shape(const Builder& builder, const Node& node, size_t output) const = 0;
  /// Adds the tasks that compute the node's outputs from its inputs.
  virtual void build(Builder& builder, const Node& node) const = 0;
  /// If set, the task that makes the input may do this node's work; build() is then not called.
  virtual std::optional<Pointwise> pointwise() const { return std::nullopt; }
  /// If set, the node turns its first input into bytes, and an elementwise task that makes that input may do so itself.
  virtual std::optional<Scaling> quantises() const { return std::nullopt; }
  /// If set, the node's output is what the bytes of its first input stand for.
  virtual std::optional<Scaling> dequantises() const { return std::nullopt; }
  /// Whether pack() keeps all that the node needs of this input, which is a constant or what is made of one: the data may go.
  virtual bool packs(const Program& program, const Node& node, uint32_t value) const {
    static_cast<void>(program), static_cast<void>(node), static_cast<void>(value);
    return false;
  }
  /// Packs constants. Called once, before any shapes are known.
  virtual void pack(Program& program, const Node& node) {
    static_cast<void>(program), static_cast<void>(node);
  }
};

/// A node of a program. Values are given by number; kNone where missing.
struct Node {
  std::unique_ptr<Operation> operation;
  ep::Contract contract;
  std::vector<uint32_t> inputs, outputs;
  std::string op;
  std::string place;  // "node 'conv1' (Conv)"
};

struct OperatorSpec {
  std::string_view domain = "";
  std::string_view op_type = {};
  int since = 1, until = std::numeric_limits<int>::max();  // versions of the schema, inclusive
  /// Whether int8 and uint8 tensors are taken too. Otherwise all are float32.
  bool bytes = false;
  /// Whether a group with this node is worth being an island: packed weights or channels last make it faster.
  bool gains = false;
};

struct OperatorEntry {
  OperatorSpec spec;
  Support (*supports)(const NodeView& node);
  std::unique_ptr<Operation> (*make)(const NodeView& node);
  OperatorEntry* next = nullptr;
};
using OperatorRegistry = ep::Registry<OperatorEntry>;

/// Demands that input `i` has a known rank within [lowest, highest].
inline Check& ranked(Check& check, const NodeView& n, int i, int lowest, int highest = TENON_EP_MAX_RANK) {
  return check.that(n.input(i).has_rank(), TENON_REJECT_SHAPE, "the rank of input ", i, " is not known")
      .rank(i, lowest, highest);
}
/// The dims to which both broadcast, as in ONNX. Throws INVALID_ARGUMENT if they do not.
Dims broadcast_dims(DimsView a, DimsView b);

/// The operator for a node that a kernel supports as well, or null with the reason in `out_refusal`.
const OperatorEntry* find_operator(const NodeView& node, Support* out_refusal);

namespace detail {
template <class T>
std::unique_ptr<Operation> make_operation(const NodeView& node) {
  return std::make_unique<T>(node);
}
}  // namespace detail

#define CPU_ISLAND_OPERATOR_AT_(T, n, ...)                                             \
  constinit OperatorEntry island_operator_##n{OperatorSpec{__VA_ARGS__}, &T::supports, \
                                              &detail::make_operation<T>};             \
  [[maybe_unused]] const OperatorRegistry::Registrar island_registrar_##n{island_operator_##n};
#define CPU_ISLAND_OPERATOR_EXPAND_(T, n, ...) CPU_ISLAND_OPERATOR_AT_(T, n, __VA_ARGS__)
/// Registers operation T. Use it inside an unnamed namespace. See OperatorSpec for the fields.
#define CPU_ISLAND_OPERATOR(T, ...) CPU_ISLAND_OPERATOR_EXPAND_(T, __COUNTER__, __VA_ARGS__)

}  // namespace tenon::cpu::islands
