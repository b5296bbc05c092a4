// The bookkeeping of a beam search over token sequences. It runs no model: scores of tokens come in, tokens go out.
//
// A sequence of n tokens is worth the sum of its log-probabilities divided by n ^ length_penalty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::runtime {

struct BeamOptions {
  int64_t batch = 1, beams = 1, returned = 1;  // returned <= beams
  int64_t vocabulary = 0;
  int64_t min_length = 0, max_length = 0;  // prompt included
  float length_penalty = 1, repetition_penalty = 1;
  int64_t repeat_ngram = 0;  // no run of this many tokens may occur twice; 0: no such rule
  int32_t end_token = 0, pad_token = 0;
  bool early_stopping = false;       // a batch entry is done when `beams` of its sequences have ended
  std::span<const int32_t> allowed;  // [vocabulary], 0: forbidden; empty: all are allowed
  std::span<const int32_t>
      allowed_first;  // [batch, vocabulary], for the first new token; empty: all are allowed
};

class BeamScorer {
 public:
  /// `prompts`: [batch, n]; copied. The spans in `options` are borrowed.
  BeamScorer(const BeamOptions& options, std::span<const int32_t> prompts);

  /// Applies the repetition penalty to `scores`, [batch * beams, vocabulary], and sets forbidden tokens to the lowest.
  void restrict(std::span<float> scores) const;
  /// Makes the beams the best continuations, by one token. `scores`: log-probabilities.
  void advance(std::span<const float> scores);
  /// For one beam per entry: appends the token with the highest score, or a pad once the sequence has ended.
  void advance_greedily(std::span<const float> scores);

  bool done() const;
  int64_t length() const { return length_; }
  /// Per beam, after advance(): its last token, and the beam (numbered over the whole batch) that it continues.
  std::span<const int32_t> tokens() const { return tokens_; }
  std::span<const int32_t> sources() const { return sources_; }
  /// Per beam, the sum of the log-probabilities of its tokens.
  std::span<const float> beam_scores() const { return beam_scores_; }
  /// The tokens of a beam.
  std::span<const int32_t> sequence(int64_t beam) const {
    return {sequences_.data() + beam * options_.max_length, static_cast<size_t>(length_)};
  }

  /// Writes the best sequences, [batch, returned, max_length], padded, and their worth, [batch, returned].
  void finish(std::span<int32_t> sequences, std::span<float> worths);
  /// For one beam per entry: writes the sequences, [batch, max_length], padded.
  void finish_greedily(std::span<int32_t> sequences) const;

 private:
  struct Hypothesis {
    std::vector<int32_t> tokens;
    float worth;
  };
  struct Entry {                    // of the batch
    std::vector<Hypothesis> ended;  // best first, at most `beams`
    bool done = false;
  };
  struct Candidate {
    float score;
    int64_t place;  // beam * vocabulary + token
  };

  float worth_of(float score, size_t length) const;
  void keep(Entry& entry, std::span<const int32_t> tokens, float score) const;
  std::vector<Candidate> best_candidates(std::span<const float> scores, int64_t entry) const;
  void advance_entry(int64_t entry, const std::vector<Candidate>& candidates);
  void append();

  BeamOptions options_;
  int64_t length_, prompt_length_;
  std::vector<int32_t> sequences_;  // [batch * beams, max_length]
  std::vector<float> beam_scores_;
  std::vector<int32_t> tokens_, sources_;
  std::vector<Entry> entries_;
};

}  // namespace tenon::runtime
