// Hostile rows: every row of every operator table with one input spoiled, on every provider. An input gets other
// dims, indices that lie outside, sizes that nobody has memory for, or is left out. What the kernel's contract
// excludes has to be an error; all else an error, or outputs that come from the inputs and from nothing around them.
// Memory lies before pages that nobody may touch, and the rows run in a process of their own, so that a crash is the
// failure of its row.
//
//   ops_tests --gtest_filter='hostile/*'                                       all of them
//   TENON_HOSTILE_VARIANT=17 ops_tests --gtest_filter=hostile/cpu/Conv_11.bias   one, in this process, for a debugger
#pragma once

#include "tests/ops/kernel_list.h"
#include "tests/ops/op_cases.h"

namespace tenon::test {

/// Of one spoiled row.
struct Variant {
  std::string text;  // what was done to it
  NodeCase node;
  std::string must_fail;  // why it has to be an error; empty when it need not
};

/// All variants of a row, the same ones in the same order in every process.
std::vector<Variant> variants_of(const NodeCase& row, const std::vector<ep::Contract>& contracts);

/// What is wrong with the provider's answer to a variant; empty when nothing is. Memory that a request may ask for is
/// limited to kHostileMemory.
std::string try_variant(MiniHost& host, const Variant& variant);
inline constexpr uint64_t kHostileMemory = uint64_t{256} << 20;

/// Whether this process is one that hostile rows run in: providers are given a limit of memory there.
bool is_hostile_process();

/// Registers the test of what a provider's kernels state.
void add_contracts_test(MiniHost& host);

/// Registers the test of one row, the `number`th of all tables.
void add_hostile_row(MiniHost& host, const OpTable& table, const OpCase& row, size_t number);

}  // namespace tenon::test
