// What operations build with: the tensors of an island for one shape signature, and the steps over them.
//
// Layouts stay as the primitives chose them until somebody asks for another; pointwise nodes are taken into the
// primitive that makes their input where that keeps the result; a value that is an output of the island is
// written there at once when its layout is the plain one.
//
// Much of the library is fast for numbers, and wrong for NaN and infinities. In `exact` precision it is used where
// no such thing can come out: what is known of the weights bounds what a convolution gives for inputs of some size,
// and a step in the run looks whether they have it. A run that fails this starts again with a plan that trusts nothing.
#pragma once

#include <functional>
#include <initializer_list>

#include "compiler/program.h"

namespace tenon::onednn {

/// A tensor that exists, or will when the steps so far have run.
struct Tensor {
  Layout layout;
  uint32_t buffer = kNone;
  bool is_empty() const { return layout.elements() == 0; }
};

/// With the last two axes in the other order.
Dims turned(Dims dims);
Layout turned(const Layout& layout);

/// What fuse() took in: the value that the primitive then makes, and the operands of its post-operations.
struct Fused {
  uint32_t value = kNone;
  PostOps post_ops;
  std::vector<Tensor> operands;  // by post-operation; without buffer where there is none
};

class Builder {
 public:
  /// `dims`: per value, null where nobody knows. `checked`: the plan may look at numbers and refuse a run.
  Builder(const Program& program, const std::vector<const Dims*>& dims, uint32_t threads, bool checked);
  /// Everything; call once.
  std::shared_ptr<const Plan> build();

  const Engine& engine() const { return program_.instance().device.engine(); }
  const Instance& instance() const { return program_.instance(); }
  uint32_t threads() const { return plan_->threads; }

  /// As ONNX sees it; a scalar has none.
  const Dims& dims(uint32_t value) const;
  Type type(uint32_t value) const;
  bool is_constant(uint32_t value) const { return program_.values()[value].constant != nullptr; }
  /// Of a constant.
  template <class T>
  std::span<const T> constant(uint32_t value) const {
    return ep::TensorView(program_.values()[value].constant).span<T>();
  }

  /// Of the element type that ONNX gives it.
  Tensor tensor(uint32_t value);
  /// Of the type in which it is kept inside the island, which is bfloat16 for results of products in that precision.
  Tensor kept(uint32_t value);
  /// The type in which convolutions and products read, and write what stays inside the island.
  Type product_type() const { return instance().bf16 ? Type::kBFloat16 : Type::kFloat32; }
  /// In another layout; of a constant once and for all.
  Tensor as(const Tensor& tensor, const Layout& layout);
  Tensor plain(uint32_t value);
  /// Plain if its layout has gaps, else as it is.
  Tensor compact(uint32_t value) { return compact(tensor(value)); }
  Tensor compact(const Tensor& tensor);
  /// Makes a primitive that reads `given` in the layout it has, or in the plain one where the library has nothing good
  /// for that; `out` is the tensor that it reads.
  Primitive suit(const Tensor& given, const std::function<Primitive(const Layout&)>& make, Tensor* out);
  /// Other dims for the same elements in order.
  Tensor reshaped(const Tensor& tensor, DimsView dims);
  /// Axes of one element repeated, missing ones in front added; plain when anything is.
  Tensor broadcast(const Tensor& tensor, DimsView dims);
  /// What is known before the run of the magnitude of this value's elements.
  double bound(uint32_t value) const;
  /// The least magnitude among the elements of a constant; 0 of others.
  double least(uint32_t value) const;
  /// The greatest sum of magnitudes over the rows of a constant, one row for each element of the first axis.
  double row_bound(uint32_t value) const;
  /// Whether `value` has neither NaN nor infinities, or nobody asked that they be kept.
  bool is_tame(uint32_t value) const;
  /// Makes it so where a check of what it is made from can: of its own elements, or, before it is made, of the inputs of
  /// its node.
  bool tame(uint32_t value);
  /// Layouts of images are blocks of channels here, not channels last.
  bool blocked() const { return blocked_; }

  /// Whether the memory of this value may be written to when `node` runs.
  bool may_overwrite(const Node& node, uint32_t value);

  /// Memory for `value`, of that layout.
  Tensor create(uint32_t value, const Layout& layout);
  /// Where inputs of `node`, which joins them, were made at their places in its result: moves the others there, and
  /// defines the result. False: none was.
  bool finish_join(const Node& node);
  Tensor temporary(const Layout& layout);
  /// `value` takes the memory of `tensor`; after may_overwrite().
  Tensor overwrite(uint32_t value, const Tensor& tensor);
  void define(uint32_t value, const Tensor& tensor);
  void step(const Primitive& primitive, std::initializer_list<std::pair<int, Tensor>> arguments);
  void step(const Primitive& primitive, const std::vector<std::pair<int, Tensor>>& arguments);
  void local(std::initializer_list<Tensor> arguments, Local work);
  Tensor filled(const Layout& layout, float number);
  void fill(uint32_t value, float number);

  /// Makes a primitive whose result is `value`, with as many of the pointwise nodes after it as it takes in well. The
  /// primitive writes the elements of `value` as `dims`: those of the value turned, or others for the same elements in the same
  /// order, and then plain.
  Primitive fuse(uint32_t value, const Dims& dims, const std::function<Primitive(const PostOps&)>& make,
                 Fused* out);
  Primitive fuse(uint32_t value, const std::function<Primitive(const PostOps&)>& make, Fused* out);
  /// Runs what fuse() made: creates the destination, adds the operands of the post-operations.
  void run_fused(const Primitive& primitive, std::vector<std::pair<int, Tensor>> arguments,
                 const Fused& fused);

 private:
  void check_sizes() const;
  void check_shapes(const Node& node) const;
  void require_elements(uint32_t value, const Layout& layout) const;
  struct Candidate {
    std::vector<uint32_t> nodes;
    uint32_t value;  // what they make
    PostOp post_op;
    Tensor operand;
  };
  /// A node that the primitive before it may do, with the value it makes and its other operand.
  std::optional<Candidate> follower(uint32_t value, const Dims& written);
  std::optional<Candidate> pattern(uint32_t value) const;
  bool add_operand(const Node& node, uint32_t value, const Dims& written, Binary f, Candidate* out);
  std::vector<Candidate> followers(uint32_t value, const Dims& written);
  std::optional<Primitive> try_with(const std::vector<Candidate>& candidates, size_t count, bool sum,
                                    const std::function<Primitive(const PostOps&)>& make, Fused* out);
  uint32_t add_buffer(Home home, uint32_t index, uint64_t bytes);
  void touch(uint32_t buffer);
  Tensor constant_as(uint32_t value, const Tensor& tensor, const Layout& layout);
  bool dies_with(uint32_t buffer, const std::vector<uint32_t>& nodes);
  /// Whether nobody waits for the value once these nodes are done.
  bool is_free_after(uint32_t value, const std::vector<uint32_t>& nodes) const;
  void copy(const Tensor& from, const Tensor& to);
  void finish();
  bool check_in_run(uint32_t value);
  std::optional<Tensor> place_in_join(uint32_t value, const Layout& layout);
  Tensor part_of(const Node& node, size_t index, const Tensor& whole);
  void learn(uint32_t node);

  const Program& program_;
  const std::vector<const Dims*>& dims_;
  std::shared_ptr<Plan> plan_;
  std::vector<Tensor> tensors_;  // per value
  std::vector<bool> done_;       // per node
  bool checked_, blocked_ = false;
  std::vector<uint32_t> makers_;                      // per value: the node
  std::vector<double> bounds_;                        // per value
  std::map<const Node*, Tensor> joined_;              // results of nodes that join, before they are built
  std::vector<std::vector<uint32_t>> buffer_values_;  // per buffer
  std::vector<size_t> dead_values_;    // per buffer: how many of these, from the first on, nobody waits for
  std::vector<uint32_t> constant_of_;  // per buffer: the constant value that it is
  std::vector<uint32_t> versions_;     // per buffer: how often it was overwritten
  std::map<std::string, Tensor> reordered_;  // by buffer, version and both layouts
};

}  // namespace tenon::onednn
