#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/cpu_time.h"

namespace tenon::plan {
namespace {

/// A chain a -> b -> c ... of `n` values of `bytes` each; the first is outside.
Request chain(uint32_t n, uint64_t bytes) {
  Request request;
  request.domains = {{}};
  request.values.resize(n, {Home::kSlab, 0, bytes, false, {}});
  request.values[0].home = Home::kOutside;
  for (uint32_t i = 1; i < n; ++i) {
    StepMemory step;
    step.inputs = {i - 1};
    step.outputs = {i};
    request.steps.push_back(step);
  }
  return request;
}

TEST(PlanMemory, ChainNeedsTwoBuffers) {
  const auto plan = plan_memory(chain(10, 100));
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->slabs.size(), 1u);
  EXPECT_EQ(plan->slabs[0].bytes, 128u + 100u);  // the second one starts at a multiple of 64
  EXPECT_EQ(plan->places[0].slab, kNone);
}

TEST(PlanMemory, InPlaceChainNeedsOneBuffer) {
  Request request = chain(10, 100);
  for (StepMemory& step : request.steps) step.aliases = {{AliasKind::kMayOverwrite, 0, 0}};
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->slabs[0].bytes, 100u);
  EXPECT_EQ(plan->roots[1].value, 1u) << "what lives outside is never overwritten";
  EXPECT_EQ(plan->roots[9].value, 1u);
}

TEST(PlanMemory, InputThatIsReadLaterIsNotOverwritten) {
  Request request = chain(4, 64);
  request.steps[1].aliases = {{AliasKind::kMayOverwrite, 0, 0}};  // value 2 over value 1
  request.steps[2].inputs.push_back(1);
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->roots[2].value, 2u);
}

TEST(PlanMemory, InputThatIsReadTwiceByTheStepIsNotOverwritten) {
  Request request = chain(3, 64);
  request.steps[1].inputs = {1, 1};
  request.steps[1].aliases = {{AliasKind::kMayOverwrite, 0, 0}};
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->roots[2].value, 2u);
}

TEST(PlanMemory, KeptValuesStay) {
  Request request = chain(5, 64);
  request.values[1].kept = true;
  request.steps[1].aliases = {{AliasKind::kMayOverwrite, 0, 0}};
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  for (ValueIndex v = 2; v < 5; ++v) EXPECT_NE(plan->places[v].offset, plan->places[1].offset);
}

TEST(PlanMemory, ViewsShareBytesAndKeepTheirRootAlive) {
  Request request = chain(5, 256);
  request.values[2].bytes = 64;
  request.steps[1].aliases = {{AliasKind::kView, 0, 128}};
  request.steps[3].inputs.push_back(2);
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->roots[2].value, 1u);
  EXPECT_EQ(plan->roots[2].byte_offset, 128u);
  EXPECT_EQ(plan->places[2].offset, plan->places[1].offset + 128);
  EXPECT_NE(plan->places[3].offset, plan->places[1].offset) << "the view is read by the last step";
}

TEST(PlanMemory, ViewOfAnOutsideValueHasNoPlaceOfItsOwn) {
  Request request = chain(3, 64);
  request.steps[0].aliases = {{AliasKind::kView, 0, 0}};
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->roots[1].value, 0u);
  EXPECT_EQ(plan->places[1].slab, kNone);
}

TEST(PlanMemory, ViewThatReachesOutsideOfItsInputIsNotHonoured) {
  Request request = chain(3, 64);
  request.steps[1].aliases = {{AliasKind::kView, 0, 1}};
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->roots[2].value, 2u);
}

TEST(PlanMemory, LimitOfADomainGivesSeveralSlabs) {
  Request request = chain(6, 100);
  for (Value& value : request.values) value.kept = true;
  request.domains[0].max_slab_bytes = 256;
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->slabs.size(), 3u);
  for (const Slab& slab : plan->slabs) EXPECT_LE(slab.bytes, 256u);
}

TEST(PlanMemory, ValueLargerThanTheLimitIsNamed) {
  Request request = chain(3, 100);
  request.domains[0].max_slab_bytes = 64;
  request.values[1].name = "big";
  const auto plan = plan_memory(request);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind(), ErrorKind::kOutOfMemory);
  EXPECT_NE(plan.error().message().find("'big'"), std::string_view::npos);
}

TEST(PlanMemory, UnfinishedWorkKeepsItsMemory) {
  Request request = chain(4, 64);
  // Step 1 reads value 1 and is finished only when step 2 starts.
  request.steps[1].stream = 1;
  request.steps[1].finished_at = 2;
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_NE(plan->places[3].offset, plan->places[1].offset);
}

TEST(PlanMemory, OneStreamReusesItsMemoryInOrder) {
  Request request = chain(6, 64);
  for (uint32_t s = 0; s < request.steps.size(); ++s) {
    request.steps[s].stream = 1;
    request.steps[s].finished_at = 5;
  }
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->slabs[0].bytes, 128u);
}

TEST(PlanMemory, EmptyValuesTakeNoPlace) {
  const auto plan = plan_memory(chain(4, 0));
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->slabs.empty());
}

TEST(PlanMemory, BadIndexIsAnError) {
  Request request = chain(3, 8);
  request.steps[0].outputs = {17};
  EXPECT_EQ(plan_memory(request).error().kind(), ErrorKind::kInternal);
}

// ---- Random graphs: run the plan on bytes and see that every reader finds what was written. ----

struct Rng {
  std::mt19937 engine;
  uint32_t operator()(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(engine); }
};

Request random_request(uint32_t seed) {
  Rng rng{std::mt19937(seed)};
  Request request;
  request.domains = {{64, 0}, {16, 4096}, {128, 0}};
  request.domains.resize(1 + rng(3));
  const uint32_t outside = 1 + rng(3), steps = 1 + rng(40);
  for (uint32_t v = 0; v < outside; ++v)
    request.values.push_back({Home::kOutside, 0, 1 + rng(600), false, {}});
  for (uint32_t s = 0; s < steps; ++s) {
    StepMemory step;
    const auto known = static_cast<uint32_t>(request.values.size());
    for (uint32_t i = 1 + rng(3); i > 0; --i)
      step.inputs.push_back(rng(8) == 0 ? kNone : known - 1 - rng(std::min(known, 6u)));
    for (uint32_t o = 1 + rng(2); o > 0; --o) {
      const auto domain = rng(static_cast<uint32_t>(request.domains.size()));
      const Home home = rng(12) == 0 ? Home::kOutside : Home::kSlab;
      step.outputs.push_back(static_cast<ValueIndex>(request.values.size()));
      request.values.push_back({home, domain, rng(5) == 0 ? 0 : rng(600), rng(10) == 0, {}});
      step.aliases.push_back({static_cast<AliasKind>(rng(3)), rng(4), rng(3) == 0 ? 0 : 64u * rng(4)});
    }
    step.workspace = {rng(3) == 0 ? rng(300) : 0, rng(static_cast<uint32_t>(request.domains.size()))};
    request.steps.push_back(step);
  }
  return request;
}

/// Executes a plan on real bytes: each byte holds the number of the value that it belongs to. A view shows
/// the bytes of what it refers to.
class Machine {
 public:
  Machine(const Request& request, const MemoryPlan& plan) : request_(request), plan_(plan) {
    for (const Slab& slab : plan.slabs) slabs_.emplace_back(slab.bytes, 0);
    for (const Value& value : request.values) outside_.emplace_back(value.bytes, 0);
    stamp_.resize(request.values.size());
    for (ValueIndex v = 0; v < request.values.size(); ++v) stamp_[v] = v + 1;
    for (ValueIndex v = 0; v < request.values.size(); ++v) {
      if (request.values[v].home == Home::kOutside) write(v, v + 1);
    }
  }

  void run() {
    for (uint32_t s = 0; s < request_.steps.size(); ++s) step(s);
    for (ValueIndex v = 0; v < request_.values.size(); ++v) {
      if (request_.values[v].kept) expect(v, static_cast<uint32_t>(request_.steps.size()));
    }
  }

 private:
  void step(uint32_t s) {
    const StepMemory& step = request_.steps[s];
    for (ValueIndex v : step.inputs) {
      if (v != kNone) expect(v, s);
    }
    if (const Place at = plan_.workspaces[s]; at.slab != kNone) {
      std::fill_n(slabs_[at.slab].begin() + static_cast<ptrdiff_t>(at.offset), step.workspace.bytes,
                  0xFFFFFFFFu);
      for (ValueIndex v : step.inputs) {
        if (v != kNone) expect(v, s);
      }
    }
    for (uint32_t o = 0; o < step.outputs.size(); ++o) {
      const ValueIndex v = step.outputs[o];
      const bool honoured = plan_.roots[v].value != v;
      if (honoured && step.aliases[o].kind == AliasKind::kView) {
        stamp_[v] = stamp_[step.inputs[step.aliases[o].input]];
      } else {
        write(v, v + 1);
      }
    }
  }

  uint32_t* bytes(ValueIndex v) {
    const Root root = plan_.roots[v];
    if (request_.values[root.value].home == Home::kOutside)
      return outside_[root.value].data() + root.byte_offset;
    const Place at = plan_.places[v];
    if (at.slab == kNone) return nullptr;
    EXPECT_LE(at.offset + request_.values[v].bytes, plan_.slabs[at.slab].bytes);
    EXPECT_EQ(plan_.slabs[at.slab].domain, request_.values[v].domain);
    if (root.value == v) {
      EXPECT_EQ(at.offset % request_.domains[request_.values[v].domain].alignment, 0u);
    }
    return slabs_[at.slab].data() + at.offset;
  }

  void write(ValueIndex v, uint32_t stamp) {
    if (request_.values[v].bytes != 0) std::fill_n(bytes(v), request_.values[v].bytes, stamp);
  }

  void expect(ValueIndex v, uint32_t s) {
    const uint32_t* at = bytes(v);
    for (uint64_t i = 0; i < request_.values[v].bytes; ++i) {
      ASSERT_EQ(at[i], stamp_[v]) << "byte " << i << " of value " << v << " at step " << s;
    }
  }

  const Request& request_;
  const MemoryPlan& plan_;
  std::vector<std::vector<uint32_t>> slabs_, outside_;  // one word stands for one byte
  std::vector<uint32_t> stamp_;
};

TEST(PlanMemory, RandomGraphsKeepTheirValues) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const Request request = random_request(seed);
    const auto plan = plan_memory(request);
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    Machine(request, *plan).run();
    if (HasFatalFailure()) return;
  }
}

double seconds_of(const Request& request, uint64_t slab_bytes) {
  const double begin = test::cpu_seconds();
  const auto plan = plan_memory(request);
  const double taken = test::cpu_seconds() - begin;
  EXPECT_TRUE(plan.ok());
  EXPECT_EQ(plan.ok() ? plan->slabs[0].bytes : 0, slab_bytes);
  return taken;
}

TEST(PlanMemory, LongChainsAreQuick) {
  test::expect_nearly_linear(200'000, [](uint32_t n) { return seconds_of(chain(n, 4096), 2u * 4096); });
  test::expect_nearly_linear(200'000, [](uint32_t n) {
    Request in_place = chain(n, 4096);
    for (StepMemory& step : in_place.steps) step.aliases = {{AliasKind::kMayOverwrite, 0, 0}};
    return seconds_of(in_place, 4096);
  });
}

/// `n` values made one by one, all read by the last step.
Request gathered(uint32_t n) {
  Request out;
  out.domains = {{64, 0}};
  StepMemory last;
  for (uint32_t v = 0; v < n; ++v) {
    Value value;
    value.home = Home::kSlab;
    value.bytes = 64;
    out.values.push_back(value);
    StepMemory step;
    step.outputs = {v};
    out.steps.push_back(step);
    last.inputs.push_back(v);
  }
  out.steps.push_back(last);
  return out;
}

TEST(PlanMemory, ManyValuesAtOnceAreQuick) {
  test::expect_nearly_linear(20'000, [](uint32_t n) { return seconds_of(gathered(n), 64u * n); });
  test::expect_nearly_linear(20'000, [](uint32_t n) {
    Request spread = gathered(n);  // the other way round: made by the first step, read one by one
    StepMemory first;
    first.outputs = spread.steps.back().inputs;
    spread.steps.assign(1, first);
    for (uint32_t v = 0; v < n; ++v) {
      StepMemory step;
      step.inputs = {v};
      spread.steps.push_back(step);
    }
    return seconds_of(spread, 64u * n);
  });
}

TEST(PlanMemory, LargeChainIsQuick) {
  Request request = chain(10'000, 4096);
  for (uint32_t i = 0; i < request.values.size(); ++i) request.values[i].bytes = 64 + i % 5000;
  const auto plan = plan_memory(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_LT(plan->slabs[0].bytes, 3u * 5100u);
}

}  // namespace
}  // namespace tenon::plan
