// The graphs that give a beam search the scores of the next token, and their shared helpers. Internal to control flow.
#pragma once

#include <memory>

#include "host/control_flow/beam_scorer.h"
#include "host/control_flow/control_flow.h"

namespace tenon::runtime {

/// Inputs of BeamSearch, by position.
enum BeamInput : size_t {
  kBeamInputIds,
  kBeamMaxLength,
  kBeamMinLength,
  kBeamBeams,
  kBeamReturned,
  kBeamLengthPenalty,
  kBeamRepetitionPenalty,
  kBeamAllowed,
  kBeamAllowedFirst,
  kBeamMask,
  kBeamDecoderIds,
  kBeamLogitsProcessor
};

/// The first tokens of every sequence, [batch, length]; borrowed.
struct BeamPrompts {
  std::span<const int32_t> tokens;
  int64_t batch = 0, length = 0;
};

class BeamModel {
 public:
  virtual ~BeamModel() = default;
  /// The tokens live as long as the BeamModel.
  virtual Result<BeamPrompts> prompts() = 0;
  /// Scores for the token after the prompts, [rows, length, vocabulary]; a row per batch entry or per beam.
  virtual Result<ValueRef> begin(const BeamOptions& options) = 0;
  /// Scores for the token after those that the scorer chose last; a row per beam.
  virtual Result<ValueRef> go_on(const BeamScorer& scorer) = 0;
};

/// One decoder of the GPT-2 form. `mask`: position of the node input that holds the mask of the prompts.
std::unique_ptr<BeamModel> make_gpt_model(ControlFlow& flow, size_t mask);
/// An encoder and a decoder, of the form of T5 or (`whisper`) Whisper.
std::unique_ptr<BeamModel> make_encoder_model(ControlFlow& flow, bool whisper);

template <class T>
constexpr uint32_t beam_dtype() {
  return std::is_same_v<T, float> ? TENON_FLOAT32 : TENON_INT32;
}

template <class T>
Result<std::span<const T>> read_list(const tenon_tensor& tensor, std::string_view what) {
  if (tensor.kind != TENON_KIND_TENSOR || tensor.dtype != beam_dtype<T>())
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

/// Sets the size of the vocabulary, where the node does not give it, and the allowed words in `options`.
Status read_vocabulary(const ControlFlow& flow, const tenon_tensor& logits, size_t allowed,
                       size_t allowed_first, BeamOptions* options);
/// Writes the scores of the last position to `out`, [rows, vocabulary]. A row per batch entry serves all its beams.
Status read_last_scores(const tenon_tensor& logits, const BeamOptions& options, std::span<float> out);
/// Reads an int32 input of rank 2. `what` names it in errors.
Result<BeamPrompts> read_tokens(const ControlFlow& flow, size_t input, std::string_view what);
/// Makes an int32 tensor and returns its uninitialised elements.
Result<std::span<int32_t>> make_ints(std::initializer_list<int64_t> dims, ValueRef* out);
/// Copies the given rows along `axis`, where the tensor must have `count`. Rows may repeat.
Result<ValueRef> gather_rows(const tenon_tensor& tensor, size_t axis, int64_t count,
                             std::span<const int32_t> rows);
/// An empty cache as `value` declares it, with `rows` rows at `row_axis`. UNSUPPORTED without declared heads and size.
Result<ValueRef> empty_cache(const ir::Value& value, size_t row_axis, int64_t rows);

}  // namespace tenon::runtime
