// A decoder of the GPT-2 form: a graph that takes tokens, positions, a mask and a cache of keys and values. It returns
// scores of the next token, and the cache extended by the new tokens.
#include <algorithm>

#include "host/control_flow/beam_model.h"

namespace tenon::runtime {
namespace {

constexpr size_t kFixedInputs = 3;  // tokens, positions, mask; then the caches

class GptModel final : public BeamModel {
 public:
  GptModel(ControlFlow& flow, size_t mask) : flow_(flow), mask_input_(mask) {}

  Result<BeamPrompts> prompts() override {
    ASSIGN_OR_RETURN(prompts_, read_tokens(flow_, kBeamInputIds, "input_ids"));
    return prompts_;
  }

  Result<ValueRef> begin(const BeamOptions& options) override {
    RETURN_IF_ERROR(fill_first(options));
    // The node may have a separate graph for the prompts.
    const bool own = flow_.node().find("init_decoder") != nullptr;
    ASSIGN_OR_RETURN(const Body* first, flow_.body(own ? "init_decoder" : "decoder"));
    ASSIGN_OR_RETURN(decoder_, flow_.body("decoder"));
    const ir::Graph& graph = first->executable->graph();
    for (size_t i = kFixedInputs; i < graph.inputs().size(); ++i) {
      ASSIGN_OR_RETURN(ValueRef cache, empty_cache(graph.value(graph.inputs()[i]), 1, rows_));
      caches_.push_back(std::move(cache));
    }
    return step(*first);
  }

  /// Runs the decoder with one token per beam, a mask that is longer by one, and the caches of the chosen beams.
  Result<ValueRef> go_on(const BeamScorer& scorer) override {
    ASSIGN_OR_RETURN(const std::span<int32_t> tokens, make_ints({rows_, 1}, &tokens_));
    ASSIGN_OR_RETURN(const std::span<int32_t> positions, make_ints({rows_, 1}, &positions_));
    std::copy(scorer.tokens().begin(), scorer.tokens().end(), tokens.begin());
    for (size_t r = 0; r < positions.size(); ++r) positions[r] = next_positions_[r]++;
    const ValueRef old = mask_;
    const auto* from = static_cast<const int32_t*>(old->tensor.data);
    const int64_t length = old->tensor.dims[1];
    ASSIGN_OR_RETURN(const std::span<int32_t> mask, make_ints({rows_, length + 1}, &mask_));
    for (int64_t r = 0; r < rows_; ++r) {
      std::copy_n(from + r * length, length, mask.data() + r * (length + 1));
      mask[static_cast<size_t>((r + 1) * (length + 1) - 1)] = 1;
    }
    for (size_t i = 0; i < caches_.size(); ++i) {
      ASSIGN_OR_RETURN(caches_[i], gather_rows(outputs_[1 + i]->tensor, 1, rows_, scorer.sources()));
      outputs_[1 + i].reset();
    }
    return step(*decoder_);
  }

 private:
  /// Fills in tokens, positions and mask: each prompt once per beam.
  Status fill_first(const BeamOptions& o) {
    rows_ = o.batch * o.beams;
    const int64_t length = prompts_.length;
    ASSIGN_OR_RETURN(const std::span<int32_t> tokens, make_ints({rows_, length}, &tokens_));
    ASSIGN_OR_RETURN(const std::span<int32_t> positions, make_ints({rows_, length}, &positions_));
    ASSIGN_OR_RETURN(const std::span<int32_t> mask, make_ints({rows_, length}, &mask_));
    std::span<const int32_t> given;
    if (flow_.has_input(mask_input_)) {
      ASSIGN_OR_RETURN(given, read_list<int32_t>(flow_.input(mask_input_), "attention_mask"));
      if (given.size() != prompts_.tokens.size())
        return invalid_input("attention_mask and input_ids differ in size");
    }
    next_positions_.resize(static_cast<size_t>(rows_));
    for (int64_t r = 0; r < rows_; ++r) {
      int32_t position = 0;
      for (int64_t i = 0; i < length; ++i) {
        const auto from = static_cast<size_t>(r / o.beams * length + i);
        const auto to = static_cast<size_t>(r * length + i);
        const bool is_pad = prompts_.tokens[from] == o.pad_token;
        tokens[to] = prompts_.tokens[from];
        mask[to] = given.empty() ? (is_pad ? 0 : 1) : given[from];
        positions[to] = is_pad ? 0 : position++;
      }
      next_positions_[static_cast<size_t>(r)] = position;
    }
    return ok_status();
  }

  Result<ValueRef> step(const Body& body) {
    std::vector<Argument> arguments = {Argument(tokens_), Argument(positions_), Argument(mask_)};
    for (ValueRef& cache : caches_) arguments.emplace_back(std::move(cache));
    RETURN_IF_ERROR(flow_.run(body, std::move(arguments), &outputs_));
    return outputs_[0];
  }

  ControlFlow& flow_;
  const size_t mask_input_;
  const Body* decoder_ = nullptr;
  BeamPrompts prompts_;
  int64_t rows_ = 0;
  ValueRef tokens_, positions_, mask_;
  std::vector<int32_t> next_positions_;
  std::vector<ValueRef> caches_, outputs_;
};

}  // namespace

std::unique_ptr<BeamModel> make_gpt_model(ControlFlow& flow, size_t mask) {
  return std::make_unique<GptModel>(flow, mask);
}

}  // namespace tenon::runtime
