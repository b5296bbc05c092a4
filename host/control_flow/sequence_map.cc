// SequenceMap: a body that runs once per element of a sequence. Further inputs are sequences of the same length, or
// tensors that are passed whole to every turn.
#include "host/control_flow/control_flow.h"

namespace tenon::runtime {
namespace {

/// The argument of turn `turn` for input `i`: an element of a sequence, or the whole tensor.
Result<Argument> element_of(ControlFlow& flow, size_t i, size_t turn) {
  Argument whole = flow.argument(i);
  if (whole.tensor.kind != TENON_KIND_SEQUENCE) return whole;
  const tenon_value& sequence = *whole.tensor.object;
  if (turn >= sequence.elements.size()) {
    return invalid_input("input ", i, " has ", sequence.elements.size(), " elements, fewer than input 0");
  }
  return Argument(sequence.elements[turn]);
}

}  // namespace

Status run_sequence_map(ControlFlow& flow) {
  ASSIGN_OR_RETURN(const Body* body, flow.body("body"));
  if (!flow.has_input(0) || flow.input(0).kind != TENON_KIND_SEQUENCE)
    return invalid_model("input 0 is not a sequence");
  const size_t turns = flow.input(0).object->elements.size();
  const ir::Graph& graph = body->executable->graph();
  std::vector<std::vector<ValueRef>> mapped(graph.outputs().size());
  std::vector<ValueRef> outputs;
  for (size_t turn = 0; turn < turns; ++turn) {
    RETURN_IF_ERROR(flow.check());
    std::vector<Argument> arguments;
    for (size_t i = 0; i < flow.input_count(); ++i) {
      ASSIGN_OR_RETURN(Argument argument, element_of(flow, i, turn));
      arguments.push_back(std::move(argument));
    }
    RETURN_IF_ERROR(flow.run(*body, std::move(arguments), &outputs));
    for (size_t o = 0; o < outputs.size(); ++o) mapped[o].push_back(std::move(outputs[o]));
  }
  for (size_t o = 0; o < mapped.size(); ++o) {
    std::vector<tenon_value*> elements;
    for (const ValueRef& element : mapped[o]) elements.push_back(element.get());
    const uint32_t declared = static_cast<uint32_t>(graph.value(graph.outputs()[o]).type.element);
    const uint32_t dtype = elements.empty() ? declared : elements[0]->tensor.dtype;
    ASSIGN_OR_RETURN(ValueRef sequence, make_composite(TENON_KIND_SEQUENCE, dtype, elements));
    flow.set_output(o, std::move(sequence));
  }
  return ok_status();
}

}  // namespace tenon::runtime
