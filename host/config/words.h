// The words of each enum setting, each beside its enumerator, so that the order does not matter.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "host/config/config.h"

namespace tenon::config {

/// A word that a config file may hold, or a known word that is refused.
struct Word {
  std::string_view text;
  int value = 0;
  std::string_view refusal;  // not empty: why the word cannot be used, and the cure
};

template <class Enum>
constexpr Word word(std::string_view text, Enum value) {
  return {text, static_cast<int>(value), {}};
}
constexpr Word refused(std::string_view text, std::string_view reason_and_cure) {
  return {text, -1, reason_and_cure};
}

/// The words of an enum. Specialised for each enum that a setting uses.
template <class Enum>
inline constexpr Word kWords[] = {{}};
template <>
inline constexpr Word kWords<Trust>[] = {
    word("none", Trust::kNone), word("owner", Trust::kOwner), word("hash", Trust::kHash),
    refused("signature", "signatures cannot be checked in this version; set it to \"hash\"")};
template <>
inline constexpr Word kWords<Scan>[] = {word("on", Scan::kOn), word("off", Scan::kOff)};
template <>
inline constexpr Word kWords<OnFailure>[] = {word("error", OnFailure::kError),
                                             word("next", OnFailure::kNext)};
template <>
inline constexpr Word kWords<PartitionMode>[] = {word("measured", PartitionMode::kMeasured),
                                                 word("order", PartitionMode::kOrder),
                                                 word("cost", PartitionMode::kCost)};
template <>
inline constexpr Word kWords<Isolation>[] = {
    word("inproc", Isolation::kInProcess),
    refused(
        "process",
        "a provider cannot run in a process of its own in this version; set it to \"inproc\", and run the "
        "application in a separate process where a crash must not spread")};
template <>
inline constexpr Word kWords<OnLost>[] = {word("restart", OnLost::kRestart), word("next", OnLost::kNext),
                                          word("fail", OnLost::kFail)};
template <>
inline constexpr Word kWords<Precision>[] = {word("exact", Precision::kExact), word("fast", Precision::kFast),
                                             word("bf16", Precision::kBf16), word("fp16", Precision::kFp16)};
template <>
inline constexpr Word kWords<ExternalData>[] = {word("deny", ExternalData::kDeny),
                                                word("beneath-model", ExternalData::kBeneathModel)};
template <>
inline constexpr Word kWords<UpgradeMode>[] = {
    word("pin", UpgradeMode::kPin), word("next-session", UpgradeMode::kNextSession),
    refused(
        "migrate",
        "a session cannot move to another provider version in this version; set it to \"next-session\" and "
        "make a new session")};

/// The word of an enumerator; empty when there is none.
template <class Enum>
constexpr std::string_view word_of(Enum value) {
  for (const Word& each : kWords<Enum>) {
    if (each.refusal.empty() && each.value == static_cast<int>(value)) return each.text;
  }
  return {};
}

}  // namespace tenon::config
