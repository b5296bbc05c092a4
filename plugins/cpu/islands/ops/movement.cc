// Operators that only move elements, or rename axes.
#include "device.h"
#include "islands/tasks.h"
#include "kernels/common/checked.h"

namespace tenon::cpu::islands {
namespace {

/// The same elements in the same order, with other dims.
class Renamed : public Operation {
 public:
  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.outputs[0]);
    if (dims == b.dims(node.inputs[0])) return b.define(node.outputs[0], b.tensor(node.inputs[0]));
    Tensor out = b.dense(node.inputs[0], Form::kPlain);
    out.dims = dims;
    out.ld = out.columns();
    b.define(node.outputs[0], out);
  }
};

struct Identity : Renamed {
  static Support supports(const NodeView& n) {
    Check check(n);
    return ranked(check, n, 0, 0);
  }
  explicit Identity(const NodeView&) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override { return b.dims(node.inputs[0]); }
};
CPU_ISLAND_OPERATOR(Identity, .op_type = "Identity", .bytes = true)

class Flatten : public Renamed {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    return ranked(check, n, 0, 0);
  }
  explicit Flatten(const NodeView& n) : axis_(n.attr_i("axis", 1)) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& x = b.dims(node.inputs[0]);
    const int64_t rank = static_cast<int64_t>(x.size()), axis = axis_ < 0 ? axis_ + rank : axis_;
    require(axis >= 0 && axis <= rank, TENON_INVALID_ARGUMENT, "axis ", axis_, " is out of range for rank ",
            rank);
    const auto at = static_cast<size_t>(axis);
    return {ep::element_count(DimsView(x).first(at)), ep::element_count(DimsView(x).subspan(at))};
  }

 private:
  int64_t axis_;
};
CPU_ISLAND_OPERATOR(Flatten, .op_type = "Flatten", .bytes = true)

class Reshape : public Renamed {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    return ranked(check, n, 0, 0)
        .that(n.input(1).is_constant(), TENON_REJECT_OTHER, "the shape is not constant");
  }
  explicit Reshape(const NodeView& n)
      : wanted_(n.input(1).constant().to_dims()), allows_zero_(n.attr_i("allowzero", 0) != 0) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& x = b.dims(node.inputs[0]);
    Dims out = wanted_;
    int64_t rest = -1, known = 1;
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i] == 0 && !allows_zero_) {
        require(i < x.size(), TENON_INVALID_ARGUMENT, "shape ", wanted_, " copies axis ", i, " of ", x);
        out[i] = x[i];
      }
      require(out[i] >= -1, TENON_INVALID_ARGUMENT, "shape is ", wanted_);
      if (out[i] == -1) {
        require(rest < 0, TENON_INVALID_ARGUMENT, "shape ", wanted_, " has more than one -1");
        rest = static_cast<int64_t>(i);
      } else {
        require(!ep::multiply_overflows(known, out[i], &known), TENON_INVALID_ARGUMENT, "shape is ", wanted_);
      }
    }
    const int64_t count = ep::element_count(x);
    if (rest >= 0) {
      require(known != 0 && count % known == 0, TENON_INVALID_ARGUMENT, "the ", count, " elements of shape ",
              x, " cannot be reshaped to ", wanted_);
      out[static_cast<size_t>(rest)] = count / known;
    } else {
      require(known == count, TENON_INVALID_ARGUMENT, "the ", count, " elements of shape ", x,
              " cannot be reshaped to ", wanted_);
    }
    return out;
  }

 private:
  Dims wanted_;
  bool allows_zero_;
};
CPU_ISLAND_OPERATOR(Reshape, .op_type = "Reshape", .since = 5, .bytes = true)

class Concat : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    for (int i = 0; i < n.input_count() && check.ok(); ++i) ranked(check, n, i, 1);
    return check;
  }
  explicit Concat(const NodeView& n) : axis_(n.attr_i("axis", 1)) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    Dims out = b.dims(node.inputs[0]);
    const size_t axis = axis_in(out);
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const Dims& x = b.dims(node.inputs[i]);
      for (size_t d = 0; d < out.size(); ++d) {
        require(d == axis || x[d] == out[d], TENON_INVALID_ARGUMENT, "input ", i, " has shape ", x,
                ", the first differs in dim ", d);
      }
      out[axis] = checked_add(out[axis], x[axis], "the output");
    }
    return out;
  }
  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.outputs[0]);
    const size_t axis = axis_in(dims);
    const bool channels = axis == 1 && dims.size() >= 3 && b.form_of(node.inputs) == Form::kLast;
    const Form form = channels ? Form::kLast : Form::kPlain;
    const Tensor y = b.create(node.outputs[0], form);
    // The result as rows: everything from the axis on, or the channels.
    const int64_t after = channels ? 1 : ep::element_count(DimsView(dims).subspan(axis + 1));
    const int64_t row = channels ? y.ld : dims[axis] * after;
    int64_t at = 0;
    for (const uint32_t input : node.inputs) {
      const Dims& given = b.dims(input);
      const int64_t columns = given[axis] * after;
      if (ep::element_count(given) == 0) continue;
      Tensor x = channels ? b.tensor(input, form) : b.dense(input, form), part = y;
      const int64_t rows = x.elements() / columns;
      const int64_t from_ld = channels ? x.ld : columns, offset = at;
      b.add({x, y}, [=](const Run& run) {
        each_piece(run, rows, columns, [&](int64_t begin, int64_t end) {
          if (!x.is_float()) {
            for (int64_t r = begin; r < end; ++r)
              std::copy_n(run.bytes_at(x) + r * from_ld, columns, run.bytes_at(y) + r * row + offset);
            return;
          }
          isa_compute().chain({}, run.at(x) + begin * from_ld, from_ld, run.at(y) + begin * row + offset, row,
                              0, end - begin, 0, columns);
        });
      });
      at += columns;
    }
  }

 private:
  size_t axis_in(const Dims& dims) const {
    const int64_t rank = static_cast<int64_t>(dims.size()), axis = axis_ < 0 ? axis_ + rank : axis_;
    require(axis >= 0 && axis < rank, TENON_INVALID_ARGUMENT, "axis ", axis_, " is out of range for rank ",
            rank);
    return static_cast<size_t>(axis);
  }
  int64_t axis_;
};
CPU_ISLAND_OPERATOR(Concat, .op_type = "Concat", .bytes = true)

}  // namespace
}  // namespace tenon::cpu::islands
