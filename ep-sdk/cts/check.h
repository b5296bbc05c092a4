// What a check is, how it says no, and the list of all of them.
//
// A check is a function that looks at one provider. It runs in a process of its own, so it may leave
// whatever it likes behind, and a crash in it is a result. It throws Failed or NotApplicable; returning means
// passed.
#pragma once

#include <string>
#include <vector>

#include "ep-sdk/cts/child.h"
#include "ep-sdk/cts/outcome.h"
#include "ep-sdk/cts/target.h"

namespace tenon::cts {

struct Check {
  std::string id;     // "R17" for a rule of RULES.md, "hygiene.note" for the others
  std::string title;  // what holds when it passes; for what cannot be tested, why
  void (*body)(const Target& target) = nullptr;  // NULL: not testable from outside
  int seconds = 60;                              // after which the process is ended
};

/// In the order in which they run: hygiene, negotiation, lifecycle, rules by number, injection, operators.
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

/// A rule that only the provider's author can know to be kept.
#define TENON_NOT_TESTABLE(id, why) \
  static const ::tenon::cts::Registrar TENON_CTS_JOIN_(registrar_, __LINE__)({id, why})
