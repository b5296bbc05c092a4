#include "host/control_flow/beam_scorer.h"

#include <gmock/gmock.h>

#include <cmath>

namespace tenon::runtime {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

constexpr int32_t kEnd = 3, kPad = 9;

BeamOptions options_of(int64_t beams, int64_t max_length) {
  BeamOptions o;
  o.beams = o.returned = beams;
  o.vocabulary = 4;
  o.max_length = max_length;
  o.end_token = kEnd;
  o.pad_token = kPad;
  return o;
}

struct Found {
  std::vector<int32_t> tokens;
  std::vector<float> worths;
};
Found finish(BeamScorer& scorer, const BeamOptions& o) {
  Found found;
  found.tokens.resize(static_cast<size_t>(o.batch * o.returned * o.max_length));
  found.worths.resize(static_cast<size_t>(o.batch * o.returned));
  scorer.finish(found.tokens, found.worths);
  return found;
}

TEST(BeamScorer, FollowsTwoBeamsAndReordersThem) {
  const BeamOptions o = options_of(2, 3);
  const std::vector<int32_t> prompt = {0};
  BeamScorer scorer(o, prompt);
  // Both beams see the same scores at first; only one of them counts.
  scorer.advance(std::vector<float>{-5, -1, -2, -9, -5, -1, -2, -9});
  EXPECT_THAT(scorer.tokens(), ElementsAre(1, 2));
  EXPECT_THAT(scorer.sources(), ElementsAre(0, 0));
  // The second beam (so far -2) goes on better than the first (-1).
  scorer.advance(std::vector<float>{-9, -8, -7, -9, -0.5f, -9, -9, -9});
  EXPECT_THAT(scorer.tokens(), ElementsAre(0, 2));
  EXPECT_THAT(scorer.sources(), ElementsAre(1, 0));
  EXPECT_TRUE(scorer.done());
  const Found found = finish(scorer, o);
  EXPECT_THAT(found.tokens, ElementsAre(0, 2, 0, 0, 1, 2));
  EXPECT_THAT(found.worths, ElementsAre(FloatNear(-2.5f / 3, 1e-6f), FloatNear(-8.0f / 3, 1e-6f)));
}

TEST(BeamScorer, AnEndedSequenceIsKeptWithoutItsEnd) {
  BeamOptions o = options_of(2, 4);
  o.length_penalty = 2;
  o.early_stopping = true;
  const std::vector<int32_t> prompt = {0, 0};
  BeamScorer scorer(o, prompt);
  scorer.advance(std::vector<float>{-4, -2, -9, -1, -4, -2, -9, -1});
  EXPECT_THAT(scorer.tokens(), ElementsAre(1, 0)) << "the end takes no beam";
  EXPECT_FALSE(scorer.done());
  scorer.advance(std::vector<float>{-8, -9, -9, -3, -9, -9, -9, -9});
  EXPECT_TRUE(scorer.done());
  const Found found = finish(scorer, o);
  EXPECT_THAT(found.tokens, ElementsAre(0, 0, kPad, kPad, 0, 0, 1, kPad));
  EXPECT_THAT(found.worths, ElementsAre(FloatNear(-1.0f / 4, 1e-6f), FloatNear(-5.0f / 9, 1e-6f)));
}

TEST(BeamScorer, RestrictsWhatMayCome) {
  BeamOptions o = options_of(1, 8);
  o.repetition_penalty = 2;
  o.repeat_ngram = 2;
  o.min_length = 6;
  const std::vector<int32_t> allowed = {1, 1, 0, 1};
  const std::vector<int32_t> prompt = {0, 1, 0};
  {
    BeamScorer scorer(o, prompt);
    std::vector<float> scores = {-1, -2, -3, -4};
    scorer.restrict(scores);
    EXPECT_EQ(scores[0], -2) << "was there before";
    EXPECT_LT(scores[1], -1e30f) << "0 1 would come twice";
    EXPECT_EQ(scores[2], -3);
    EXPECT_LT(scores[3], -1e30f) << "too short to end";
  }
  o.repeat_ngram = 0, o.min_length = 0, o.allowed = allowed;
  BeamScorer scorer(o, prompt);
  std::vector<float> scores = {-1, -2, -3, -4};
  scorer.restrict(scores);
  EXPECT_LT(scores[2], -1e30f);
  EXPECT_EQ(scores[3], -4);
}

TEST(BeamScorer, TheFirstTokenHasAMaskOfItsOwn) {
  BeamOptions o = options_of(1, 8);
  const std::vector<int32_t> first = {0, 1, 1, 1};
  o.allowed_first = first;
  const std::vector<int32_t> prompt = {0};
  BeamScorer scorer(o, prompt);
  std::vector<float> scores = {-1, -2, -3, -4};
  scorer.restrict(scores);
  EXPECT_LT(scores[0], -1e30f);
  scorer.advance(scores);
  scores = {-1, -2, -3, -4};
  scorer.restrict(scores);
  EXPECT_EQ(scores[0], -1);
}

}  // namespace
}  // namespace tenon::runtime
