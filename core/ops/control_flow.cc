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
                           " inputs; a branch of an If must not have any");
    }
    if (body.outputs().size() != node.outputs.size()) {
      return invalid_model("the ", name, " gives ", body.outputs().size(), " values and the node has ",
                           node.outputs.size(), " outputs");
    }
  }
  return ok_status();
}

/// The body takes `taken` inputs. It gives `extra` outputs, then the `carried` values, then the scan outputs.
Status check_turns(const ir::Node& node, size_t taken, size_t carried, size_t extra) {
  const ir::Graph& body = body_of(node, "body");
  if (body.inputs().size() != taken) {
    return invalid_model("the body has ", body.inputs().size(), " inputs, but the node gives it ", taken);
  }
  if (body.outputs().size() < carried + extra) {
    return invalid_model("the body gives ", body.outputs().size(), " values and the node needs at least ",
                         carried + extra);
  }
  const size_t given = body.outputs().size() - extra;
  if (given == node.outputs.size()) return ok_status();
  return invalid_model("the body gives ", given, " values for outputs, but the node has ",
                       node.outputs.size(), " outputs");
}

Status check_loop(const ir::Node& node) {
  // The node's first two inputs, trip count and condition, may be missing. The body always has two in front:
  // iteration number and condition.
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

// ---- BeamSearch and GreedySearch of com.microsoft ----

enum BeamModelType : int64_t { kGpt, kT5, kWhisper };

const ir::Graph* graph_of(const ir::Node& node, std::string_view attribute) {
  const ir::Attribute* found = node.find(attribute);
  return found == nullptr || found->graphs.empty() ? nullptr : &*found->graphs[0];
}

bool is_given(const ir::Node& node, size_t index) {
  return index < node.inputs.size() && node.inputs[index] != ir::kNone;
}

/// Inputs: tokens, positions, mask, then caches. Outputs: scores, then as many caches.
Status check_gpt(const ir::Node& node) {
  constexpr size_t kFixed = 3;
  for (const std::string_view name : {"decoder", "init_decoder"}) {
    const ir::Graph* graph = graph_of(node, name);
    if (graph == nullptr) continue;
    const size_t inputs = graph->inputs().size(), outputs = graph->outputs().size();
    if (inputs <= kFixed || inputs - kFixed != outputs - 1) {
      return unsupported(
          "attribute '", name, "': a graph with ", inputs, " inputs and ", outputs,
          " outputs is not of the GPT-2 form: input_ids, position_ids, attention_mask, past_..., "
          "and logits, present_...; if past and present share a buffer, export the model "
          "without that");
    }
  }
  return ok_status();
}

/// The encoder takes ids and a mask (Whisper: features). If it also takes start tokens, it runs the first decoder
/// step. It then gives scores, hidden states, self-attention caches and cross-attention caches; otherwise only the
/// last.
Status check_encoder_form(const ir::Node& node, bool whisper) {
  const ir::Graph *encoder = graph_of(node, "encoder"), &decoder = *graph_of(node, "decoder");
  const char* form = whisper ? "Whisper" : "T5";
  if (encoder == nullptr)
    return invalid_model("attribute 'encoder' is missing, which model_type ", whisper ? kWhisper : kT5, " (",
                         form, ") needs");
  const size_t takes = encoder->inputs().size(), gives = encoder->outputs().size();
  const bool first_step = whisper ? takes == 2 : takes == 3;
  if (!first_step && (whisper || takes != 2)) {
    return unsupported("attribute 'encoder': a graph with ", takes, " inputs is not of ", form, "'s form: ",
                       whisper ? "encoder_input_ids, decoder_input_ids"
                               : "encoder_input_ids, encoder_attention_mask, and decoder_input_ids or not");
  }
  const size_t results = decoder.outputs().size(), layers = results == 0 ? 0 : (results - 1) / 2;
  if (layers == 0 || results % 2 == 0)
    return unsupported("attribute 'decoder': a graph with ", results,
                       " outputs does not give logits and a key and a value for each layer");
  const size_t expected = first_step ? 2 + 4 * layers : 2 * layers;
  if (gives != expected) {
    return unsupported("attribute 'encoder' gives ", gives, " values; for the decoder's ", layers,
                       layers == 1 ? " layer" : " layers", " they must be ", expected, ": ",
                       first_step
                           ? "logits, encoder_hidden_states, present_key_self_..., present_key_cross_..."
                           : "present_key_cross_0, present_value_cross_0, ...");
  }
  const size_t before = whisper ? 1 : 2, inputs = decoder.inputs().size();
  const bool hidden =
      inputs > before && decoder.value(decoder.inputs()[before]).name == "encoder_hidden_states";
  if (inputs != before + (hidden ? 1 : 0) + 4 * layers) {
    return unsupported(
        "attribute 'decoder': a graph with ", inputs, " inputs is not of ", form, "'s form for ", layers,
        layers == 1 ? " layer" : " layers", ": input_ids, ", whisper ? "" : "encoder_attention_mask, ",
        "encoder_hidden_states or not, past_key_self_0, past_value_self_0, ..., past_key_cross_0, "
        "...; if past and present share a buffer, export the model without that");
  }
  if (hidden && !first_step)
    return unsupported("the decoder takes encoder_hidden_states, which an encoder with ", takes,
                       " inputs does not give");
  return ok_status();
}

/// Refuses inputs and attributes that belong to another model_type.
Status check_beam_inputs(const ir::Node& node, int64_t type) {
  constexpr size_t kMask = 9, kDecoderIds = 10;
  const auto only_of = [&](std::string_view what, std::string_view whose) {
    return invalid_model(what, " belongs to ", whose, ", but this node has model_type ", type,
                         "; leave it out");
  };
  if (type == kGpt && graph_of(node, "encoder") != nullptr)
    return only_of("attribute 'encoder'", "model_type 1 (T5) and 2 (Whisper)");
  if (type != kGpt && graph_of(node, "init_decoder") != nullptr)
    return only_of("attribute 'init_decoder'", "model_type 0 (GPT-2)");
  if (node.op_type == "GreedySearch") return ok_status();  // it has no such inputs
  if (type != kWhisper && is_given(node, kDecoderIds))
    return only_of("input 10 (decoder_input_ids)", "model_type 2 (Whisper)");
  if (type == kWhisper && is_given(node, kMask))
    return only_of("input 9 (attention_mask)", "model_type 0 (GPT-2) and 1 (T5)");
  if (type != kGpt && !is_given(node, kDecoderIds) && node.int_or("decoder_start_token_id", -1) < 0)
    return invalid_model(
        "attribute 'decoder_start_token_id' is missing or negative; it gives the decoder's first token");
  return ok_status();
}

}  // namespace

bool is_search(const ir::Node& node) {
  if (node.domain != "com.microsoft") return false;
  const int64_t type = node.int_or("model_type", kGpt);
  if (node.op_type == "GreedySearch") return graph_of(node, "decoder") != nullptr && type == kGpt;
  return node.op_type == "BeamSearch" && graph_of(node, "decoder") != nullptr && type >= kGpt &&
         type <= kWhisper;
}

namespace {

Status check_search(const ir::Node& node) {
  const int64_t type = node.int_or("model_type", kGpt);
  RETURN_IF_ERROR(check_beam_inputs(node, type));
  return type == kGpt ? check_gpt(node) : check_encoder_form(node, type == kWhisper);
}

}  // namespace

Status check_bodies(const ir::Node& node) {
  if (is_search(node)) return check_search(node);
  if (!node.domain.empty()) return ok_status();
  if (node.op_type == "If") return check_if(node);
  if (node.op_type == "Loop") return check_loop(node);
  // Before opset 9, Scan had a batch axis and an input for lengths.
  if (node.op_type == "Scan" && node.since_version >= 9) return check_scan(node);
  return ok_status();
}

}  // namespace tenon::ops
