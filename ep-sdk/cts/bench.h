// The start of most checks: a negotiated library, an open provider, and probes that it claims.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ep-sdk/cts/check.h"
#include "ep-sdk/cts/compare.h"
#include "ep-sdk/cts/execution.h"
#include "ep-sdk/cts/library.h"
#include "ep-sdk/cts/probes.h"

namespace tenon::cts {

/// The library, and a subject of it. Throws Failed and CallFailed when the subject cannot be opened.
class Bench {
 public:
  /// How far the subject is opened.
  enum class Open { kNothing, kProvider, kDevice, kInstance };
  explicit Bench(const Target& target, Open open = Open::kInstance, const tenon_host_api* host = nullptr);

  Library module;
  tenon_ep_negotiation io;
  InstanceOptions options;
  std::unique_ptr<Subject> subject;

  std::unique_ptr<Subject> make_subject() const;
  tenon_ep_api api() const { return table_of(*io.api); }

 private:
  const Target& target_;
};

/// A probe that the provider claims, and the claim.
struct Claimed {
  Probe probe;
  GraphCase graph;
  Claim claim;
};

/// All probes that are claimed. Throws NotApplicable when there is none, Failed when capability fails.
std::vector<Claimed> claimed_probes(const Target& target, const Subject& subject);
/// The first of them that `fits`. Throws NotApplicable when none does.
Claimed first_claimed(const std::vector<Claimed>& all, const char* what,
                      const std::function<bool(const Claimed&)>& fits);

/// Calls `body` with each claimed probe. Throws Failed when a function fails there.
void each_claimed(const Target& target, const std::function<void(const Subject&, const Claimed&)>& body);
/// The first claimed probe that is plain. Throws NotApplicable when there is none.
Claimed plain_claim(const Target& target, const Subject& subject);
/// The same with the elements of input 0 in reverse order.
Claimed with_turned_input(const Claimed& claimed);
/// Throws NotApplicable.
void require_streams(const Subject& subject);
bool has_sequence_or_string(const Claimed& claimed);
/// Whether all inputs and outputs are numeric tensors and the host allocates the outputs.
bool is_plain(const Claimed& claimed);

/// Compiles, prepares and runs one claim. Throws CallFailed and Failed.
std::vector<Tensor> run_claim(const Subject& subject, const Claimed& claimed, const RunSetup& setup = {});

/// Throws Failed with `what` and `cure` when outputs differ.
void require_equal(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                   const std::string& what, const std::string& cure);

/// Throws Failed when the provider has broken this rule.
void require_no_violation(int rule);

/// One input and one output of the same type and shape, so that nodes can be chained.
bool keeps_shape(const Claimed& claimed);
/// A chain of `length` nodes, each reading the output of the one before. `unary` keeps type and shape.
GraphCase make_chain(const Claimed& unary, int length);

}  // namespace tenon::cts
