// Submitted Runs: tenon.h and what run.hpp adds over it.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kMostRunners = 16;  // of the queue, as tenon.h says

Config config_of(const std::string& folders, const std::string& order) {
  Config config;
  config.set("discovery.search", folders).set("discovery.scan", "\"off\"").set("select.order", order);
  return config;
}
Config cpu() { return config_of("[\"" + providers_dir() + "\"]", "[\"cpu\"]"); }

/// sum = x + 1 and product = x * 2, for any number of elements.
Session session(const Config& config = cpu()) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  m.output(m.node("Add", {x, m.constant("one", {1}, {1})}), "sum");
  m.output(m.node("Mul", {x, m.constant("two", {1}, {2})}), "product");
  const std::string bytes = m.bytes();
  return Session::from_memory(bytes.data(), bytes.size(), &config);
}
/// Its Runs end when they are cancelled, and not before.
Session endless_session() {
  Config config = config_of("[\"" + fakes_dir() + "/accelerator\", \"" + providers_dir() + "\"]",
                            "[\"accelerator/npu:0\", \"cpu\"]");
  config.set("provider.accelerator.options.fault", "\"wait_run\"");
  return session(config);
}

Value one(float value) { return Value::tensor<float>({1}, {value}); }
std::vector<NamedValue> input(float value) { return {{"x", one(value)}}; }

/// The failure of a Run that must fail.
Error failure(Pending& pending) {
  try {
    pending.wait();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "the Run succeeded";
  return Error(0, 0, "", "");
}
template <class Body>
void expect_refused(Body body, tenon_status code, const std::string& text) {
  try {
    body();
    ADD_FAILURE() << "accepted, instead of: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

/// Keeps every thread of the queue at work until it is destroyed.
class Blockers {
 public:
  Blockers() : session_(endless_session()) {
    for (int i = 0; i < kMostRunners; ++i) pending_.push_back(session_.submit(input(1)));
  }
  ~Blockers() {
    for (Pending& each : pending_) each.cancel();
    for (Pending& each : pending_) EXPECT_EQ(failure(each).kind(), uint32_t{TENON_FAILURE_CANCELLED});
  }
  Session& session() { return session_; }

 private:
  Session session_;
  std::vector<Pending> pending_;
};

TEST(Submit, GivesWhatRunGives) {
  Session s = session();
  Pending pending = s.submit({{"x", Value::tensor<float>({3}, {1, 2, 3})}});
  const Outputs outputs = pending.wait();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].name, "sum");
  EXPECT_THAT(outputs["sum"].data<float>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(outputs["product"].data<float>(), ElementsAre(2, 4, 6));
  EXPECT_TRUE(pending.wait_for(0ns));
  EXPECT_THAT(pending.wait()["sum"].data<float>(), ElementsAre(2, 3, 4)) << "a second time";
  pending.cancel();
  EXPECT_THAT(pending.wait()["sum"].data<float>(), ElementsAre(2, 3, 4)) << "cancelled too late";
}

TEST(Submit, OutputsAreChosenAndWrittenInPlace) {
  Session s = session();
  const Value mine = one(0);
  const Outputs outputs = s.submit(input(5), {{"product", mine}, {"sum", Value()}}).wait();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].value.get(), mine.get());
  EXPECT_THAT(mine.data<float>(), ElementsAre(10));
  EXPECT_THAT(outputs["sum"].data<float>(), ElementsAre(6));
}

TEST(Submit, TheEndIsToldOnceAndBeforeAWaitReturns) {
  Session s = session();
  std::atomic<int> calls{0};
  std::atomic<bool> has_returned{false};
  Pending pending = s.submit(input(4));
  pending.then([&](const Error* error, const Outputs& outputs) {
    EXPECT_EQ(error, nullptr);
    EXPECT_THAT(outputs["sum"].data<float>(), ElementsAre(5));
    std::this_thread::sleep_for(10ms);
    ++calls;
    has_returned = true;
  });
  pending.wait();
  EXPECT_TRUE(has_returned);
  EXPECT_EQ(calls, 1);
  expect_refused([&] { pending.then([](const Error*, const Outputs&) {}); }, TENON_FAILED_PRECONDITION,
                 "then() was called before");
  Pending ended = s.submit(input(4));
  ended.wait();
  std::thread::id caller;
  ended.then([&](const Error*, const Outputs&) { caller = std::this_thread::get_id(); });
  EXPECT_EQ(caller, std::this_thread::get_id()) << "it had ended already";
}

TEST(Submit, ErrorsReachTheCallbackAndTheWait) {
  Session s = session();
  std::string told;
  Pending pending = s.submit({{"X", one(1)}});
  pending.then([&](const Error* error, const Outputs& outputs) {
    told = error == nullptr ? "no error" : error->what();
    EXPECT_TRUE(outputs.empty());
  });
  const Error error = failure(pending);
  EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_INVALID_INPUT});
  EXPECT_THAT(error.what(), HasSubstr("did you mean 'x'"));
  EXPECT_EQ(told, error.what());
  EXPECT_TRUE(pending.wait_for(0ns)) << "over, although it failed";
}

TEST(Submit, CancelEndsARunBeforeItBeginsAndWhileItRuns) {
  Blockers blockers;  // their destructor cancels what is under way
  Session s = session();
  Pending waiting = s.submit(input(1)), silent = s.submit(input(1));
  std::atomic<int> calls{0};
  waiting.then([&](const Error* error, const Outputs&) {
    EXPECT_EQ(error->kind(), uint32_t{TENON_FAILURE_CANCELLED});
    ++calls;
  });
  EXPECT_FALSE(waiting.wait_for(20ms));
  waiting.cancel();
  silent.cancel();
  EXPECT_THAT(failure(waiting).what(), HasSubstr("the Run was cancelled while it waited in the queue"));
  EXPECT_EQ(failure(silent).kind(), uint32_t{TENON_FAILURE_CANCELLED});
  EXPECT_EQ(calls, 1);
}

TEST(Submit, ACancelHandleStopsARunAndMayGo) {
  Blockers blockers;
  Session s = session();
  auto cancel = std::make_unique<Cancel>();
  RunOptions options;
  options.cancel = cancel.get();
  Pending waiting = s.submit(input(1), options);
  cancel->trigger();
  cancel.reset();
  EXPECT_EQ(failure(waiting).kind(), uint32_t{TENON_FAILURE_CANCELLED});
}

TEST(Submit, TheDeadlineCountsInTheQueueAndInTheRun) {
  Session endless = endless_session();
  RunOptions options;
  options.deadline_ns = 50'000'000;
  const Clock::time_point begin = Clock::now();
  Pending running = endless.submit(input(1), options);
  EXPECT_EQ(failure(running).kind(), uint32_t{TENON_FAILURE_DEADLINE});
  {
    Blockers blockers;
    Session s = session();
    Pending waiting = s.submit(input(1), options);
    const Error error = failure(waiting);
    EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_DEADLINE});
    EXPECT_THAT(error.what(), HasSubstr("while it waited in the queue"));
  }
  EXPECT_LT(Clock::now() - begin, 20s);
}

TEST(Submit, MoreThanTheLimitIsRefusedByName) {
  Session endless = endless_session();
  std::vector<Pending> all;
  for (int i = 0; i < TENON_PENDING_LIMIT; ++i) all.push_back(endless.submit(input(1)));
  expect_refused([&] { endless.submit(input(1)); }, TENON_RESOURCE_EXHAUSTED,
                 "already has 1024 submitted Runs");
  Session other = session();
  Pending of_other = other.submit(input(1));  // the limit is that of a session
  all.back().cancel();
  failure(all.back());
  all.back() = endless.submit(input(1));
  for (Pending& each : all) each.cancel();
  for (Pending& each : all) EXPECT_EQ(failure(each).kind(), uint32_t{TENON_FAILURE_CANCELLED});
  EXPECT_THAT(of_other.wait()["sum"].data<float>(), ElementsAre(2));
}

TEST(Submit, ManyThreadsGetTheirOwnOutputs) {
  Session s = session();
  std::atomic<int> wrong{0}, told{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int first = 0; first < 200; first += 50) {
        std::vector<Pending> pending;
        for (int i = first; i < first + 50; ++i) {
          const auto n = static_cast<float>(t * 1000 + i);
          pending.push_back(s.submit({{"x", Value::tensor<float>({2}, {n, -n})}}));
          pending.back().then([&](const Error* error, const Outputs&) { told += error == nullptr ? 1 : 0; });
        }
        for (int i = 0; i < 50; ++i) {
          const auto n = static_cast<float>(t * 1000 + first + i);
          const Outputs outputs = pending[i].wait();
          const auto sum = outputs["sum"].data<float>(), product = outputs["product"].data<float>();
          const bool right =
              sum[0] == n + 1 && sum[1] == 1 - n && product[0] == 2 * n && product[1] == -2 * n;
          wrong += right ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(told, 8 * 200);
}

TEST(Submit, ARunOutlivesItsHandleAndItsSession) {
  std::atomic<bool> is_over{false};
  float sum = 0;
  auto blockers = std::make_unique<Blockers>();
  auto s = std::make_unique<Session>(session());
  s->submit(input(7)).then([&](const Error*, const Outputs& outputs) {
    sum = outputs["sum"].data<float>()[0];
    is_over = true;
    is_over.notify_all();
  });
  Pending kept = s->submit(input(8));
  s.reset();
  EXPECT_FALSE(is_over);
  blockers.reset();
  EXPECT_THAT(kept.wait()["product"].data<float>(), ElementsAre(16));
  is_over.wait(false);
  EXPECT_EQ(sum, 8);
}

TEST(Submit, SlotsRunAndAreReadAfterwards) {
  Session s = session();
  Slots slots(s);
  const Value x = one(3);
  Value product = one(0);
  slots.bind_input("x", x.describe());
  slots.bind_output("product", product.describe());
  int rounds = 0;
  std::atomic<bool> is_over{false};
  std::vector<Pending> chain;
  chain.reserve(10);
  // Each end submits the next Run of the same slots.
  const std::function<void(const Error*, const Outputs&)> next = [&](const Error* error, const Outputs&) {
    EXPECT_EQ(error, nullptr);
    EXPECT_EQ(static_cast<const float*>(slots.output("sum").data)[0], 4);
    if (++rounds == 10) {
      is_over = true;
      is_over.notify_all();
      return;
    }
    chain.push_back(slots.submit());
    chain.back().then(next);
  };
  Pending first = slots.submit();
  EXPECT_TRUE(first.wait().empty());
  first.then(next);
  is_over.wait(false);
  for (Pending& each : chain) each.wait();
  EXPECT_THAT(product.data<float>(), ElementsAre(6));
  tenon_value* none = nullptr;
  detail::Check check;
  EXPECT_EQ(api().pending_output(first.get(), 0, &none, check.out()), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(check.make(0).what(), HasSubstr("slots_output"));
}

TEST(Submit, SlotsWithARunUnderWayRefuseOtherCalls) {
  Session endless = endless_session();
  const Value x = one(3);
  std::atomic<int> calls{0};
  {
    Slots slots(endless);
    slots.bind_input(0, x.describe());
    Pending pending = slots.submit();
    const std::string text = "a submitted Run of the slots has not ended";
    expect_refused([&] { slots.bind_input(0, x.describe()); }, TENON_FAILED_PRECONDITION, text);
    expect_refused([&] { slots.bind_output(0, x.describe()); }, TENON_FAILED_PRECONDITION, text);
    expect_refused([&] { slots.run(); }, TENON_FAILED_PRECONDITION, text);
    expect_refused([&] { slots.submit(); }, TENON_FAILED_PRECONDITION, text);
    expect_refused([&] { slots.output(0u); }, TENON_FAILED_PRECONDITION, text);
    pending.cancel();
    EXPECT_EQ(failure(pending).kind(), uint32_t{TENON_FAILURE_CANCELLED});
    slots.bind_input(0, x.describe());
    slots.submit().then([&](const Error* error, const Outputs&) {
      EXPECT_EQ(error->kind(), uint32_t{TENON_FAILURE_CANCELLED});
      ++calls;
      calls.notify_all();
    });
  }  // releasing the slots cancels their Run
  calls.wait(0);
  EXPECT_EQ(calls, 1);
}

TEST(Submit, ACallbackMustNotWait) {
  Session s = session();
  Pending other = s.submit(input(1));
  other.wait();
  Session endless = endless_session();
  Pending never = endless.submit(input(1));
  Pending asking = endless.submit(input(1));
  std::atomic<bool> has_asked{false};
  asking.then([&](const Error*, const Outputs&) {
    other.wait();  // it is over
    EXPECT_FALSE(never.wait_for(0ns));
    expect_refused([&] { never.wait(); }, TENON_FAILED_PRECONDITION, "a callback waits for a submitted Run");
    expect_refused([&] { asking.wait(); }, TENON_FAILED_PRECONDITION, "a callback waits for a submitted Run");
    has_asked = true;
  });
  asking.cancel();
  failure(asking);
  EXPECT_TRUE(has_asked);
  never.cancel();
  failure(never);
}

TEST(Submit, OutputsAreThereAfterTheEndOnly) {
  Session s = session(), endless = endless_session();
  tenon_value* value = nullptr;
  const auto refused = [&](Pending& pending, uint32_t index, tenon_status code, const std::string& text) {
    detail::Check check;
    EXPECT_EQ(api().pending_output(pending.get(), index, &value, check.out()), code);
    EXPECT_THAT(check.make(code).what(), HasSubstr(text));
    EXPECT_EQ(value, nullptr);
  };
  Pending running = endless.submit(input(1));
  refused(running, 0, TENON_FAILED_PRECONDITION, "the Run has not ended");
  running.cancel();
  failure(running);
  refused(running, 0, TENON_FAILED_PRECONDITION, "the Run failed");
  Pending good = s.submit(input(1));
  good.wait();
  refused(good, 2, TENON_INVALID_ARGUMENT, "the number of outputs is 2");
}

TEST(Submit, ATraceIsRefused) {
  Session s = session();
  std::string trace;
  RunOptions options;
  options.trace = &trace;
  expect_refused([&] { s.submit(input(1), options); }, TENON_INVALID_ARGUMENT, "out_trace");
  Slots slots(s);
  expect_refused([&] { slots.submit(options); }, TENON_INVALID_ARGUMENT, "out_trace");
  const Value x = one(3);
  slots.bind_input(0, x.describe());
  slots.submit().wait();
}

TEST(Submit, NobodyHasToWait) {
  Session s = session();
  const Value x = one(2);
  const tenon_named_value in{as_str("x"), x.get()};
  struct Told {
    std::atomic<bool> is_over{false};
    tenon_status status = TENON_UNKNOWN;
    uint32_t output_count = 9;
    float first = 0;
  } told;
  const auto done = [](void* context, tenon_status status, tenon_value* const* outputs, uint32_t output_count,
                       const tenon_error* error) {
    auto& mine = *static_cast<Told*>(context);
    EXPECT_EQ(error, nullptr);
    tenon_tensor tensor{};
    EXPECT_EQ(api().value_tensor(outputs[0], &tensor), TENON_OK);
    mine.first = *static_cast<const float*>(tensor.data);
    mine.status = status;
    mine.output_count = output_count;
    mine.is_over = true;
    mine.is_over.notify_all();
  };
  ASSERT_EQ(api().submit(s.get(), nullptr, &in, 1, nullptr, 0, nullptr, done, &told, nullptr, nullptr),
            TENON_OK);
  told.is_over.wait(false);
  EXPECT_EQ(told.status, TENON_OK);
  EXPECT_EQ(told.output_count, 2u);
  EXPECT_EQ(told.first, 3);
}

TEST(Submit, AChildIsToldAndHasAQueueOfItsOwn) {
  Session s = session();
  s.submit(input(1)).wait();
  Pending parents = s.submit(input(1));
  parents.wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // a child that hangs is a failure, too
    int bad = 0;
    const auto told = [&](const auto& body) {
      try {
        body();
        ++bad;
      } catch (const Error& error) {
        bad += error.code() != TENON_FAILED_PRECONDITION || error.message().find("fork") == std::string::npos;
      }
    };
    told([&] { parents.wait(); });
    told([&] { s.submit(input(1)); });
    parents.cancel();
    Session own = session();
    if (own.submit(input(5)).wait()["sum"].data<float>()[0] != 6) ++bad;
    _exit(bad);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_THAT(s.submit(input(5)).wait()["sum"].data<float>(), ElementsAre(6));
}

}  // namespace
}  // namespace tenon::test
