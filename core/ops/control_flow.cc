#include "core/ops/control_flow.h"

namespace tenon::ops {

namespace {

const ir::Graph& body_of(const ir::Node& node, std::string_view attribute) {
  return *node.find(attribute)->graphs[0];
}

Status check_if(const ir::Node& node) {
  for (const std::string_view name : {"then_branch", "else_branch"}) {
    const ir::Graph& body = body_of(node, name);
    if (!body.inputs().empty()) {
      return invalid_model("the ", name, " has ", body.inputs().size(),
                           " inputs; branches of an If have none");
    }
    if (body.outputs().size() != node.outputs.size()) {
      return invalid_model("the ", name, " gives ", body.outputs().size(), " values and the node has ",
                           node.outputs.size(), " outputs");
    }
  }
  return ok_status();
}

/// `carried` values go round, `scanned` more come in with each turn, `extra` more come out before the carried
/// ones.
Status check_turns(const ir::Node& node, size_t taken, size_t carried, size_t extra) {
  const ir::Graph& body = body_of(node, "body");
  if (body.inputs().size() != taken) {
    return invalid_model("the body has ", body.inputs().size(), " inputs and the node feeds it ", taken);
  }
  if (body.outputs().size() < carried + extra) {
    return invalid_model("the body gives ", body.outputs().size(), " values and the node needs at least ",
                         carried + extra);
  }
  const size_t given = body.outputs().size() - extra;
  if (given == node.outputs.size()) return ok_status();
  return invalid_model("the body gives ", given, " values for the node's outputs, which are ",
                       node.outputs.size());
}

Status check_loop(const ir::Node& node) {
  // Trip count and condition come first and may be missing; a body gets the turn's number and the condition.
  const size_t carried = node.inputs.size() < 2 ? 0 : node.inputs.size() - 2;
  return check_turns(node, carried + 2, carried, 1);
}

Status check_scan(const ir::Node& node) {
  const int64_t scanned = node.int_or("num_scan_inputs", 0);
  const auto inputs = static_cast<int64_t>(node.inputs.size());
  if (scanned < 1 || scanned > inputs) {
    return invalid_model("num_scan_inputs is ", scanned, " of ", inputs, " inputs");
  }
  RETURN_IF_ERROR(check_turns(node, node.inputs.size(), static_cast<size_t>(inputs - scanned), 0));
  const auto scan_outputs = static_cast<int64_t>(node.outputs.size()) - (inputs - scanned);
  const auto check_list = [&](std::string_view name, int64_t count) {
    const ir::Attribute* list = node.find(name);
    if (list == nullptr || static_cast<int64_t>(list->ints.size()) == count) return ok_status();
    return invalid_model("attribute '", name, "' has ", list->ints.size(), " entries for ", count, " values");
  };
  RETURN_IF_ERROR(check_list("scan_input_directions", scanned));
  RETURN_IF_ERROR(check_list("scan_input_axes", scanned));
  RETURN_IF_ERROR(check_list("scan_output_directions", scan_outputs));
  return check_list("scan_output_axes", scan_outputs);
}

}  // namespace

Status check_bodies(const ir::Node& node) {
  if (!node.domain.empty()) return ok_status();
  if (node.op_type == "If") return check_if(node);
  if (node.op_type == "Loop") return check_loop(node);
  // Before opset 9 a Scan had a batch axis and an input for lengths.
  if (node.op_type == "Scan" && node.since_version >= 9) return check_scan(node);
  return ok_status();
}

}  // namespace tenon::ops
