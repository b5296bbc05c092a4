// BeamSearch of com.microsoft over a decoder of the GPT-2 form: a graph that takes tokens, positions, a mask and a
// cache of keys and values, and gives scores of the next token and the cache that is longer by as much.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/runtime/beam_scorer.h"
#include "host/runtime/control_flow.h"

namespace tenon::runtime {
namespace {

// Inputs of the node.
enum : size_t {
  kPrompts,
  kMaxLength,
  kMinLength,
  kBeams,
  kReturned,
  kLengthPenalty,
  kRepetitionPenalty,
  kAllowed,
  kAllowedFirst,
  kMask
};
constexpr size_t kFixedInputs = 3;  // of the decoder: tokens, positions, mask; then the caches

float half_to_float(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                  : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <class T>
constexpr uint32_t dtype_of() {
  return std::is_same_v<T, float> ? TENON_FLOAT32 : TENON_INT32;
}

template <class T>
Result<std::span<const T>> read_list(const tenon_tensor& tensor, std::string_view what) {
  if (tensor.kind != TENON_KIND_TENSOR || tensor.dtype != dtype_of<T>())
    return invalid_input(what, " must be a tensor of ", std::is_same_v<T, float> ? "float32" : "int32");
  return std::span<const T>(static_cast<const T*>(tensor.data), tensor.byte_size / sizeof(T));
}

/// The one element of input `i`, or `fallback`.
template <class T>
Result<T> read_one(const ControlFlow& flow, size_t i, std::string_view what, T fallback) {
  if (!flow.has_input(i)) return fallback;
  ASSIGN_OR_RETURN(const std::span<const T> list, read_list<T>(flow.input(i), what));
  if (list.size() != 1) return invalid_input(what, " has ", list.size(), " elements, not one");
  return list[0];
}

Result<std::span<int32_t>> make_ints(std::initializer_list<int64_t> dims, ValueRef* out) {
  ASSIGN_OR_RETURN(*out, make_tensor(TENON_INT32, std::span<const int64_t>(dims.begin(), dims.size())));
  return std::span<int32_t>(static_cast<int32_t*>((*out)->tensor.data),
                            (*out)->tensor.byte_size / sizeof(int32_t));
}

/// Rows of a cache, [2, rows, heads, n, size], in another order.
Result<ValueRef> gather_rows(const ValueRef& cache, std::span<const int32_t> rows) {
  const tenon_tensor& t = cache->tensor;
  if (t.kind != TENON_KIND_TENSOR || t.rank != 5 || t.dims[0] != 2 ||
      t.dims[1] != static_cast<int64_t>(rows.size()))
    return invalid_model("the decoder gives a cache that is not [2, ", rows.size(), ", heads, length, size]");
  ASSIGN_OR_RETURN(ValueRef out, make_tensor(t.dtype, std::span<const int64_t>(t.dims, t.rank)));
  const size_t row = t.byte_size / (2 * rows.size());
  for (size_t i = 0; i < 2 * rows.size(); ++i) {
    const size_t from = i / rows.size() * rows.size() + static_cast<size_t>(rows[i % rows.size()]);
    if (row != 0)
      std::memcpy(static_cast<std::byte*>(out->tensor.data) + i * row,
                  static_cast<const std::byte*>(t.data) + from * row, row);
  }
  return out;
}

/// The scores of the last position, as log-probabilities in `out`, [rows, vocabulary].
Status log_softmax_of_last(const tenon_tensor& logits, int64_t rows, int64_t vocabulary,
                           std::span<float> out) {
  const bool half = logits.dtype == TENON_FLOAT16;
  if (logits.kind != TENON_KIND_TENSOR || (!half && logits.dtype != TENON_FLOAT32) || logits.rank != 3 ||
      logits.dims[0] != rows || logits.dims[1] < 1 || logits.dims[2] < vocabulary)
    return invalid_model("the decoder's logits are not float [", rows, ", length, ", vocabulary, "]");
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = ((r + 1) * logits.dims[1] - 1) * logits.dims[2];
    float* row = out.data() + r * vocabulary;
    for (int64_t i = 0; i < vocabulary; ++i)
      row[i] = half ? half_to_float(static_cast<const uint16_t*>(logits.data)[at + i])
                    : static_cast<const float*>(logits.data)[at + i];
    const float top = *std::max_element(row, row + vocabulary);
    float sum = 0;
    for (int64_t i = 0; i < vocabulary; ++i) sum += std::exp(row[i] - top);
    const float shift = top + std::log(sum);
    for (int64_t i = 0; i < vocabulary; ++i) row[i] -= shift;
  }
  return ok_status();
}

class BeamSearch {
 public:
  BeamSearch(ControlFlow& flow, const Body& decoder)
      : flow_(flow), decoder_(decoder), graph_(decoder.executable->graph()) {}

  Status run() {
    RETURN_IF_ERROR(read_options());
    RETURN_IF_ERROR(check_decoder());
    RETURN_IF_ERROR(start());
    std::vector<ValueRef> outputs;
    while (scorer_ == nullptr || !scorer_->done()) {
      RETURN_IF_ERROR(flow_.check());
      std::vector<Argument> arguments = {Argument(tokens_), Argument(positions_), Argument(mask_)};
      for (ValueRef& cache : caches_) arguments.emplace_back(std::move(cache));
      RETURN_IF_ERROR(flow_.run(decoder_, std::move(arguments), &outputs));
      RETURN_IF_ERROR(choose(outputs[0]->tensor));
      if (!scorer_->done()) RETURN_IF_ERROR(next(&outputs));
    }
    return finish();
  }

 private:
  int64_t rows() const { return options_.batch * options_.beams; }

  Status read_options() {
    const ir::Node& node = flow_.node();
    BeamOptions& o = options_;
    if (!flow_.has_input(kPrompts) || flow_.input(kPrompts).rank != 2)
      return invalid_input("input_ids must be of rank 2");
    ASSIGN_OR_RETURN(prompts_, read_list<int32_t>(flow_.input(kPrompts), "input_ids"));
    o.batch = flow_.input(kPrompts).dims[0];
    prompt_length_ = flow_.input(kPrompts).dims[1];
    ASSIGN_OR_RETURN(o.max_length, read_one<int32_t>(flow_, kMaxLength, "max_length", 0));
    ASSIGN_OR_RETURN(o.min_length, read_one<int32_t>(flow_, kMinLength, "min_length", 0));
    ASSIGN_OR_RETURN(o.beams, read_one<int32_t>(flow_, kBeams, "num_beams", 1));
    ASSIGN_OR_RETURN(o.returned, read_one<int32_t>(flow_, kReturned, "num_return_sequences", 1));
    ASSIGN_OR_RETURN(o.length_penalty, read_one(flow_, kLengthPenalty, "length_penalty", 1.0f));
    ASSIGN_OR_RETURN(o.repetition_penalty, read_one(flow_, kRepetitionPenalty, "repetition_penalty", 1.0f));
    o.end_token = static_cast<int32_t>(node.int_or("eos_token_id", -1));
    o.pad_token = static_cast<int32_t>(node.int_or("pad_token_id", 0));
    o.repeat_ngram = node.int_or("no_repeat_ngram_size", 0);
    o.early_stopping = node.int_or("early_stopping", 0) != 0;
    o.vocabulary = node.int_or("vocab_size", -1);
    if (o.batch < 1 || prompt_length_ < 1)
      return invalid_input("input_ids is [", o.batch, ", ", prompt_length_,
                           "]: there is nothing to go on from");
    if (o.max_length <= prompt_length_)
      return invalid_input("max_length ", o.max_length, " leaves no room behind a prompt of ",
                           prompt_length_);
    if (o.beams < 1 || o.returned < 1 || o.returned > o.beams)
      return invalid_input("num_return_sequences ", o.returned, " of num_beams ", o.beams);
    if (!(o.repetition_penalty > 0)) return invalid_input("repetition_penalty must be above 0");
    if (flow_.wants_output(2)) return unsupported("output 'scores' of BeamSearch is not given here");
    return ok_status();
  }

  /// Tokens, positions, mask, then caches; logits, then as many caches.
  Status check_decoder() {
    const size_t inputs = graph_.inputs().size(), outputs = graph_.outputs().size();
    if (inputs <= kFixedInputs || inputs - kFixedInputs != outputs - 1) {
      return unsupported(
          "a decoder with ", inputs, " inputs and ", outputs,
          " outputs is not of the GPT-2 form: input_ids, position_ids, attention_mask, past_..., "
          "and logits, present_...");
    }
    return ok_status();
  }

  static constexpr double kSequenceBytes = 16;  // per token: two copies, one of the ended, one given out
  static constexpr double kScoreBytes = 24;     // per word: its score, and itself as a candidate

  Result<MemoryCharge> charge(double bytes_each, int64_t each) const {
    const double bytes = bytes_each * static_cast<double>(options_.batch) *
                         static_cast<double>(options_.beams) * static_cast<double>(each);
    return MemoryCharge::take(bytes < 9e18 ? static_cast<uint64_t>(bytes) : UINT64_MAX);
  }

  /// What the first step takes: the prompts, each once per beam, and empty caches.
  Status start() {
    const BeamOptions& o = options_;
    ASSIGN_OR_RETURN(sequence_charge_, charge(kSequenceBytes, o.max_length));
    ASSIGN_OR_RETURN(const std::span<int32_t> tokens, make_ints({rows(), prompt_length_}, &tokens_));
    ASSIGN_OR_RETURN(const std::span<int32_t> positions, make_ints({rows(), prompt_length_}, &positions_));
    ASSIGN_OR_RETURN(const std::span<int32_t> mask, make_ints({rows(), prompt_length_}, &mask_));
    std::span<const int32_t> given;
    if (flow_.has_input(kMask)) {
      ASSIGN_OR_RETURN(given, read_list<int32_t>(flow_.input(kMask), "attention_mask"));
      if (given.size() != prompts_.size())
        return invalid_input("attention_mask and input_ids differ in size");
    }
    next_positions_.resize(static_cast<size_t>(rows()));
    for (int64_t r = 0; r < rows(); ++r) {
      int32_t position = 0;
      for (int64_t i = 0; i < prompt_length_; ++i) {
        const auto from = static_cast<size_t>(r / o.beams * prompt_length_ + i);
        const auto to = static_cast<size_t>(r * prompt_length_ + i);
        const bool is_pad = prompts_[from] == o.pad_token;
        tokens[to] = prompts_[from];
        mask[to] = given.empty() ? (is_pad ? 0 : 1) : given[from];
        positions[to] = is_pad ? 0 : position++;
      }
      next_positions_[static_cast<size_t>(r)] = position;
    }
    for (size_t i = kFixedInputs; i < graph_.inputs().size(); ++i) {
      const ir::Value& value = graph_.value(graph_.inputs()[i]);
      const auto& dims = value.type.shape.dims;
      if (!value.type.is_tensor() || dims.size() != 5 || !dims[2].known() || !dims[4].known())
        return unsupported("the heads and sizes of '", value.name, "' are not known");
      const int64_t empty[] = {2, rows(), dims[2].value, 0, dims[4].value};
      ASSIGN_OR_RETURN(ValueRef cache, make_tensor(static_cast<uint32_t>(value.type.element), empty));
      caches_.push_back(std::move(cache));
    }
    return ok_status();
  }

  /// Makes the scorer at the first turn, when the size of the vocabulary shows.
  Status make_scorer(const tenon_tensor& logits) {
    BeamOptions& o = options_;
    if (logits.rank != 3) return invalid_model("the decoder's logits are of rank ", logits.rank, ", not 3");
    if (o.vocabulary <= 0) o.vocabulary = logits.dims[2];
    if (flow_.has_input(kAllowed)) {
      ASSIGN_OR_RETURN(o.allowed, read_list<int32_t>(flow_.input(kAllowed), "vocab_mask"));
    }
    if (flow_.has_input(kAllowedFirst)) {
      ASSIGN_OR_RETURN(o.allowed_first, read_list<int32_t>(flow_.input(kAllowedFirst), "prefix_vocab_mask"));
    }
    const auto width = static_cast<size_t>(o.vocabulary);
    if ((!o.allowed.empty() && o.allowed.size() != width) ||
        (!o.allowed_first.empty() && o.allowed_first.size() != width * static_cast<size_t>(o.batch)))
      return invalid_input("vocab_mask or prefix_vocab_mask does not fit a vocabulary of ", width);
    ASSIGN_OR_RETURN(score_charge_, charge(kScoreBytes, o.vocabulary));
    scorer_ = std::make_unique<BeamScorer>(o, prompts_);
    scores_.resize(static_cast<size_t>(rows()) * width);
    return ok_status();
  }

  Status choose(const tenon_tensor& logits) {
    if (scorer_ == nullptr) RETURN_IF_ERROR(make_scorer(logits));
    RETURN_IF_ERROR(log_softmax_of_last(logits, rows(), options_.vocabulary, scores_));
    scorer_->restrict(scores_);
    scorer_->advance(scores_);
    return ok_status();
  }

  /// What the next step takes: one token per beam, a mask that is longer by one, the caches of the chosen beams.
  Status next(std::vector<ValueRef>* outputs) {
    ASSIGN_OR_RETURN(const std::span<int32_t> tokens, make_ints({rows(), 1}, &tokens_));
    ASSIGN_OR_RETURN(const std::span<int32_t> positions, make_ints({rows(), 1}, &positions_));
    std::copy(scorer_->tokens().begin(), scorer_->tokens().end(), tokens.begin());
    for (size_t r = 0; r < positions.size(); ++r) positions[r] = next_positions_[r]++;
    const ValueRef old = mask_;
    const auto* from = static_cast<const int32_t*>(old->tensor.data);
    const int64_t length = old->tensor.dims[1];
    ASSIGN_OR_RETURN(const std::span<int32_t> mask, make_ints({rows(), length + 1}, &mask_));
    for (int64_t r = 0; r < rows(); ++r) {
      std::copy_n(from + r * length, length, mask.data() + r * (length + 1));
      mask[static_cast<size_t>((r + 1) * (length + 1) - 1)] = 1;
    }
    for (size_t i = 0; i < caches_.size(); ++i) {
      ASSIGN_OR_RETURN(caches_[i], gather_rows((*outputs)[1 + i], scorer_->sources()));
      (*outputs)[1 + i].reset();
    }
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
    return ok_status();
  }

  ControlFlow& flow_;
  const Body& decoder_;
  const ir::Graph& graph_;
  BeamOptions options_;
  std::span<const int32_t> prompts_;
  int64_t prompt_length_ = 0;
  ValueRef tokens_, positions_, mask_;
  std::vector<int32_t> next_positions_;
  std::vector<ValueRef> caches_;
  MemoryCharge sequence_charge_, score_charge_;
  std::unique_ptr<BeamScorer> scorer_;
  std::vector<float> scores_;
};

}  // namespace

Status run_beam_search(ControlFlow& flow) {
  ASSIGN_OR_RETURN(const Body* decoder, flow.body("decoder"));
  return BeamSearch(flow, *decoder).run();
}

}  // namespace tenon::runtime
