// Builds a Recipe for one shape signature. Operations use it to get the tensors of a program and to add tasks.
//
// A tensor keeps the layout that its primitive chose until an operation asks for another one. Pointwise nodes
// are fused into the primitive that makes their input, if the result stays the same. An output of the program
// is written to its final place if its layout is the plain one.
//
// Much of oneDNN is fast for finite numbers and wrong for NaN and infinities. With `exact` precision such
// functions are used only where neither can occur: the weights bound the result of a convolution for inputs
// up to some size, and a task checks the inputs in the run. If a check fails, the run starts again with a
// recipe that assumes nothing.
#pragma once

#include <functional>
#include <initializer_list>

#include "compiler/program.h"

namespace tenon::onednn {

/// A tensor that exists once the tasks added so far have run.
struct Tensor {
  Layout layout;
  uint32_t buffer = kNone;
  bool is_empty() const { return layout.elements() == 0; }
};

/// Swaps the last two axes.
Dims turned(Dims dims);
Layout turned(const Layout& layout);

/// What fuse() took in: `value` is the primitive's result, `operands` belong to the post-operations.
struct Fused {
  uint32_t value = kNone;
  PostOps post_ops;
  std::vector<Tensor> operands;  // per post-operation; no buffer where it has no operand
};

class Builder {
 public:
  /// `dims`: per value, null if not known. `checked`: the recipe may check numbers and refuse a run.
  Builder(const Program& program, const std::vector<const Dims*>& dims, uint32_t threads, bool checked);
  /// Builds the whole recipe. Call it once.
  std::shared_ptr<const Recipe> build();

  const Engine& engine() const { return program_.instance().device.engine(); }
  const Instance& instance() const { return program_.instance(); }
  uint32_t threads() const { return recipe_->threads; }

  /// Shape as in ONNX; empty for a scalar.
  const Dims& dims(uint32_t value) const;
  Type type(uint32_t value) const;
  bool is_constant(uint32_t value) const { return program_.values()[value].constant != nullptr; }
  /// Elements of a constant.
  template <class T>
  std::span<const T> constant(uint32_t value) const {
    return ep::TensorView(program_.values()[value].constant).span<T>();
  }

  /// The value with ONNX's element type.
  Tensor tensor(uint32_t value);
  /// The value with the type that the program keeps: bfloat16 for products in that precision.
  Tensor kept(uint32_t value);
  /// The type that convolutions and products read, and write inside the program.
  Type product_type() const { return instance().bf16 ? Type::kBFloat16 : Type::kFloat32; }
  /// The tensor in another layout. A constant is converted once.
  Tensor as(const Tensor& tensor, const Layout& layout);
  Tensor plain(uint32_t value);
  /// The value in the plain layout if its layout has gaps, else as it is.
  Tensor compact(uint32_t value) { return compact(tensor(value)); }
  Tensor compact(const Tensor& tensor);
  /// Makes a primitive that reads `given` in its own layout, or in the plain layout if the library has nothing
  /// better than reference code for its own. `out` receives the tensor that the primitive reads.
  Primitive suit(const Tensor& given, const std::function<Primitive(const Layout&)>& make, Tensor* out);
  /// The same elements in the same order with other dims.
  Tensor reshaped(const Tensor& tensor, DimsView dims);
  /// Adds missing axes in front and repeats axes of one element. The result is plain if anything changes.
  Tensor broadcast(const Tensor& tensor, DimsView dims);
  /// A bound on the magnitude of the elements, known before the run.
  double bound(uint32_t value) const;
  /// The least magnitude in a constant; 0 for other values.
  double least(uint32_t value) const;
  /// For a constant: the greatest sum of magnitudes over one index of the first axis.
  double row_bound(uint32_t value) const;
  /// Whether `value` holds neither NaN nor infinities, or the instance need not preserve them.
  bool is_tame(uint32_t value) const;
  /// Tries to make is_tame() true by adding checks: of the value's own elements, or, if the value is not made
  /// yet, of the inputs of its node. Returns is_tame().
  bool tame(uint32_t value);
  /// Whether images lie in blocks of channels here; otherwise the library chooses their layout.
  bool blocked() const { return blocked_; }

  /// Whether tasks of `node` may write to the memory of this value.
  bool may_overwrite(const Node& node, uint32_t value);

  /// Allocates memory for `value` in that layout.
  Tensor create(uint32_t value, const Layout& layout);
  /// For a node that joins its inputs: if some of them were already made inside the result, copies the others
  /// there, defines the result and returns true. Returns false if none was.
  bool finish_join(const Node& node);
  Tensor temporary(const Layout& layout);
  /// Gives `value` the memory of `tensor`. Call may_overwrite() first.
  Tensor overwrite(uint32_t value, const Tensor& tensor);
  void define(uint32_t value, const Tensor& tensor);
  void call(const Primitive& primitive, std::initializer_list<std::pair<int, Tensor>> arguments);
  void call(const Primitive& primitive, const std::vector<std::pair<int, Tensor>>& arguments);
  void local(std::initializer_list<Tensor> arguments, Local work);
  Tensor filled(const Layout& layout, float number);
  void fill(uint32_t value, float number);

  /// Makes a primitive whose result is `value`, fused with as many of the following pointwise nodes as it
  /// handles well. The primitive writes shape `dims`: the dims of the value, or these with the last two axes
  /// swapped, or, in a plain layout, any other dims with the same elements in the same order.
  Primitive fuse(uint32_t value, const Dims& dims, const std::function<Primitive(const PostOps&)>& make,
                 Fused* out);
  Primitive fuse(uint32_t value, const std::function<Primitive(const PostOps&)>& make, Fused* out);
  /// Adds the task for fuse()'s primitive: creates the destination, adds operands of post-operations.
  void run_fused(const Primitive& primitive, std::vector<std::pair<int, Tensor>> arguments,
                 const Fused& fused);

 private:
  void check_sizes() const;
  void check_shapes(const Node& node) const;
  void require_elements(uint32_t value, const Layout& layout) const;
  struct Candidate {
    std::vector<uint32_t> nodes;
    uint32_t value;  // the result of `nodes`
    PostOp post_op;
    Tensor operand;
  };
  /// The next node that the primitive could take in, with its result and its other operand.
  std::optional<Candidate> follower(uint32_t value, const Dims& written);
  bool add_operand(const Node& node, uint32_t value, const Dims& written, Binary f, Candidate* out);
  std::vector<Candidate> followers(uint32_t value, const Dims& written);
  std::optional<Primitive> try_with(const std::vector<Candidate>& candidates, size_t count, bool sum,
                                    const std::function<Primitive(const PostOps&)>& make, Fused* out);
  uint32_t add_buffer(Home home, uint32_t index, uint64_t bytes);
  void touch(uint32_t buffer);
  Tensor constant_as(uint32_t value, const Tensor& tensor, const Layout& layout);
  bool dies_with(uint32_t buffer, const std::vector<uint32_t>& nodes);
  /// Whether no other node needs the value once `nodes` are done.
  bool is_free_after(uint32_t value, const std::vector<uint32_t>& nodes) const;
  void copy(const Tensor& from, const Tensor& to);
  void finish();
  /// Names the tasks since `first_task` after `node` and the nodes that were fused with it.
  void name_tasks(size_t first_task, uint32_t node);
  bool check_in_run(uint32_t value);
  std::optional<Tensor> place_in_join(uint32_t value, const Layout& layout);
  Tensor part_of(const Node& node, size_t index, const Tensor& whole);
  void learn(uint32_t node);

  const Program& program_;
  const std::vector<const Dims*>& dims_;
  std::shared_ptr<Recipe> recipe_;
  std::vector<Tensor> tensors_;  // per value
  std::vector<bool> done_;       // per node
  std::vector<uint32_t> fused_;  // nodes whose work the tasks of the current node do, too
  bool checked_, blocked_ = false;
  std::vector<uint32_t> makers_;                      // per value: the node that makes it
  std::vector<double> bounds_;                        // per value
  std::map<const Node*, Tensor> joined_;              // results of joining nodes that are not built yet
  std::vector<std::vector<uint32_t>> buffer_values_;  // per buffer
  std::vector<size_t> dead_values_;                   // per buffer: leading values no longer needed
  std::vector<uint32_t> constant_of_;                 // per buffer: the constant that it holds
  std::vector<uint32_t> versions_;                    // per buffer: how often it was overwritten
  std::map<std::string, Tensor> reordered_;           // key: buffer, version and both layouts
};

}  // namespace tenon::onednn
