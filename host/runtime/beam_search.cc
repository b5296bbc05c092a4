// BeamSearch of com.microsoft: reads the options, asks a model for scores and keeps the best sequences.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/runtime/beam_model.h"

namespace tenon::runtime {
namespace {

enum ModelType : int64_t { kGpt, kT5 };

float half_to_float(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                  : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// The one element of input `i`, or `fallback`.
template <class T>
Result<T> read_one(const ControlFlow& flow, size_t i, std::string_view what, T fallback) {
  if (!flow.has_input(i)) return fallback;
  ASSIGN_OR_RETURN(const std::span<const T> list, read_list<T>(flow.input(i), what));
  if (list.size() != 1) return invalid_input(what, " has ", list.size(), " elements, not one");
  return list[0];
}

/// The scores of the last position, as log-probabilities in `out`, [rows, vocabulary]. Logits with a row per batch
/// entry are those of all its beams.
Status log_softmax_of_last(const tenon_tensor& logits, const BeamOptions& options, std::span<float> out) {
  const int64_t rows = options.batch * options.beams, vocabulary = options.vocabulary;
  const bool half = logits.dtype == TENON_FLOAT16;
  if (logits.kind != TENON_KIND_TENSOR || (!half && logits.dtype != TENON_FLOAT32) || logits.rank != 3 ||
      (logits.dims[0] != rows && logits.dims[0] != options.batch) || logits.dims[1] < 1 ||
      logits.dims[2] < vocabulary)
    return invalid_model("the logits are not float [", rows, ", length, ", vocabulary, "]");
  const int64_t per_row = rows / logits.dims[0];
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = ((r / per_row + 1) * logits.dims[1] - 1) * logits.dims[2];
    float* row = out.data() + r * vocabulary;
    for (int64_t i = 0; i < vocabulary; ++i)
      row[i] = half ? half_to_float(static_cast<const uint16_t*>(logits.data)[at + i])
                    : static_cast<const float*>(logits.data)[at + i];
    const float top = *std::max_element(row, row + vocabulary);
    float sum = 0;
    for (int64_t i = 0; i < vocabulary; ++i) sum += std::exp(row[i] - top);
    const float shift = std::log(sum);  // not with `top` in it, which may be large beside it
    for (int64_t i = 0; i < vocabulary; ++i) row[i] = row[i] - top - shift;
  }
  return ok_status();
}

class BeamSearch {
 public:
  explicit BeamSearch(ControlFlow& flow) : flow_(flow) {}

  Status run() {
    switch (flow_.node().int_or("model_type", kGpt)) {
      case kGpt:
        model_ = make_gpt_model(flow_);
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
      return unsupported(
          "logits_processor ", processor,
          " (rules for a model's time stamps) is not done here; give 0, or leave the input out");
    if (o.max_length <= prompts_.length)
      return invalid_input("max_length ", o.max_length, " leaves no room behind a prompt of ",
                           prompts_.length);
    if (o.beams < 1 || o.returned < 1 || o.returned > o.beams)
      return invalid_input("num_return_sequences ", o.returned, " of num_beams ", o.beams);
    if (!(o.repetition_penalty > 0)) return invalid_input("repetition_penalty must be above 0");
    return ok_status();
  }

  static constexpr double kSequenceBytes = 16;  // per token: two copies, one of the ended, one given out
  static constexpr double kScoreBytes = 24;     // per word: its score, and itself as a candidate

  Result<MemoryCharge> charge(double bytes_each, int64_t each) const {
    const double bytes = bytes_each * static_cast<double>(options_.batch) *
                         static_cast<double>(options_.beams) * static_cast<double>(each);
    return MemoryCharge::take(bytes < 9e18 ? static_cast<uint64_t>(bytes) : UINT64_MAX);
  }

  /// Makes the scorer at the first turn, when the size of the vocabulary shows.
  Status make_scorer(const tenon_tensor& logits) {
    BeamOptions& o = options_;
    if (logits.kind != TENON_KIND_TENSOR || logits.rank != 3)
      return invalid_model("the logits are of rank ", logits.rank, ", not 3");
    if (o.vocabulary <= 0) o.vocabulary = logits.dims[2];
    if (o.vocabulary < 1) return invalid_model("the logits have no words to choose from");
    if (flow_.has_input(kBeamAllowed)) {
      ASSIGN_OR_RETURN(o.allowed, read_list<int32_t>(flow_.input(kBeamAllowed), "vocab_mask"));
    }
    if (flow_.has_input(kBeamAllowedFirst)) {
      ASSIGN_OR_RETURN(o.allowed_first,
                       read_list<int32_t>(flow_.input(kBeamAllowedFirst), "prefix_vocab_mask"));
    }
    const auto width = static_cast<size_t>(o.vocabulary);
    if ((!o.allowed.empty() && o.allowed.size() != width) ||
        (!o.allowed_first.empty() && o.allowed_first.size() != width * static_cast<size_t>(o.batch)))
      return invalid_input("vocab_mask or prefix_vocab_mask does not fit a vocabulary of ", width);
    ASSIGN_OR_RETURN(score_charge_, charge(kScoreBytes, o.vocabulary));
    scorer_ = std::make_unique<BeamScorer>(o, prompts_.tokens);
    scores_.resize(static_cast<size_t>(rows()) * width);
    return make_history();
  }

  /// Output 2: what each step had to choose from; 0 for the steps that an early end leaves.
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
    RETURN_IF_ERROR(log_softmax_of_last(logits, options_, scores_));
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
