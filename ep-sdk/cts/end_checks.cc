// Checks of a provider's whole life, once and a hundred times, and of what it leaves at the end.
#include <thread>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/loader.h"
#include "ep-sdk/cts/process_state.h"
#include "ep-sdk/cts/step.h"
#include "tenon/ep/negotiate.hpp"

namespace tenon::cts {
namespace {

/// One life, from provider_create to provider_destroy. Runs up to `most` of the claims.
void live(Subject& subject, const std::vector<Claimed>& all, size_t most) {
  subject.open();
  for (size_t i = 0; i < all.size() && i < most; ++i) run_claim(subject, all[i]);
  subject.destroy_instance();
  subject.close_device();
  subject.destroy_provider();
}

std::vector<Claimed> find_claims(const Target& target, const Bench& bench) {
  const std::unique_ptr<Subject> subject = bench.make_subject();
  subject->open();
  return claimed_probes(target, *subject);
}

void quiesce(const Subject& subject) {
  if (subject.api.quiesce == nullptr) return;
  call("quiesce", subject.api.quiesce, subject.provider, int64_t{5'000'000'000});
}

bool is_unloadable(const Target& target) {
  return target.manifest.value("traits", nlohmann::json::object()).value("unloadable", false);
}

std::string mebibytes(size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

TENON_CHECK("lifecycle.once",
            "provider, device and instance can be made, used to run claims, and destroyed in order") {
  const Bench bench(target, Bench::Open::kNothing);
  Subject& subject = *bench.subject;
  try {
    subject.create_provider();
    subject.open_device();
    subject.create_instance();
    for (const Claimed& claimed : claimed_probes(target, subject)) {
      report_activity("the probe " + claimed.probe.name);
      run_claim(subject, claimed);
    }
    subject.destroy_instance();
    subject.close_device();
    quiesce(subject);
    subject.destroy_provider();
  } catch (const CallFailed& failed) {
    throw Failed(failed.what(), "this call must work before others can be tested");
  }
}

TENON_CHECK_LIMIT("lifecycle.x100", "a hundred lives leave no descriptor, no thread and no growing memory",
                  300) {
  const Bench bench(target, Bench::Open::kNothing);
  const std::vector<Claimed> all = find_claims(target, bench);
  constexpr size_t kClaims = 6;
  // Drivers and allocators may keep something after the first lives. Growth with each life is a leak.
  for (int i = 0; i < 20; ++i) live(*bench.subject, all, kClaims);
  const auto files = open_files();
  const size_t threads = count_threads(), resident = resident_bytes();
  for (int i = 0; i < 80; ++i) live(*bench.subject, all, kClaims);
  for (const auto& [fd, name] : open_files()) {
    if (files.count(fd) == 0)
      throw Failed("eighty lives leave the descriptor " + std::to_string(fd) + " (" + name + ") open",
                   "close it");
  }
  if (count_threads() > threads)
    throw Failed("eighty lives leave " + std::to_string(count_threads() - threads) + " threads", "join them");
  // Sanitizers record allocations, and ThreadSanitizer what threads did that have ended.
  const uint32_t sanitizer = tenon::ep::own_sanitizer();
  const size_t allowed = sanitizer == TENON_SANITIZER_NONE     ? size_t{4} << 20
                         : sanitizer == TENON_SANITIZER_THREAD ? size_t{128} << 20
                                                               : size_t{16} << 20;
  const size_t now = resident_bytes();
  if (now > resident + allowed)
    throw Failed("eighty lives grow the process from " + mebibytes(resident) + " to " + mebibytes(now),
                 "free what each object holds; a leak checker of the compiler names the place");
}

TENON_CHECK("lifecycle.instances", "several instances of one device work side by side and end in any order") {
  const Bench bench(target);
  Subject& subject = *bench.subject;
  const std::vector<Claimed> all = claimed_probes(target, subject);
  const std::vector<Tensor> expected = run_claim(subject, all[0]);
  OtherInstance second(subject);
  {
    const Program program(subject, all[0].graph, all[0].claim, second.get());
    const Prepared prepared(program);
    Execution execution(prepared);
    execution.run();
    require_equal(execution.outputs(), expected, "a second instance", "do not share state that Runs change");
  }
  OtherInstance third(subject);
  second.destroy();
  require_equal(run_claim(subject, all[0]), expected, "an instance after another was destroyed",
                "let each instance own what it uses");
  third.destroy();
}

TENON_CHECK(
    "R52",
    "each object can be destroyed on another thread than the one that made it, with everything it holds") {
  const Bench bench(target, Bench::Open::kNothing);
  Subject& subject = *bench.subject;
  const std::vector<Claimed> all = find_claims(target, bench);
  const auto elsewhere = [](const std::function<void()>& body) { std::thread(body).join(); };
  elsewhere([&] { subject.open(); });
  for (const Claimed& claimed : all) {
    auto program = std::make_unique<Program>(subject, claimed.graph, claimed.claim);
    auto prepared = std::make_unique<Prepared>(*program);
    auto kept = std::make_unique<Prepared>(*program);
    auto execution = std::make_unique<Execution>(*prepared);
    execution->run();
    const std::vector<Tensor> expected = execution->outputs();
    elsewhere([&] { execution.reset(); });
    elsewhere([&] { prepared.reset(); });
    execution = std::make_unique<Execution>(*kept);
    execution->run();
    require_equal(execution->outputs(), expected,
                  claimed.probe.name + " after a second prepared program was destroyed",
                  "destroy only what this object holds");
    execution.reset();
    elsewhere([&] { kept.reset(); });
    elsewhere([&] { program.reset(); });
  }
  elsewhere([&] { subject.destroy_instance(); });
  elsewhere([&] { subject.close_device(); });
  elsewhere([&] { subject.destroy_provider(); });
  require_no_violation(8);
}

TENON_CHECK(
    "R53",
    "after quiesce no thread is left, and the library can be unmapped if the manifest says unloadable") {
  enter(Step::kManifest);
  if (!is_unloadable(target))
    throw NotApplicable("the manifest does not say that the provider is unloadable");
  const size_t threads = count_threads();
  Bench bench(target, Bench::Open::kNothing);
  Subject& subject = *bench.subject;
  subject.open();
  for (const Claimed& claimed : claimed_probes(target, subject)) run_claim(subject, claimed);
  subject.destroy_instance();
  subject.close_device();
  quiesce(subject);
  const size_t left = count_threads();
  if (left > threads)
    throw Failed(std::to_string(left - threads) + " threads are left after quiesce",
                 "join them in quiesce, or take traits.unloadable out of the manifest");
  subject.destroy_provider();
  bench.subject.reset();
  bench.module.close();
  if (is_loaded(target.module_path()))
    throw Failed(
        "the library is still mapped after dlclose",
        "leave no thread_local with a destructor and no unique symbol, or take traits.unloadable out");
  const Bench again(target, Bench::Open::kNothing);
  again.subject->open();
}

TENON_CHECK("R54", "every shared object and cache blob is released before the instance is destroyed") {
  const Bench bench(target, Bench::Open::kNothing);
  Subject& subject = *bench.subject;
  for (int i = 0; i < 2; ++i) {  // the second life finds the first one's blobs in the cache
    subject.open();
    for (const Claimed& claimed : claimed_probes(target, subject)) run_claim(subject, claimed);
    subject.destroy_instance();
    const int objects = subject.services.shared_held, blobs = subject.services.blobs_held;
    if (objects != 0)
      throw Failed(std::to_string(objects) + " shared objects are not released",
                   "match each shared with shared_release");
    if (blobs != 0)
      throw Failed(std::to_string(blobs) + " cache blobs are not released",
                   "match each cache_get with cache_done");
    subject.close_device();
    subject.destroy_provider();
  }
  if (live_values() != 0)
    throw Failed(std::to_string(live_values()) + " values are left",
                 "release each value as often as it was retained");
  require_no_violation(54);
}

}  // namespace tenon::cts
