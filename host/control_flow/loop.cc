// Loop: a body that runs a number of times, or while a condition holds, with values carried from turn to turn.
#include <limits>

#include "host/control_flow/control_flow.h"
#include "host/control_flow/stack.h"

namespace tenon::runtime {
namespace {

/// An input of one element that Loop makes itself. It has the rank that the body declares: some exporters declare [1].
class OneElement {
 public:
  OneElement(uint32_t dtype, void* data, uint64_t bytes, const ir::Type& declared) {
    argument_.tensor.kind = TENON_KIND_TENSOR;
    argument_.tensor.dtype = dtype;
    argument_.tensor.rank =
        declared.is_tensor() && declared.shape.has_rank && declared.shape.rank() == 1 ? 1 : 0;
    argument_.tensor.dims = &one_;
    argument_.tensor.data = data;
    argument_.tensor.byte_size = bytes;
  }
  const Argument& argument() const { return argument_; }

 private:
  static constexpr int64_t one_ = 1;
  Argument argument_;
};

class Loop {
 public:
  Loop(ControlFlow& flow, const Body& body) : flow_(flow), body_(body), graph_(body.executable->graph()) {}

  Status run() {
    RETURN_IF_ERROR(start());
    const OneElement turn(TENON_INT64, &turn_, sizeof(turn_), input_type(0));
    const OneElement condition(TENON_BOOL, &condition_, sizeof(condition_), input_type(1));
    std::vector<Argument> arguments;
    std::vector<ValueRef> outputs;
    for (; turn_ < trips_ && condition_ != 0; ++turn_) {
      RETURN_IF_ERROR(flow_.check());
      arguments.assign({turn.argument(), condition.argument()});
      for (Argument& value : carried_) arguments.push_back(std::move(value));
      RETURN_IF_ERROR(flow_.run(body_, std::move(arguments), &outputs));
      RETURN_IF_ERROR(take(&outputs));
    }
    return finish();
  }

 private:
  const ir::Type& input_type(size_t i) const { return graph_.value(graph_.inputs()[i]).type; }

  Status start() {
    if (graph_.inputs().size() < 2)
      return invalid_model("the body of Loop takes an iteration number and a condition");
    carried_count_ = graph_.inputs().size() - 2;
    if (graph_.outputs().size() < 1 + carried_count_) {
      return invalid_model("the body of Loop returns ", graph_.outputs().size(),
                           " outputs, but must return a condition and ", carried_count_, " carried values");
    }
    if (flow_.has_input(0)) {
      const tenon_tensor& trips = flow_.input(0);
      if (trips.dtype != TENON_INT64 || trips.byte_size != sizeof(int64_t)) {
        return invalid_model("the trip count is not a single int64");
      }
      trips_ = *static_cast<const int64_t*>(trips.data);
    }
    if (flow_.has_input(1)) {
      ASSIGN_OR_RETURN(const bool condition, to_bool(flow_.input(1), "the condition"));
      condition_ = condition ? 1 : 0;
    }
    for (size_t i = 0; i < carried_count_; ++i) {
      if (!flow_.has_input(2 + i))
        return invalid_model("the initial value of carried value ", i, " is missing");
      carried_.push_back(flow_.argument(2 + i));
    }
    scanned_.resize(graph_.outputs().size() - 1 - carried_count_);
    return ok_status();
  }

  Status take(std::vector<ValueRef>* outputs) {
    ASSIGN_OR_RETURN(const bool condition, to_bool((*outputs)[0]->tensor, "the body's condition"));
    condition_ = condition ? 1 : 0;
    for (size_t i = 0; i < carried_count_; ++i) carried_[i] = Argument(std::move((*outputs)[1 + i]));
    for (size_t i = 0; i < scanned_.size(); ++i)
      scanned_[i].push_back(std::move((*outputs)[1 + carried_count_ + i]));
    return ok_status();
  }

  Status finish() {
    for (size_t i = 0; i < carried_count_; ++i) {
      ASSIGN_OR_RETURN(ValueRef value, to_value(carried_[i]));
      flow_.set_output(i, std::move(value));
    }
    for (size_t i = 0; i < scanned_.size(); ++i) {
      const ir::ValueId output = graph_.outputs()[1 + carried_count_ + i];
      ASSIGN_OR_RETURN(ValueRef stacked, stack(scanned_[i], 0, graph_.value(output).type));
      flow_.set_output(carried_count_ + i, std::move(stacked));
    }
    return ok_status();
  }

  ControlFlow& flow_;
  const Body& body_;
  const ir::Graph& graph_;
  int64_t trips_ = std::numeric_limits<int64_t>::max();
  int64_t turn_ = 0;
  uint8_t condition_ = 1;
  size_t carried_count_ = 0;
  std::vector<Argument> carried_;
  std::vector<std::vector<ValueRef>> scanned_;  // per scan output, per turn
};

}  // namespace

Status run_loop(ControlFlow& flow) {
  ASSIGN_OR_RETURN(const Body* body, flow.body("body"));
  return Loop(flow, *body).run();
}

}  // namespace tenon::runtime
