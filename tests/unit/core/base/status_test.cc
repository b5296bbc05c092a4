#include "core/base/status.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace tenon {
namespace {

Status fail_if(bool fail) { return fail ? not_found("no file '", "m.onnx", "'") : ok_status(); }

Status relay(bool fail, bool* went_on) {
  RETURN_IF_ERROR(fail_if(fail));
  *went_on = true;
  return ok_status();
}

TEST(Status, OkIsOnePointerAndHoldsNothing) {
  Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(sizeof(Status), sizeof(void*));
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_EQ(status.kind(), ErrorKind::kNone);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.to_string(), "OK");
}

TEST(Status, AnOkCodeDropsItsMessage) { EXPECT_TRUE(Status(StatusCode::kOk, "ignored").ok()); }

TEST(Status, MakersSetCodeAndKind) {
  EXPECT_EQ(invalid_model("x").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(invalid_model("x").kind(), ErrorKind::kInvalidModel);
  EXPECT_EQ(invalid_input("x").kind(), ErrorKind::kInvalidInput);
  EXPECT_EQ(config_error("x").kind(), ErrorKind::kConfig);
  EXPECT_EQ(unsupported("x").code(), StatusCode::kUnimplemented);
  EXPECT_EQ(limit_exceeded("x").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(limit_exceeded("x").kind(), ErrorKind::kLimitExceeded);
  EXPECT_EQ(out_of_memory("x").kind(), ErrorKind::kOutOfMemory);
  EXPECT_EQ(internal_error("x").kind(), ErrorKind::kInternal);
}

TEST(Status, ContextGrowsOutwardsAndPrintsInnermostLast) {
  Status status =
      invalid_model("rank is 3, not 4").with_context("node 'conv1' (Conv)").with_context("model 'm.onnx'");
  EXPECT_EQ(status.where(), "model 'm.onnx': node 'conv1' (Conv)");
  EXPECT_EQ(status.to_string(), "INVALID_ARGUMENT: model 'm.onnx': node 'conv1' (Conv): rank is 3, not 4");
}

TEST(Status, ContextAndKindLeaveOkAlone) {
  EXPECT_TRUE(
      ok_status().with_context("model 'm.onnx'").with_kind(ErrorKind::kInternal).with_refusal("E_X").ok());
}

TEST(Status, RefusalIsPartOfTheText) {
  Status status = Status(StatusCode::kFailedPrecondition, "the library changed", ErrorKind::kProviderRefused)
                      .with_refusal("E_SHA_MISMATCH");
  EXPECT_EQ(status.refusal(), "E_SHA_MISMATCH");
  EXPECT_EQ(status.to_string(), "FAILED_PRECONDITION: E_SHA_MISMATCH: the library changed");
}

TEST(Status, ACureIsPartOfTheTextAndFoundInIt) {
  const Status plain = invalid_input("x. Cure: none");
  EXPECT_EQ(plain.reason(), "x. Cure: none");
  EXPECT_EQ(plain.cure(), "");
  const Status cured = invalid_input("the file is gone").with_cure("it was removed", "install it. Cure: all");
  EXPECT_EQ(cured.message(), "the file is gone. Cause: it was removed. Cure: install it. Cure: all");
  EXPECT_EQ(cured.reason(), "the file is gone");
  EXPECT_EQ(cured.cure(), "install it. Cure: all");
  const Status noted = Status(cured).with_cure("another", "too late").with_note(" (told)");
  EXPECT_EQ(noted.cure(), "install it. Cure: all");
  EXPECT_EQ(noted.reason(), "the file is gone");
  EXPECT_EQ(ok_status().with_cure("a", "b").cure(), "");
}

TEST(Status, CopyIsDeepAndMoveLeavesOk) {
  Status first = not_found("a");
  Status second = first;
  second = std::move(second).with_context("place");
  EXPECT_EQ(first.where(), "");
  EXPECT_EQ(second.where(), "place");
  Status third = std::move(second);
  EXPECT_EQ(third.message(), "a");
  first = third;
  EXPECT_EQ(first.where(), "place");
}

TEST(Status, ReturnIfErrorStopsOnlyOnFailure) {
  bool went_on = false;
  EXPECT_TRUE(relay(false, &went_on).ok());
  EXPECT_TRUE(went_on);
  went_on = false;
  Status status = relay(true, &went_on);
  EXPECT_FALSE(went_on);
  EXPECT_EQ(status.message(), "no file 'm.onnx'");
}

TEST(Status, EveryCodeHasItsOwnName) {
  std::set<std::string_view> codes;
  for (int i = 0; i <= 16; ++i) codes.insert(status_code_name(static_cast<StatusCode>(i)));
  EXPECT_EQ(codes.size(), 17u);
  EXPECT_EQ(status_code_name(static_cast<StatusCode>(99)), "UNKNOWN");
}

TEST(StrCat, JoinsTextNumbersAndCharacters) {
  const char* pointer = "p";
  EXPECT_EQ(str_cat("a", std::string("b"), std::string_view("c"), 'd', pointer), "abcdp");
  EXPECT_EQ(str_cat(-1, ' ', 2u, ' ', 1.5, ' ', 1.5f), "-1 2 1.5 1.5");
  EXPECT_EQ(str_cat(std::numeric_limits<long long>::min()), "-9223372036854775808");
  EXPECT_EQ(str_cat(std::numeric_limits<unsigned long long>::max()), "18446744073709551615");
  EXPECT_EQ(str_cat(StatusCode::kNotFound), "5");
  EXPECT_EQ(str_cat(), "");
}

}  // namespace
}  // namespace tenon
