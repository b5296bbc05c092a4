// Builds a Recipe for one shape signature. Operations use it to get the tensors of an island and to add tasks.
//
// A tensor keeps the form in which it was made until an operation asks for the other one. Elementwise nodes run within the task that makes
// their input. An output of the island is written to its final place if it is made in ONNX's order. What DequantizeLinear makes stays
// bytes until an operation asks for floats.
#pragma once

#include <functional>
#include <initializer_list>

#include "islands/program.h"

namespace tenon::cpu::islands {

/// Steps that a task does after its own work: they are nodes of the island. `operands` has one entry per step; no buffer where it
/// has none.
struct Steps {
  uint32_t value = kNone;  // the value that comes out
  std::vector<Step> steps;
  std::vector<Tensor> operands;
  Scaling scaling;  // of the bytes that come out; scale 0: floats do

  /// The steps with their addresses in `room`.
  isa::Chain at(const Run& run, std::span<Step, isa::kMostSteps> room) const;
  /// The task also reads these.
  std::vector<Tensor> reads(std::initializer_list<Tensor> others) const;
};

/// What residual networks do to a quantised result: another quantised tensor is added, and the sum is quantised again.
struct ByteSum {
  uint32_t value = kNone;  // the value that comes out
  Tensor other;            // of the same shape and form
  Scaling own, result;     // of the first operand and of the sum
  bool relu = false;       // the sum is at least 0
};

class Builder {
 public:
  Builder(const Program& program, ep::PrepareContext& prepare);
  /// Builds the whole recipe. Call it once.
  Recipe build();

  const ep::PrepareContext& prepare() const { return prepare_; }
  const Dims& dims(uint32_t value) const { return dims_[value]; }
  bool is_constant(uint32_t value) const { return program_.is_constant(value); }
  bool is_packed(uint32_t value) const { return program_.is_packed(value); }

  /// The value as it is stored, in floats or unsigned bytes.
  Tensor tensor(uint32_t value);
  /// The value in that form, converted once if it is stored in the other one.
  Tensor tensor(uint32_t value, Form form);
  /// The value without gaps between its rows.
  Tensor dense(uint32_t value);
  Tensor dense(uint32_t value, Form form);
  /// As tensor(), but bytes with their scaling where the value is what they stand for. For elementwise tasks.
  Tensor readable(uint32_t value, Form form);
  /// The bytes, in memory that may be read up to kSlack bytes beyond the last.
  Tensor padded(const Tensor& bytes);
  /// The form in which an elementwise operation on these values converts least.
  Form form_of(const std::vector<uint32_t>& values);

  /// Memory for `value`.
  Tensor create(uint32_t value, Form form);
  Tensor temporary(const Dims& dims, Form form, Element element = Element::kFloat);
  /// Gives `value` the memory of `tensor`, which another value may have too.
  void define(uint32_t value, const Tensor& tensor);
  /// `value` is what `bytes` stand for.
  void define_dequantised(uint32_t value, const Tensor& bytes);

  /// Takes in as many of the nodes that follow `value` as can be steps of the task that makes it in `form`.
  Steps follow(uint32_t value, Form form);
  /// The same for an elementwise task, which may also read and write bytes (tasks.h, add_steps).
  Steps follow_elementwise(uint32_t value, Form form);
  /// Takes in the nodes that add other bytes to those of `value`, which a task makes in `form`, if nothing else reads it.
  std::optional<ByteSum> follow_sum(uint32_t value, Form form);
  /// The node that reads `value` where no other does, and which is not built yet; or kNone.
  uint32_t only_consumer(uint32_t value) const;
  const Node& node(uint32_t number) const { return program_.nodes()[number]; }
  /// The tasks of the node that is being built do the work of this one, too. Returns its first output.
  uint32_t take_in(uint32_t node);
  /// One step of an elementwise task: a function of `value`, which has `form`, and `other`; or none if there is no simple one.
  std::optional<Step> step_with(const Step& step, const Dims& result, Form form, uint32_t other,
                                Tensor* operand);

  /// `touched`: the tensors that the task reads and writes.
  void add(const std::vector<Tensor>& touched, std::function<void(const Run&)> work);

 private:
  void check_shapes();
  uint32_t add_buffer(Home home, int32_t index, uint64_t bytes);
  Tensor stored(uint32_t buffer, const Dims& dims, Form form, Element element);
  Tensor convert(const Tensor& from, Form form);
  bool is_computed(uint32_t value) const;
  bool is_dequantised(uint32_t value) const;
  bool dequantise(uint32_t value);
  Steps follow(uint32_t value, Form form, bool elementwise);
  void finish();

  const Program& program_;
  ep::PrepareContext& prepare_;
  Recipe recipe_;
  std::vector<Dims> dims_;                  // per value
  std::vector<Tensor> tensors_;             // per value
  std::map<uint32_t, Tensor> dequantised_;  // by value: the bytes of those that may have no floats yet
  std::vector<bool> done_;                  // per node
  std::vector<uint32_t> fused_;             // nodes whose work the tasks of the current node do, too
  std::map<std::pair<uint32_t, Form>, Tensor> converted_;
};

}  // namespace tenon::cpu::islands
