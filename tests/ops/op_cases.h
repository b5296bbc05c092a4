// Tables of operator cases. One row is one test, "<provider>.<Op>_<version>.<name>"; every provider that is
// built runs it three ways: with run-time inputs, with all inputs but the first as initializers, and with
// outputs laid over inputs where the provider allows it. A provider that does not complete the others (see the
// manifest's traits) runs the rows that it claims, which claimed_<provider>.txt lists; of OP_FAILS it has to fail, in words
// of its own. That which completes the others is watched too: from its third Run on a kernel takes no memory (rule R41).
//
// The host lowers some operators to others if no provider claims them. Their rows are in OP_CASES_LOWERED_IN and OP_FAILS_LOWERED_IN; a
// provider that completes the others runs those that it claims, which claimed_<provider>.txt lists too.
//
//   OP_CASES(Relu, 6, {{"basic", {f32({2, 2}, {-1, 0, 2, -3})}, {f32({2, 2}, {0, 0, 2, 0})}},
//                      {"int_attr", {...}, {...}, {{"axis", int64_t{1}}}}})
//   OP_FAILS(Div, 7, {{"shapes", {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}, {f32({2}, {})}, {}, "do not
//   broadcast"}})
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ep-sdk/cts/compare.h"
#include "ep-sdk/cts/mini_host.h"

namespace tenon::test {

using namespace cts;  // the values and the host that tables are written with
using Ints = std::vector<int64_t>;

struct OpCase {
  std::string name;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;  // expected; for OP_FAILS only their types
  std::vector<Attribute> attributes = {};
  std::string error = {};  // OP_FAILS: a part of the message
};

struct OpTable {
  std::string op_type;
  std::string domain;
  int since_version;
  const char* file;
  int line;
  bool is_lowered = false;  // by the host, where no provider claims it
};

/// Registers one test per row and provider.
bool add_op_cases(const OpTable& table, bool fails, std::vector<OpCase> cases);

}  // namespace tenon::test

#define TENON_OP_JOIN2_(a, b) a##b
#define TENON_OP_JOIN_(a, b) TENON_OP_JOIN2_(a, b)
#define TENON_OP_TABLE_(domain, op, since, fails, lowered, ...)                  \
  [[maybe_unused]] static const bool TENON_OP_JOIN_(tenon_op_table_, __LINE__) = \
      ::tenon::test::add_op_cases({op, domain, since, __FILE__, __LINE__, lowered}, fails, __VA_ARGS__);

#define OP_CASES(Op, since, ...) TENON_OP_TABLE_("", #Op, since, false, false, __VA_ARGS__)
#define OP_FAILS(Op, since, ...) TENON_OP_TABLE_("", #Op, since, true, false, __VA_ARGS__)
#define OP_CASES_IN(domain, Op, since, ...) TENON_OP_TABLE_(domain, #Op, since, false, false, __VA_ARGS__)
#define OP_FAILS_IN(domain, Op, since, ...) TENON_OP_TABLE_(domain, #Op, since, true, false, __VA_ARGS__)
#define OP_CASES_LOWERED_IN(domain, Op, since, ...) \
  TENON_OP_TABLE_(domain, #Op, since, false, true, __VA_ARGS__)
#define OP_FAILS_LOWERED_IN(domain, Op, since, ...) \
  TENON_OP_TABLE_(domain, #Op, since, true, true, __VA_ARGS__)
