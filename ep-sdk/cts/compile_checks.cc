// Checks of compile and prepare.

#include <algorithm>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "ep-sdk/cts/bench.h"

namespace tenon::cts {
namespace {

/// Runs `body` on another thread and rethrows its exception.
void on_thread(const std::function<void()>& body) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

/// Runs `body` on `count` threads at once and rethrows an exception.
void on_threads(int count, const std::function<void()>& body) {
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      try {
        body();
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

/// Compiles all claims, twice each and last one first: a host may compile claims in any order.
void compile_together(const Subject& subject, const std::vector<Claimed>& all) {
  std::vector<std::unique_ptr<Program>> programs;
  for (size_t i = all.size(); i-- > 0;) {
    report_activity("the probe " + all[i].probe.name);
    programs.push_back(std::make_unique<Program>(subject, all[i].graph, all[i].claim));
    programs.push_back(std::make_unique<Program>(subject, all[i].graph, all[i].claim));
  }
}

}  // namespace

TENON_CHECK("R29", "each claim compiles: in any order, twice, and with several nodes") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  const std::vector<Claimed> all = claimed_probes(target, subject);
  const char* cure = "claim only what compile takes, and find the claim by its nodes and its own tag";
  try {
    compile_together(subject, all);
    for (const Claimed& claimed : all) {
      if (!keeps_shape(claimed)) continue;
      const GraphCase chain = make_chain(claimed, 4);
      for (const Claim& claim : ask(subject, chain).claims) {
        const Program program(subject, chain, claim);
        const Prepared prepared(program);
      }
    }
  } catch (const CallFailed& failed) {
    throw Failed("a claim does not compile: " + std::string(failed.what()), cure);
  }
}

TENON_CHECK("R30", "constants are never written, and consumed ones are not read any more") {
  host_state().protect_constants = true;
  bool any = false;
  each_claimed(target, [&](const Subject& subject, const Claimed& claimed) {
    const Program program(subject, claimed.graph, claimed.claim);
    any = any || program.has_constants();
    program.protect_constants(true, Access::kNone);
    const Prepared prepared(program);
    Execution execution(prepared);
    execution.run();
    if (claimed.probe.has_expected)
      require_equal(execution.outputs(), claimed.probe.node.outputs,
                    "with protected constants the result is wrong",
                    "keep your own copy of what you need of a constant that you mark consumed");
  });
  if (!any) throw NotApplicable("no probe with a constant is claimed");
}

TENON_CHECK("R31", "a program can be prepared and run on any thread, and neither changes it") {
  each_claimed(target, [](const Subject& subject, const Claimed& claimed) {
    const Program program(subject, claimed.graph, claimed.claim);
    std::vector<Tensor> first;
    on_thread([&] {
      const Prepared prepared(program);
      Execution execution(prepared);
      on_thread([&] { execution.run(); });
      first = execution.outputs();
    });
    const Prepared again(program);
    Execution execution(again);
    execution.run();
    require_equal(execution.outputs(), first, "run again on another thread",
                  "change nothing in a program after compile");
    on_threads(4, [&] {
      for (int i = 0; i < 10; ++i) const Prepared prepared(program);
    });
  });
}

TENON_CHECK("R32", "a compile that returns OK gives a program") {
  each_claimed(target, [](const Subject& subject, const Claimed& claimed) {
    const Program program(subject, claimed.graph, claimed.claim);
  });
}

TENON_CHECK("R33", "prepare answers every shape that was left open, and contradicts none that was inferred") {
  each_claimed(target, [](const Subject& subject, const Claimed& claimed) {
    {
      const Program program(subject, claimed.graph, claimed.claim);
      const Prepared prepared(program);
    }
    GraphCase open = claimed.graph;
    for (GraphCase::Value& value : open.values) value.is_open = value.is_output;
    const Offer offer = ask(subject, open);
    if (offer.claims.empty()) return;
    const Program program(subject, open, offer.claims[0]);
    PrepareSetup setup;
    setup.infer_outputs = false;
    std::unique_ptr<Prepared> prepared;
    try {
      prepared = std::make_unique<Prepared>(program, setup);
    } catch (const CallFailed&) {
      return;  // the provider relies on the host's inference, and its error says so
    }
    Execution execution(*prepared);
    execution.run();
    execution.outputs();
  });
}

TENON_CHECK("R34", "shapes given to the host have a rank up to 32 and no negative dimension") {
  each_claimed(target, [](const Subject& subject, const Claimed& claimed) {
    GraphCase open = claimed.graph;
    for (GraphCase::Value& value : open.values) value.is_open = value.is_output;
    const Offer offer = ask(subject, open);
    if (offer.claims.empty()) return;
    const Program program(subject, open, offer.claims[0]);
    for (const bool infer : {true, false}) {
      PrepareSetup setup;
      setup.infer_outputs = infer;
      std::unique_ptr<Prepared> prepared;
      try {
        prepared = std::make_unique<Prepared>(program, setup);
      } catch (const CallFailed&) {
        continue;  // see R33
      }
      Execution execution(*prepared);
      execution.run();
    }
  });
  require_no_violation(34);
}

TENON_CHECK("R35", "aliases name inputs of the program, and a Run over shared memory gives the same") {
  bool any = false;
  each_claimed(target, [&](const Subject& subject, const Claimed& claimed) {
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    any = any || std::any_of(prepared.aliases.begin(), prepared.aliases.end(),
                             [](const tenon_alias& alias) { return alias.kind != TENON_ALIAS_NONE; });
    const std::vector<Tensor> apart = run_claim(subject, claimed);
    RunSetup setup;
    setup.placement = Placement::kShared;
    Execution execution(prepared, setup);
    execution.run();
    require_equal(execution.outputs(), apart, "with the output in the memory of the input",
                  "offer MAY_OVERWRITE only where each element is read before it is written");
  });
  if (!any) throw NotApplicable("no probe has an alias");
}

TENON_CHECK(
    "R36",
    "the workspace is in a domain of the device or the host's, aligned to a power of two, and large enough") {
  bool any = false;
  each_claimed(target, [&](const Subject& subject, const Claimed& claimed) {
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    any = any || prepared.workspace_bytes > 0;
    // The result must not depend on old contents, and nothing may be written behind it.
    std::vector<Tensor> first;
    for (const uint8_t fill : {0x00, 0xFF}) {
      RunSetup setup;
      setup.fill = fill;
      Execution execution(prepared, setup);
      execution.run();
      execution.check_surroundings();
      if (first.empty()) first = execution.outputs();
      require_equal(execution.outputs(), first, "with another workspace",
                    "initialise the workspace before reading it");
    }
  });
  if (!any) throw NotApplicable("no probe has a workspace");
}

TENON_CHECK("R37", "prepare reads data only of constants and of inputs claimed as shape inputs") {
  each_claimed(target, [](const Subject& subject, const Claimed& claimed) {
    if (has_sequence_or_string(claimed)) return;
    const Program program(subject, claimed.graph, claimed.claim);
    PrepareSetup setup;
    setup.seal_data = true;
    const Prepared prepared(program, setup);
  });
}

TENON_CHECK(
    "R38",
    "several Runs can use what prepare made, at once where the device allows it, and do not change it") {
  each_claimed(target, [](const Subject& subject, const Claimed& claimed) {
    const std::vector<Tensor> expected = run_claim(subject, claimed);
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    const auto run_some = [&] {
      Execution execution(prepared);
      for (int i = 0; i < 5; ++i) {
        execution.run();
        require_equal(execution.outputs(), expected,
                      "Run " + std::to_string(i) + " of the same prepared program",
                      "do not change in a Run what prepare made");
      }
    };
    run_some();
    const bool at_once = subject.device_info.serialize <= TENON_SERIALIZE_BINDING;
    if (at_once) on_threads(4, run_some);
  });
}

}  // namespace tenon::cts
