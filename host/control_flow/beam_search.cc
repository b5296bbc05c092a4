// BeamSearch of com.microsoft: reads the options, asks a model for scores and keeps the best sequences.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/control_flow/beam_model.h"

namespace tenon::runtime {
namespace {

enum ModelType : int64_t { kGpt, kT5 };

/// Turns scores into log-probabilities, row by row.
void take_log_softmax(std::span<float> scores, int64_t vocabulary) {
  for (auto row = scores.begin(); row != scores.end(); row += vocabulary) {
    const float top = *std::max_element(row, row + vocabulary);
    float sum = 0;
    for (int64_t i = 0; i < vocabulary; ++i) sum += std::exp(row[i] - top);
    const float shift = std::log(sum);  // subtracted apart from `top`: their sum would lose precision
    for (int64_t i = 0; i < vocabulary; ++i) row[i] = row[i] - top - shift;
  }
}

class BeamSearch {
 public:
  explicit BeamSearch(ControlFlow& flow) : flow_(flow) {}

  Status run() {
    switch (flow_.node().int_or("model_type", kGpt)) {
      case kGpt:
        model_ = make_gpt_model(flow_, kBeamMask);
        break;
      case kT5:
        model_ = make_encoder_model(flow_, false);
        break;
      default:
        model_ = make_encoder_model(flow_, true);
    }
    RETURN_IF_ERROR(read_options());
    ASSIGN_OR_RETURN(sequence_charge_, charge(kSequenceBytes, options_.max_length));
    RETURN_IF_ERROR(flow_.check());
    ASSIGN_OR_RETURN(ValueRef logits, model_->begin(options_));
    for (;;) {
      RETURN_IF_ERROR(choose(logits->tensor));
      if (scorer_->done()) return finish();
      RETURN_IF_ERROR(flow_.check());
      ASSIGN_OR_RETURN(logits, model_->go_on(*scorer_));
    }
  }

 private:
  int64_t rows() const { return options_.batch * options_.beams; }

  Status read_options() {
    const ir::Node& node = flow_.node();
    BeamOptions& o = options_;
    ASSIGN_OR_RETURN(prompts_, model_->prompts());
    o.batch = prompts_.batch;
    ASSIGN_OR_RETURN(o.max_length, read_one<int32_t>(flow_, kBeamMaxLength, "max_length", 0));
    ASSIGN_OR_RETURN(o.min_length, read_one<int32_t>(flow_, kBeamMinLength, "min_length", 0));
    ASSIGN_OR_RETURN(o.beams, read_one<int32_t>(flow_, kBeamBeams, "num_beams", 1));
    ASSIGN_OR_RETURN(o.returned, read_one<int32_t>(flow_, kBeamReturned, "num_return_sequences", 1));
    ASSIGN_OR_RETURN(o.length_penalty, read_one(flow_, kBeamLengthPenalty, "length_penalty", 1.0f));
    ASSIGN_OR_RETURN(o.repetition_penalty,
                     read_one(flow_, kBeamRepetitionPenalty, "repetition_penalty", 1.0f));
    ASSIGN_OR_RETURN(const int32_t processor,
                     read_one<int32_t>(flow_, kBeamLogitsProcessor, "logits_processor", 0));
    o.end_token = static_cast<int32_t>(node.int_or("eos_token_id", -1));
    o.pad_token = static_cast<int32_t>(node.int_or("pad_token_id", 0));
    o.repeat_ngram = node.int_or("no_repeat_ngram_size", 0);
    o.early_stopping = node.int_or("early_stopping", 0) != 0;
    o.vocabulary = node.int_or("vocab_size", -1);
    if (processor != 0)
      return unsupported("logits_processor ", processor,
                         " (rules for a model's time stamps) is not supported; give 0, or omit the input");
    if (o.max_length <= prompts_.length)
      return invalid_input("max_length ", o.max_length, " leaves no room after a prompt of length ",
                           prompts_.length);
    if (o.beams < 1 || o.returned < 1 || o.returned > o.beams)
      return invalid_input("num_return_sequences is ", o.returned,
                           ", but must be between 1 and num_beams = ", o.beams);
    if (!(o.repetition_penalty > 0)) return invalid_input("repetition_penalty must be above 0");
    return ok_status();
  }

  static constexpr double kSequenceBytes = 16;  // per token: two working copies, an ended sequence, an output
  static constexpr double kScoreBytes = 24;     // per word: its score and its candidate

  Result<MemoryCharge> charge(double bytes_each, int64_t each) const {
    const double bytes = bytes_each * static_cast<double>(options_.batch) *
                         static_cast<double>(options_.beams) * static_cast<double>(each);
    return MemoryCharge::take(bytes < 9e18 ? static_cast<uint64_t>(bytes) : UINT64_MAX);
  }

  /// Makes the scorer. Called with the first logits, which show the size of the vocabulary.
  Status make_scorer(const tenon_tensor& logits) {
    BeamOptions& o = options_;
    RETURN_IF_ERROR(read_vocabulary(flow_, logits, kBeamAllowed, kBeamAllowedFirst, &o));
    const auto width = static_cast<size_t>(o.vocabulary);
    ASSIGN_OR_RETURN(score_charge_, charge(kScoreBytes, o.vocabulary));
    scorer_ = std::make_unique<BeamScorer>(o, prompts_.tokens);
    scores_.resize(static_cast<size_t>(rows()) * width);
    return make_history();
  }

  /// Output 2: the scores of all candidates per step; 0 for the steps that an early end skips.
  Status make_history() {
    if (!flow_.wants_output(2)) return ok_status();
    const BeamOptions& o = options_;
    const int64_t dims[] = {o.max_length - prompts_.length, o.batch, o.beams, o.vocabulary};
    ASSIGN_OR_RETURN(history_, make_tensor(TENON_FLOAT32, dims));
    std::memset(history_->tensor.data, 0, history_->tensor.byte_size);
    return ok_status();
  }

  Status choose(const tenon_tensor& logits) {
    if (scorer_ == nullptr) RETURN_IF_ERROR(make_scorer(logits));
    RETURN_IF_ERROR(read_last_scores(logits, options_, scores_));
    take_log_softmax(scores_, options_.vocabulary);
    scorer_->restrict(scores_);
    if (history_) {
      float* to = static_cast<float*>(history_->tensor.data) +
                  static_cast<size_t>(scorer_->length() - prompts_.length) * scores_.size();
      const auto width = static_cast<size_t>(options_.vocabulary);
      for (size_t i = 0; i < scores_.size(); ++i) to[i] = scores_[i] + scorer_->beam_scores()[i / width];
    }
    scorer_->advance(scores_);
    return ok_status();
  }

  Status finish() {
    const BeamOptions& o = options_;
    ValueRef sequences;
    ASSIGN_OR_RETURN(const std::span<int32_t> tokens,
                     make_ints({o.batch, o.returned, o.max_length}, &sequences));
    const int64_t dims[] = {o.batch, o.returned};
    ASSIGN_OR_RETURN(ValueRef worths, make_tensor(TENON_FLOAT32, dims));
    scorer_->finish(tokens,
                    {static_cast<float*>(worths->tensor.data), static_cast<size_t>(o.batch * o.returned)});
    flow_.set_output(0, std::move(sequences));
    flow_.set_output(1, std::move(worths));
    if (history_) flow_.set_output(2, std::move(history_));
    return ok_status();
  }

  ControlFlow& flow_;
  std::unique_ptr<BeamModel> model_;
  BeamOptions options_;
  BeamPrompts prompts_;
  MemoryCharge sequence_charge_, score_charge_;
  std::unique_ptr<BeamScorer> scorer_;
  std::vector<float> scores_;
  ValueRef history_;
};

}  // namespace

Status run_beam_search(ControlFlow& flow) { return BeamSearch(flow).run(); }

}  // namespace tenon::runtime
