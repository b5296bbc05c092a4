// An encoder that runs once per batch entry, and a decoder that attends to the encoder's outputs. The encoder either
// includes the decoder's first step (then it returns scores, hidden states and both caches) or returns only the cache
// of the cross-attention. That cache is the same for all beams of an entry and never changes. The cache of the
// decoder's self-attention is reordered with the beams.
#include <algorithm>

#include "host/control_flow/beam_model.h"

namespace tenon::runtime {
namespace {

class EncoderModel final : public BeamModel {
 public:
  EncoderModel(ControlFlow& flow, bool whisper) : flow_(flow), whisper_(whisper) {}

  Result<BeamPrompts> prompts() override {
    if (!flow_.has_input(kBeamInputIds) || flow_.input(kBeamInputIds).rank != (whisper_ ? 3 : 2))
      return invalid_input("input_ids must be of rank ", whisper_ ? 3 : 2);
    const int64_t batch = flow_.input(kBeamInputIds).dims[0];
    if (flow_.has_input(kBeamDecoderIds)) {
      ASSIGN_OR_RETURN(BeamPrompts given, read_tokens(flow_, kBeamDecoderIds, "decoder_input_ids"));
      if (given.batch != batch)
        return invalid_input("decoder_input_ids has ", given.batch, " rows, input_ids has ", batch);
      start_.assign(given.tokens.begin(), given.tokens.end());
    } else {
      if (batch < 1) return invalid_input("input_ids has no rows: there is no prompt to continue");
      start_.assign(static_cast<size_t>(batch),
                    static_cast<int32_t>(flow_.node().int_or("decoder_start_token_id", -1)));
    }
    return BeamPrompts{start_, batch, static_cast<int64_t>(start_.size()) / batch};
  }

  Result<ValueRef> begin(const BeamOptions& options) override {
    RETURN_IF_ERROR(read_forms());
    beams_ = options.beams;
    rows_ = options.batch * options.beams;
    for (int64_t r = 0; r < rows_; ++r) entries_.push_back(static_cast<int32_t>(r / beams_));
    if (!whisper_) RETURN_IF_ERROR(fill_mask(options));
    RETURN_IF_ERROR(encode(options));
    if (first_step_inside_) return logits_;
    ASSIGN_OR_RETURN(const std::span<int32_t> tokens,
                     make_ints({rows_, static_cast<int64_t>(start_.size()) / options.batch}, &tokens_));
    const size_t width = start_.size() / static_cast<size_t>(options.batch);
    for (size_t r = 0; r < entries_.size(); ++r)
      std::copy_n(start_.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(entries_[r]) * width),
                  width, tokens.begin() + static_cast<std::ptrdiff_t>(r * width));
    return decode();
  }

  Result<ValueRef> go_on(const BeamScorer& scorer) override {
    const int64_t width = whole_sequence_ ? scorer.length() : 1;
    ASSIGN_OR_RETURN(const std::span<int32_t> tokens, make_ints({rows_, width}, &tokens_));
    if (whole_sequence_) {
      for (int64_t r = 0; r < rows_; ++r)
        std::copy_n(scorer.sequence(r).begin(), width, tokens.begin() + r * width);
    } else {
      std::copy(scorer.tokens().begin(), scorer.tokens().end(), tokens.begin());
    }
    // The encoder's caches have a row per batch entry; the decoder's have a row per beam.
    std::vector<int32_t> sources(scorer.sources().begin(), scorer.sources().end());
    int64_t count = rows_;
    if (per_entry_) {
      for (int32_t& source : sources) source /= static_cast<int32_t>(beams_);
      count = rows_ / beams_;
    }
    for (ValueRef& cache : own_) {
      ASSIGN_OR_RETURN(cache, gather_rows(cache->tensor, 0, count, sources));
    }
    per_entry_ = false;
    return decode();
  }

 private:
  /// Reads the form of the two graphs. core/ops has checked that they fit together.
  Status read_forms() {
    ASSIGN_OR_RETURN(encoder_, flow_.body("encoder"));
    ASSIGN_OR_RETURN(decoder_, flow_.body("decoder"));
    const ir::Graph &encoder = encoder_->executable->graph(), &decoder = decoder_->executable->graph();
    first_step_inside_ = whisper_ || encoder.inputs().size() == 3;
    const size_t layers = (decoder.outputs().size() - 1) / 2;
    first_past_ = decoder.inputs().size() - 4 * layers;
    takes_hidden_ = first_past_ == (whisper_ ? 2 : 3);
    const ir::Value& ids = decoder.value(decoder.inputs()[0]);
    const auto& dims = ids.type.shape.dims;
    whole_sequence_ = dims.size() != 2 || !dims[1].known() || dims[1].value != 1;
    return ok_status();
  }

  /// The node's mask, or else 0 for the pads at the start of a prompt. A later one may be the prompt's end.
  Status fill_mask(const BeamOptions& options) {
    ASSIGN_OR_RETURN(const std::span<const int32_t> ids,
                     read_list<int32_t>(flow_.input(kBeamInputIds), "input_ids"));
    if (flow_.has_input(kBeamMask)) {
      ASSIGN_OR_RETURN(const std::span<const int32_t> given,
                       read_list<int32_t>(flow_.input(kBeamMask), "attention_mask"));
      if (given.size() != ids.size()) return invalid_input("attention_mask and input_ids differ in size");
    }
    const int64_t length = flow_.input(kBeamInputIds).dims[1];
    ASSIGN_OR_RETURN(const std::span<int32_t> mask, make_ints({options.batch, length}, &mask_));
    if (flow_.has_input(kBeamMask)) {
      ASSIGN_OR_RETURN(const std::span<const int32_t> given,
                       read_list<int32_t>(flow_.input(kBeamMask), "attention_mask"));
      std::copy(given.begin(), given.end(), mask.begin());
      return ok_status();
    }
    for (int64_t b = 0; b < options.batch; ++b) {
      bool begun = false;
      for (int64_t i = b * length; i < (b + 1) * length; ++i) {
        begun = begun || ids[static_cast<size_t>(i)] != options.pad_token;
        mask[static_cast<size_t>(i)] = begun ? 1 : 0;
      }
    }
    return ok_status();
  }

  Status encode(const BeamOptions& options) {
    std::vector<Argument> arguments = {flow_.argument(kBeamInputIds)};
    if (!whisper_) arguments.emplace_back(mask_);
    ValueRef start;
    if (first_step_inside_) {
      const int64_t width = static_cast<int64_t>(start_.size()) / options.batch;
      ASSIGN_OR_RETURN(const std::span<int32_t> tokens, make_ints({options.batch, width}, &start));
      std::copy(start_.begin(), start_.end(), tokens.begin());
      arguments.emplace_back(start);
    }
    std::vector<ValueRef> outputs;
    RETURN_IF_ERROR(flow_.run(*encoder_, std::move(arguments), &outputs));
    const ir::Graph& decoder = decoder_->executable->graph();
    const size_t layers = (decoder.outputs().size() - 1) / 2;
    const auto per_beam = [&](const ValueRef& value) {
      return gather_rows(value->tensor, 0, options.batch, entries_);
    };
    size_t next = 0;
    if (first_step_inside_) {
      logits_ = std::move(outputs[0]);
      if (takes_hidden_) {
        ASSIGN_OR_RETURN(hidden_, per_beam(outputs[1]));
      }
      next = 2;
      for (size_t i = 0; i < 2 * layers; ++i) own_.push_back(std::move(outputs[next++]));
      per_entry_ = true;
    } else {
      for (size_t i = 0; i < 2 * layers; ++i) {
        const ir::Value& value = decoder.value(decoder.inputs()[first_past_ + i]);
        ASSIGN_OR_RETURN(ValueRef cache, empty_cache(value, 0, rows_));
        own_.push_back(std::move(cache));
      }
    }
    for (size_t i = 0; i < 2 * layers; ++i) {
      ASSIGN_OR_RETURN(ValueRef cache, per_beam(outputs[next++]));
      cross_.push_back(std::move(cache));
    }
    if (!whisper_) {
      ASSIGN_OR_RETURN(mask_, per_beam(mask_));
    }
    return ok_status();
  }

  Result<ValueRef> decode() {
    std::vector<Argument> arguments = {Argument(tokens_)};
    if (!whisper_) arguments.emplace_back(mask_);
    if (takes_hidden_) arguments.emplace_back(hidden_);
    for (ValueRef& cache : own_) arguments.emplace_back(std::move(cache));
    for (const ValueRef& cache : cross_) arguments.emplace_back(cache);
    std::vector<ValueRef> outputs;
    RETURN_IF_ERROR(flow_.run(*decoder_, std::move(arguments), &outputs));
    for (size_t i = 0; i < own_.size(); ++i) own_[i] = std::move(outputs[1 + i]);
    return std::move(outputs[0]);
  }

  ControlFlow& flow_;
  const bool whisper_;
  const Body *encoder_ = nullptr, *decoder_ = nullptr;
  bool first_step_inside_ = false;  // the encoder returns the scores after the start tokens
  bool takes_hidden_ = false;       // the decoder takes the encoder's hidden states
  bool whole_sequence_ = false;     // the decoder takes all tokens, not only the last
  bool per_entry_ = false;          // `own_` still has a row per batch entry
  size_t first_past_ = 0;
  int64_t beams_ = 1, rows_ = 0;
  std::vector<int32_t> start_, entries_;  // entries_: the batch entry of each row
  ValueRef tokens_, mask_, hidden_, logits_;
  std::vector<ValueRef> own_, cross_;
};

}  // namespace

std::unique_ptr<BeamModel> make_encoder_model(ControlFlow& flow, bool whisper) {
  return std::make_unique<EncoderModel>(flow, whisper);
}

}  // namespace tenon::runtime
