#include "host/control_flow/beam_scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::runtime {
namespace {

constexpr float kNever = std::numeric_limits<float>::lowest();
/// At first all beams of an entry are equal: only the first may be continued.
constexpr float kUnused = -1e9f;

/// Forbids the tokens that would repeat a run of n tokens of `sequence`.
void forbid_repeats(std::span<const int32_t> sequence, size_t n, std::span<float> scores) {
  if (sequence.size() + 1 < n) return;
  const auto last = sequence.end() - static_cast<std::ptrdiff_t>(n - 1);
  for (size_t at = 0; at + n <= sequence.size(); ++at) {
    const auto first = sequence.begin() + static_cast<std::ptrdiff_t>(at);
    const int32_t next = sequence[at + n - 1];
    if (std::equal(last, sequence.end(), first) && next >= 0 && static_cast<size_t>(next) < scores.size())
      scores[static_cast<size_t>(next)] = kNever;
  }
}

void penalise_repeats(std::span<const int32_t> sequence, float penalty, std::span<float> scores) {
  std::vector<int32_t> seen(sequence.begin(), sequence.end());
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const int32_t token : seen) {
    if (token < 0 || static_cast<size_t>(token) >= scores.size()) continue;
    float& score = scores[static_cast<size_t>(token)];
    score = score < 0 ? score * penalty : score / penalty;
  }
}

void forbid(std::span<const int32_t> allowed, std::span<float> scores) {
  for (size_t i = 0; i < scores.size(); ++i) {
    if (allowed[i] == 0) scores[i] = kNever;
  }
}

}  // namespace

BeamScorer::BeamScorer(const BeamOptions& options, std::span<const int32_t> prompts)
    : options_(options),
      length_(static_cast<int64_t>(prompts.size()) / options.batch),
      prompt_length_(length_),
      sequences_(static_cast<size_t>(options.batch * options.beams * options.max_length)),
      beam_scores_(static_cast<size_t>(options.batch * options.beams), kUnused),
      tokens_(beam_scores_.size()),
      sources_(beam_scores_.size()),
      entries_(static_cast<size_t>(options.batch)) {
  for (int64_t b = 0; b < options_.batch; ++b) {
    beam_scores_[static_cast<size_t>(b * options_.beams)] = 0;
    for (int64_t k = 0; k < options_.beams; ++k)
      std::copy_n(prompts.data() + b * length_, length_,
                  sequences_.data() + (b * options_.beams + k) * options_.max_length);
  }
}

void BeamScorer::restrict(std::span<float> scores) const {
  const auto width = static_cast<size_t>(options_.vocabulary);
  for (size_t beam = 0; beam < beam_scores_.size(); ++beam) {
    const std::span<float> row = scores.subspan(beam * width, width);
    const std::span<const int32_t> so_far = sequence(static_cast<int64_t>(beam));
    if (options_.repetition_penalty != 1) penalise_repeats(so_far, options_.repetition_penalty, row);
    if (options_.repeat_ngram > 0) forbid_repeats(so_far, static_cast<size_t>(options_.repeat_ngram), row);
    if (!options_.allowed.empty()) forbid(options_.allowed, row);
    if (!options_.allowed_first.empty() && length_ == prompt_length_) {
      const size_t entry = beam / static_cast<size_t>(options_.beams);
      forbid(options_.allowed_first.subspan(entry * width, width), row);
    }
    const bool can_end = options_.end_token >= 0 && options_.end_token < options_.vocabulary;
    if (length_ < options_.min_length && can_end) row[static_cast<size_t>(options_.end_token)] = kNever;
  }
}

void BeamScorer::advance(std::span<const float> scores) {
  for (int64_t b = 0; b < options_.batch; ++b) advance_entry(b, best_candidates(scores, b));
  append();
}

void BeamScorer::advance_greedily(std::span<const float> scores) {
  const auto width = static_cast<size_t>(options_.vocabulary);
  for (size_t b = 0; b < entries_.size(); ++b) {
    const std::span<const float> row = scores.subspan(b * width, width);
    const auto best = static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
    entries_[b].done = entries_[b].done || best == options_.end_token;
    tokens_[b] = entries_[b].done ? options_.pad_token : best;
    sources_[b] = static_cast<int32_t>(b);
  }
  append();
}

/// Twice as many as there are beams, because each beam has at most one candidate that ends its sequence.
std::vector<BeamScorer::Candidate> BeamScorer::best_candidates(std::span<const float> scores,
                                                               int64_t entry) const {
  std::vector<Candidate> all;
  const int64_t width = options_.vocabulary;
  all.reserve(static_cast<size_t>(options_.beams * width));
  for (int64_t k = 0; k < options_.beams; ++k) {
    const int64_t beam = entry * options_.beams + k;
    for (int64_t token = 0; token < width; ++token)
      all.push_back(
          {scores[static_cast<size_t>(beam * width + token)] + beam_scores_[static_cast<size_t>(beam)],
           k * width + token});
  }
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.place < b.place;
  };
  const auto count = std::min<std::ptrdiff_t>(2 * options_.beams, static_cast<std::ptrdiff_t>(all.size()));
  std::partial_sort(all.begin(), all.begin() + count, all.end(), better);
  all.resize(static_cast<size_t>(count));
  return all;
}

void BeamScorer::advance_entry(int64_t at, const std::vector<Candidate>& candidates) {
  Entry& entry = entries_[static_cast<size_t>(at)];
  const auto first = static_cast<size_t>(at * options_.beams), beams = static_cast<size_t>(options_.beams);
  if (entry.done) {
    for (size_t k = first; k < first + beams; ++k)
      tokens_[k] = options_.pad_token, sources_[k] = static_cast<int32_t>(first), beam_scores_[k] = 0;
    return;
  }
  size_t kept = 0;
  std::vector<float> next(beams, kNever);
  for (size_t j = 0; j < candidates.size() && kept < beams; ++j) {
    const auto token = static_cast<int32_t>(candidates[j].place % options_.vocabulary);
    const auto source = static_cast<int64_t>(first) + candidates[j].place / options_.vocabulary;
    if (token == options_.end_token) {
      if (j < beams) keep(entry, sequence(source), candidates[j].score);
      continue;
    }
    tokens_[first + kept] = token;
    sources_[first + kept] = static_cast<int32_t>(source);
    next[kept++] = candidates[j].score;
  }
  for (; kept < beams; ++kept)  // the vocabulary is too small for all beams
    tokens_[first + kept] = options_.pad_token, sources_[first + kept] = static_cast<int32_t>(first);
  std::copy(next.begin(), next.end(), beam_scores_.begin() + static_cast<std::ptrdiff_t>(first));
  if (entry.ended.size() < beams) return;
  const float reachable = worth_of(candidates[0].score, static_cast<size_t>(length_));
  entry.done = options_.early_stopping || entry.ended.back().worth >= reachable;
}

void BeamScorer::append() {
  std::vector<int32_t> from = sequences_;
  for (size_t k = 0; k < tokens_.size(); ++k) {
    int32_t* to = sequences_.data() + static_cast<int64_t>(k) * options_.max_length;
    std::copy_n(from.data() + sources_[k] * options_.max_length, length_, to);
    to[length_] = tokens_[k];
  }
  ++length_;
}

bool BeamScorer::done() const {
  return length_ >= options_.max_length ||
         std::all_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.done; });
}

float BeamScorer::worth_of(float score, size_t length) const {
  return score / std::pow(static_cast<float>(length), options_.length_penalty);
}

void BeamScorer::keep(Entry& entry, std::span<const int32_t> tokens, float score) const {
  const float worth = worth_of(score, tokens.size());
  const auto at = std::upper_bound(entry.ended.begin(), entry.ended.end(), worth,
                                   [](float w, const Hypothesis& h) { return w > h.worth; });
  entry.ended.insert(at, {{tokens.begin(), tokens.end()}, worth});
  if (entry.ended.size() > static_cast<size_t>(options_.beams)) entry.ended.pop_back();
}

void BeamScorer::finish_greedily(std::span<int32_t> sequences) const {
  std::fill(sequences.begin(), sequences.end(), options_.pad_token);
  for (int64_t b = 0; b < options_.batch; ++b)
    std::copy_n(sequence(b).begin(), length_, sequences.begin() + b * options_.max_length);
}

void BeamScorer::finish(std::span<int32_t> sequences, std::span<float> worths) {
  std::fill(sequences.begin(), sequences.end(), options_.pad_token);
  std::fill(worths.begin(), worths.end(), kNever);
  for (int64_t b = 0; b < options_.batch; ++b) {
    Entry& entry = entries_[static_cast<size_t>(b)];
    for (int64_t k = b * options_.beams; k < (b + 1) * options_.beams && !entry.done; ++k)
      keep(entry, sequence(k), beam_scores_[static_cast<size_t>(k)]);
    for (int64_t r = 0; r < options_.returned && static_cast<size_t>(r) < entry.ended.size(); ++r) {
      const Hypothesis& best = entry.ended[static_cast<size_t>(r)];
      const int64_t row = b * options_.returned + r;
      std::copy(best.tokens.begin(), best.tokens.end(), sequences.data() + row * options_.max_length);
      worths[static_cast<size_t>(row)] = best.worth;
    }
  }
}

}  // namespace tenon::runtime
