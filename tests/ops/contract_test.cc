// The language in which kernels state what shapes they take.
#include "tenon/ep/contract.hpp"

#include <gtest/gtest.h>

namespace tenon::test {
namespace {

using ep::Contract;
using ep::Dims;

using Inputs = std::vector<std::optional<Dims>>;

Contract read(std::string_view text, std::optional<int64_t> attribute = std::nullopt) {
  return Contract(text, [=](std::string_view, int64_t otherwise) { return attribute.value_or(otherwise); });
}

std::string refusal(const Contract& contract, const Inputs& inputs) {
  const int count = static_cast<int>(inputs.size());
  return contract.check(count, [&](int i) -> std::optional<ep::DimsView> {
    if (i >= count || !inputs[static_cast<size_t>(i)]) return std::nullopt;
    return ep::DimsView(*inputs[static_cast<size_t>(i)]);
  });
}

int missing(std::string_view text, const std::vector<bool>& present) {
  const int count = static_cast<int>(present.size());
  return read(text).missing(count, [&](int i) { return i < count && present[static_cast<size_t>(i)]; });
}

TEST(Contract, AnInputThatIsNeededIsMissing) {
  EXPECT_EQ(missing("X: any; B?: any", {true}), -1);
  EXPECT_EQ(missing("X: any; B?: any", {true, false}), -1);
  EXPECT_EQ(missing("X: any; B?: any", {false, true}), 0);
  EXPECT_EQ(missing("X: any; B?: any", {}), 0);
  EXPECT_EQ(missing("X: any; B?: any; Y: any", {true, true}), 2);
  EXPECT_EQ(missing("none", {}), -1);
}

TEST(Contract, AVariadicInputLeftOutInTheMiddleIsMissing) {
  EXPECT_EQ(missing("X: any; Y...: any", {true}), -1);
  EXPECT_EQ(missing("X: any; Y...: any", {true, true, true}), -1);
  EXPECT_EQ(missing("X: any; Y...: any", {true, false, true}), 1);
  EXPECT_EQ(missing("X: any; Y...: any", {true, true, false, true}), 2);
  EXPECT_EQ(missing("X: any; Y...: any", {true, true, false}), 2);
}

TEST(Contract, SymbolsListsAndFactors) {
  const Contract conv = read("X: [N, C, D...]; W: [M, C/$group, K...] & rank X; B?: [M]", 2);
  EXPECT_EQ(refusal(conv, {Dims{1, 4, 5}, Dims{3, 2, 9}, Dims{3}}), "");
  EXPECT_EQ(refusal(conv, {Dims{1, 4, 5}, Dims{3, 2, 9}, std::nullopt}), "");
  EXPECT_NE(refusal(conv, {Dims{1, 4, 5}, Dims{3, 2}}), "");
  EXPECT_NE(refusal(conv, {Dims{1, 5, 5}, Dims{3, 2, 9}}), "");
  const std::string text = refusal(conv, {Dims{1, 4, 5}, Dims{3, 2, 9}, Dims{4}});
  EXPECT_NE(text.find("input 2 (B) has shape {4}"), std::string::npos) << text;
  EXPECT_NE(text.find("M = 3"), std::string::npos) << text;
}

TEST(Contract, Broadcasts) {
  const Contract all = read("X: ~; Y...: ~");
  EXPECT_EQ(refusal(all, {Dims{3, 1}, Dims{4}, Dims{1, 1, 1}}), "");
  EXPECT_NE(refusal(all, {Dims{3, 1}, Dims{4}, Dims{2, 1, 3}}), "");
  const Contract one = read("X: any; Y: ~ X");
  EXPECT_EQ(refusal(one, {Dims{3, 4}, Dims{4}}), "");
  EXPECT_NE(refusal(one, {Dims{4}, Dims{3, 4}}), "");
}

TEST(Contract, AlternativesAndBounds) {
  const Contract contract = read("X: rank 2..3; Y: [X.-1] | one; Z?: [<=X.0]");
  EXPECT_EQ(refusal(contract, {Dims{2, 3}, Dims{3}, Dims{1}}), "");
  EXPECT_EQ(refusal(contract, {Dims{2, 3}, Dims{1, 1}}), "");
  EXPECT_NE(refusal(contract, {Dims{2, 3}, Dims{2}}), "");
  EXPECT_NE(refusal(contract, {Dims{2, 3}, Dims{3}, Dims{3}}), "");
  EXPECT_NE(refusal(contract, {Dims{2}, Dims{2}}), "");
}

TEST(Contract, WhatIsNotKnownSatisfiesEverything) {
  const Contract contract = read("X: [N, 4]; Y: [N]");
  EXPECT_EQ(refusal(contract, {Dims{TENON_DIM_UNKNOWN, TENON_DIM_UNKNOWN}, Dims{7}}), "");
  EXPECT_EQ(refusal(contract, {Dims{2, 4}, Dims{TENON_DIM_UNKNOWN}}), "");
  EXPECT_NE(refusal(contract, {Dims{2, 4}, Dims{TENON_DIM_UNKNOWN, 1}}), "");
}

TEST(Contract, TextThatCannotBeReadIsAnError) {
  for (const char* text : {"X", "X: [", "X: even", "X: rank Y", "X: = Y", "X: any @place", "X: any Y: any"})
    EXPECT_THROW(read(text), ep::Error) << text;
}

}  // namespace
}  // namespace tenon::test
