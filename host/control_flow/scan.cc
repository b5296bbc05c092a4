// Scan: a body that runs once per element along an axis of its scan inputs, with states carried from turn to turn.
//
// In version 8 all inputs have a leading batch axis, whose elements are scanned one after the other, and an input may
// give a length for each. From version 9 on, axes and directions are attributes.
#include <algorithm>
#include <cstring>

#include "host/control_flow/control_flow.h"
#include "host/control_flow/stack.h"

namespace tenon::runtime {
namespace {

/// Attributes with their defaults filled in, one entry per scan input or output.
struct ScanSpec {
  size_t states = 0, inputs = 0, outputs = 0;
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
};

std::vector<int64_t> ints_or(const ir::Node& node, std::string_view name, size_t count, int64_t fallback) {
  const ir::Attribute* attribute = node.find(name);
  std::vector<int64_t> out = attribute != nullptr ? attribute->ints : std::vector<int64_t>();
  out.resize(count, fallback);
  return out;
}

/// The result of one scan: the final states, and per scan output the elements of all turns.
struct ScanResult {
  std::vector<Argument> states;
  std::vector<std::vector<ValueRef>> outputs;
};

class Scan {
 public:
  Scan(ControlFlow& flow, const Body& body) : flow_(flow), body_(body), graph_(body.executable->graph()) {}

  Status run() {
    const ir::Node& node = flow_.node();
    batched_ = node.since_version == 8;
    const size_t first = batched_ ? 1 : 0;
    if (flow_.input_count() < first) return invalid_model("inputs are missing");
    const int64_t scan_inputs = node.int_or("num_scan_inputs", 0);
    const size_t given = flow_.input_count() - first;
    if (scan_inputs < 1 || static_cast<size_t>(scan_inputs) > given) {
      return invalid_model("num_scan_inputs is ", scan_inputs, ", but the node has ", given,
                           " inputs for states and scans");
    }
    spec_.inputs = static_cast<size_t>(scan_inputs);
    spec_.states = given - spec_.inputs;
    if (graph_.outputs().size() < spec_.states)
      return invalid_model("the body gives fewer outputs than there are states");
    spec_.outputs = graph_.outputs().size() - spec_.states;
    spec_.input_axes = ints_or(node, "scan_input_axes", spec_.inputs, 0);
    spec_.input_directions =
        ints_or(node, batched_ ? "directions" : "scan_input_directions", spec_.inputs, 0);
    spec_.output_axes = ints_or(node, "scan_output_axes", spec_.outputs, 0);
    spec_.output_directions = ints_or(node, "scan_output_directions", spec_.outputs, 0);
    for (size_t i = 0; i < given; ++i) {
      if (!flow_.has_input(first + i)) return invalid_model("input ", first + i, " is missing");
    }
    return batched_ ? run_batched() : run_plain();
  }

 private:
  Status run_plain() {
    std::vector<Argument> states;
    std::vector<tenon_tensor> scanned;
    for (size_t i = 0; i < spec_.states; ++i) states.push_back(flow_.argument(i));
    for (size_t i = 0; i < spec_.inputs; ++i) scanned.push_back(flow_.input(spec_.states + i));
    ASSIGN_OR_RETURN(const int64_t length, length_of(scanned));
    ASSIGN_OR_RETURN(ScanResult result, scan(std::move(states), scanned, length));
    for (size_t i = 0; i < spec_.states; ++i) {
      ASSIGN_OR_RETURN(ValueRef state, to_value(result.states[i]));
      flow_.set_output(i, std::move(state));
    }
    for (size_t i = 0; i < spec_.outputs; ++i) {
      ASSIGN_OR_RETURN(ValueRef stacked, stack(result.outputs[i], spec_.output_axes[i], output_type(i),
                                               spec_.output_directions[i] != 0));
      flow_.set_output(spec_.states + i, std::move(stacked));
    }
    return ok_status();
  }

  const ir::Type& output_type(size_t i) const {
    return graph_.value(graph_.outputs()[spec_.states + i]).type;
  }

  /// The common length of the scan inputs along their axes. Makes negative axes positive.
  Result<int64_t> length_of(const std::vector<tenon_tensor>& scanned) {
    int64_t length = -1;
    for (size_t i = 0; i < scanned.size(); ++i) {
      int64_t& axis = spec_.input_axes[i];
      if (axis < 0) axis += scanned[i].rank;
      if (axis < 0 || axis >= scanned[i].rank) return invalid_model("scan input ", i, " has no axis ", axis);
      const int64_t own = scanned[i].dims[axis];
      if (length >= 0 && own != length) {
        return invalid_input("scan inputs are of length ", length, " and ", own, " along their axes");
      }
      length = own;
    }
    return length;
  }

  Result<ScanResult> scan(std::vector<Argument> states, const std::vector<tenon_tensor>& scanned,
                          int64_t length) {
    ScanResult result{std::move(states), std::vector<std::vector<ValueRef>>(spec_.outputs)};
    std::vector<std::vector<int64_t>> dims(scanned.size());
    std::vector<ValueRef> outputs;
    for (int64_t turn = 0; turn < length; ++turn) {
      RETURN_IF_ERROR(flow_.check());
      std::vector<Argument> arguments = std::move(result.states);
      for (size_t i = 0; i < scanned.size(); ++i) {
        const int64_t index = spec_.input_directions[i] != 0 ? length - 1 - turn : turn;
        ASSIGN_OR_RETURN(Argument element, slice(scanned[i], spec_.input_axes[i], index, &dims[i]));
        arguments.push_back(std::move(element));
      }
      RETURN_IF_ERROR(flow_.run(body_, std::move(arguments), &outputs));
      result.states.clear();
      for (size_t i = 0; i < spec_.states; ++i) result.states.emplace_back(std::move(outputs[i]));
      for (size_t i = 0; i < spec_.outputs; ++i)
        result.outputs[i].push_back(std::move(outputs[spec_.states + i]));
    }
    return result;
  }

  /// Version 8: input 0 holds the length for each element of the batch, or is missing.
  Status run_batched() {
    const tenon_tensor& first = flow_.input(1);
    if (first.rank < 1) return invalid_model("input 1 has no batch axis");
    const int64_t batch = first.dims[0];
    std::vector<std::vector<ValueRef>> states(spec_.states), outputs(spec_.outputs);
    for (int64_t b = 0; b < batch; ++b) RETURN_IF_ERROR(run_one(b, &states, &outputs));
    for (size_t i = 0; i < spec_.states; ++i) {
      ASSIGN_OR_RETURN(ValueRef stacked, stack(states[i], 0, graph_.value(graph_.outputs()[i]).type));
      flow_.set_output(i, std::move(stacked));
    }
    for (size_t i = 0; i < spec_.outputs; ++i) {
      ASSIGN_OR_RETURN(ValueRef stacked, stack(outputs[i], 0, {}));
      flow_.set_output(spec_.states + i, std::move(stacked));
    }
    return ok_status();
  }

  Status run_one(int64_t b, std::vector<std::vector<ValueRef>>* states,
                 std::vector<std::vector<ValueRef>>* outputs) {
    RETURN_IF_ERROR(flow_.check());
    std::vector<std::vector<int64_t>> dims(spec_.states + spec_.inputs);
    std::vector<Argument> own_states, kept;
    std::vector<tenon_tensor> scanned;
    for (size_t i = 0; i < spec_.states + spec_.inputs; ++i) {
      const tenon_tensor& whole = flow_.input(1 + i);
      if (whole.rank < 1 || b >= whole.dims[0])
        return invalid_input("input ", 1 + i, " has another batch size");
      ASSIGN_OR_RETURN(Argument element, slice(whole, 0, b, &dims[i]));
      if (i < spec_.states) {
        own_states.push_back(std::move(element));
      } else {
        scanned.push_back(element.tensor);
        kept.push_back(std::move(element));
      }
    }
    ASSIGN_OR_RETURN(const int64_t longest, length_of(scanned));
    ASSIGN_OR_RETURN(const int64_t length, length_for(b, longest));
    ASSIGN_OR_RETURN(ScanResult result, scan(std::move(own_states), scanned, length));
    for (size_t i = 0; i < spec_.states; ++i) {
      ASSIGN_OR_RETURN(ValueRef state, to_value(result.states[i]));
      (*states)[i].push_back(std::move(state));
    }
    for (size_t i = 0; i < spec_.outputs; ++i) {
      RETURN_IF_ERROR(pad(&result.outputs[i], longest));
      ASSIGN_OR_RETURN(ValueRef stacked, stack(result.outputs[i], 0, output_type(i)));
      (*outputs)[i].push_back(std::move(stacked));
    }
    return ok_status();
  }

  Result<int64_t> length_for(int64_t b, int64_t longest) {
    if (!flow_.has_input(0)) return longest;
    const tenon_tensor& lengths = flow_.input(0);
    if (lengths.dtype != TENON_INT64 || lengths.rank != 1 || b >= lengths.dims[0]) {
      return invalid_input("sequence_lens must hold one int64 for each batch element");
    }
    const int64_t length = static_cast<const int64_t*>(lengths.data)[b];
    if (length < 0 || length > longest)
      return invalid_input("sequence length ", length, " is not in [0, ", longest, "]");
    return length;
  }

  /// Fills in zeros for the turns that a shorter sequence does not have.
  Status pad(std::vector<ValueRef>* elements, int64_t length) {
    if (elements->empty()) return ok_status();
    while (static_cast<int64_t>(elements->size()) < length) {
      const tenon_tensor& like = elements->front()->tensor;
      ASSIGN_OR_RETURN(ValueRef zeros, make_tensor(like.dtype, {like.dims, like.rank}));
      if (like.byte_size != 0) std::memset(zeros->tensor.data, 0, like.byte_size);
      elements->push_back(std::move(zeros));
    }
    return ok_status();
  }

  ControlFlow& flow_;
  const Body& body_;
  const ir::Graph& graph_;
  ScanSpec spec_;
  bool batched_ = false;
};

}  // namespace

Status run_scan(ControlFlow& flow) {
  ASSIGN_OR_RETURN(const Body* body, flow.body("body"));
  return Scan(flow, *body).run();
}

}  // namespace tenon::runtime
