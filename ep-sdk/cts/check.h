// Checks, and the list of all of them.
//
// A check is a function that tests one provider. It runs in its own process, so it need not clean up, and a crash is
// a result. It passes when it returns; otherwise it throws Failed or NotApplicable.
#pragma once

#include <string>
#include <vector>

#include "ep-sdk/cts/child.h"
#include "ep-sdk/cts/outcome.h"
#include "ep-sdk/cts/target.h"

namespace tenon::cts {

struct Check {
  std::string id;     // "R17" for a rule of RULES.md, a name such as "hygiene.note" for others
  std::string title;  // what holds when the check passes; without body: why it cannot be tested
  void (*body)(const Target& target) = nullptr;  // NULL: not testable from outside
  int seconds = 60;                              // time limit of the process
};

/// In the order of execution: checks of steps that others need, hygiene, negotiation, lifecycle, rules by number,
/// injection, operators.
const std::vector<Check>& all_checks();
/// NULL when there is no such check.
const Check* find_check(const std::string& id);

struct Registrar {
  explicit Registrar(Check check);
};

}  // namespace tenon::cts

#define TENON_CTS_JOIN2_(a, b) a##b
#define TENON_CTS_JOIN_(a, b) TENON_CTS_JOIN2_(a, b)

/// TENON_CHECK("R17", "domains are well numbered") { ... `target` ... }
#define TENON_CHECK_LIMIT(id, title, seconds)                                         \
  static void TENON_CTS_JOIN_(check_, __LINE__)(const ::tenon::cts::Target& target);  \
  static const ::tenon::cts::Registrar TENON_CTS_JOIN_(                               \
      registrar_, __LINE__)({id, title, TENON_CTS_JOIN_(check_, __LINE__), seconds}); \
  static void TENON_CTS_JOIN_(check_, __LINE__)([[maybe_unused]] const ::tenon::cts::Target& target)
#define TENON_CHECK(id, title) TENON_CHECK_LIMIT(id, title, 60)

/// A rule that only the provider's author can check.
#define TENON_NOT_TESTABLE(id, why) \
  static const ::tenon::cts::Registrar TENON_CTS_JOIN_(registrar_, __LINE__)({id, why})
