// GreedySearch of com.microsoft, with a decoder of the GPT-2 form: one sequence per batch entry, always continued with
// the token of the highest score.
#include "host/control_flow/beam_model.h"

namespace tenon::runtime {
namespace {

enum GreedyInput : size_t { kMaxLength = 1, kMinLength, kRepetitionPenalty, kAllowed, kAllowedFirst, kMask };

constexpr double kBytesPerToken = 8, kBytesPerWord = 4;

Result<MemoryCharge> charge(const BeamOptions& o, double bytes_each, int64_t each) {
  const double bytes = bytes_each * static_cast<double>(o.batch) * static_cast<double>(each);
  return MemoryCharge::take(bytes < 9e18 ? static_cast<uint64_t>(bytes) : UINT64_MAX);
}

Result<BeamOptions> read_options(const ControlFlow& flow, const BeamPrompts& prompts) {
  const ir::Node& node = flow.node();
  BeamOptions o;
  o.batch = prompts.batch;
  ASSIGN_OR_RETURN(o.max_length, read_one<int32_t>(flow, kMaxLength, "max_length", 0));
  ASSIGN_OR_RETURN(o.min_length, read_one<int32_t>(flow, kMinLength, "min_length", 0));
  ASSIGN_OR_RETURN(o.repetition_penalty, read_one(flow, kRepetitionPenalty, "repetition_penalty", 1.0f));
  o.end_token = static_cast<int32_t>(node.int_or("eos_token_id", -1));
  o.pad_token = static_cast<int32_t>(node.int_or("pad_token_id", 0));
  o.repeat_ngram = node.int_or("no_repeat_ngram_size", 0);
  o.vocabulary = node.int_or("vocab_size", -1);
  if (o.max_length <= prompts.length)
    return invalid_input("max_length ", o.max_length, " leaves no room after a prompt of length ",
                         prompts.length);
  if (!(o.repetition_penalty > 0)) return invalid_input("repetition_penalty must be above 0");
  return o;
}

}  // namespace

Status run_greedy_search(ControlFlow& flow) {
  const std::unique_ptr<BeamModel> model = make_gpt_model(flow, kMask);
  ASSIGN_OR_RETURN(const BeamPrompts prompts, model->prompts());
  ASSIGN_OR_RETURN(BeamOptions options, read_options(flow, prompts));
  ASSIGN_OR_RETURN(const MemoryCharge sequence_charge, charge(options, kBytesPerToken, options.max_length));
  RETURN_IF_ERROR(flow.check());
  ASSIGN_OR_RETURN(ValueRef logits, model->begin(options));
  RETURN_IF_ERROR(read_vocabulary(flow, logits->tensor, kAllowed, kAllowedFirst, &options));
  ASSIGN_OR_RETURN(const MemoryCharge score_charge, charge(options, kBytesPerWord, options.vocabulary));
  std::vector<float> scores(static_cast<size_t>(options.batch * options.vocabulary));
  BeamScorer scorer(options, prompts.tokens);
  for (;;) {
    RETURN_IF_ERROR(read_last_scores(logits->tensor, options, scores));
    scorer.restrict(scores);
    scorer.advance_greedily(scores);
    if (scorer.done()) break;
    RETURN_IF_ERROR(flow.check());
    ASSIGN_OR_RETURN(logits, model->go_on(scorer));
  }
  ValueRef sequences;
  ASSIGN_OR_RETURN(const std::span<int32_t> tokens,
                   make_ints({options.batch, options.max_length}, &sequences));
  scorer.finish_greedily(tokens);
  flow.set_output(0, std::move(sequences));
  return ok_status();
}

}  // namespace tenon::runtime
