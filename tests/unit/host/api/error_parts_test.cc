// What error_part finds in the errors of calls.
#include <gmock/gmock.h>

#include <cstring>

#include "host/base/error_struct.h"
#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

std::string part(const tenon_error& error, uint32_t which) {
  return as_string(api().error_part(&error, which));
}

tenon_error error_of(const Status& status) {
  tenon_error error = make_error();
  give_status(status, &error);
  return error;
}

Config cpu() {
  Config config;
  config.set("discovery.search", "[\"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"cpu\"]");
  return config;
}

/// y = x[i]
std::string gathering(const std::string& name) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({3}));
  const auto i = m.input("i", GraphMaker::i64({1}));
  m.output(m.node("Gather", {x, i}, {}, name), "y");
  return m.bytes();
}

tenon_error error_of_run(const std::string& bytes) {
  const Config config = cpu();
  const Session session = Session::from_memory(bytes.data(), bytes.size(), &config);
  const Value x = Value::tensor<float>({3}, {1, 2, 3}), i = Value::tensor<int64_t>({1}, {7});
  const tenon_named_value inputs[] = {{as_str("x"), x.get()}, {as_str("i"), i.get()}};
  tenon_value* output = nullptr;
  tenon_error error = make_error();
  EXPECT_NE(api().run(session.get(), nullptr, inputs, 2, nullptr, 0, &output, &error), TENON_OK);
  return error;
}

TEST(ErrorParts, ARunNamesModelProviderNodeAndOperator) {
  const tenon_error error = error_of_run(gathering("stem: conv (1)"));
  EXPECT_EQ(part(error, TENON_ERROR_PART_MODEL), "model in memory");
  EXPECT_EQ(part(error, TENON_ERROR_PART_NODE), "stem: conv (1)");
  EXPECT_EQ(part(error, TENON_ERROR_PART_OPERATOR), "Gather");
  EXPECT_THAT(part(error, TENON_ERROR_PART_PROVIDER), MatchesRegex("cpu [0-9]+[.][0-9]+[.][0-9]+"));
  EXPECT_EQ(part(error, TENON_ERROR_PART_REASON), error.message);
  EXPECT_EQ(part(error, TENON_ERROR_PART_REFUSAL), "");
  EXPECT_EQ(part(error, TENON_ERROR_PART_CAUSE), "");
  EXPECT_EQ(part(error, TENON_ERROR_PART_CURE), "");
}

TEST(ErrorParts, TheInnermostPlaceOfEachKindCounts) {
  const Status status = invalid_input("bad")
                            .with_context("node 'inner' (com.acme.Fft)")
                            .with_context("node 'loop' (Loop), body")
                            .with_context("provider 'acme 2.0.1'")
                            .with_context("model '/a: b/m.onnx'");
  const tenon_error error = error_of(status);
  EXPECT_EQ(part(error, TENON_ERROR_PART_MODEL), "/a: b/m.onnx");
  EXPECT_EQ(part(error, TENON_ERROR_PART_NODE), "inner");
  EXPECT_EQ(part(error, TENON_ERROR_PART_OPERATOR), "com.acme.Fft");
  EXPECT_EQ(part(error, TENON_ERROR_PART_PROVIDER), "acme 2.0.1");
}

TEST(ErrorParts, APlaceWithoutNodeOrProviderGivesNothing) {
  const tenon_error error = error_of(invalid_input("bad: node 'x' (Add)").with_context("input 'node'"));
  for (const uint32_t which :
       {TENON_ERROR_PART_MODEL, TENON_ERROR_PART_NODE, TENON_ERROR_PART_OPERATOR, TENON_ERROR_PART_PROVIDER})
    EXPECT_EQ(part(error, which), "") << which;
}

TEST(ErrorParts, ARefusalHasCodeReasonCauseAndCure) {
  Config config = cpu();
  config.set("discovery.deny", "[\"cpu\"]");
  const std::string bytes = gathering("g");
  tenon_error error = make_error();
  tenon_session* session = nullptr;
  EXPECT_NE(api().session_create_from_memory(bytes.data(), bytes.size(), 0, as_str(""), config.get(), nullptr,
                                             &session, &error),
            TENON_OK);
  EXPECT_EQ(api().error_kind(&error), uint32_t{TENON_FAILURE_PROVIDER_REFUSED}) << error.message;
  EXPECT_EQ(part(error, TENON_ERROR_PART_REFUSAL), "E_DISABLED");
  EXPECT_EQ(part(error, TENON_ERROR_PART_PROVIDER), "cpu " + as_string(api().runtime_version()));
  const std::string reason = part(error, TENON_ERROR_PART_REASON),
                    cause = part(error, TENON_ERROR_PART_CAUSE), cure = part(error, TENON_ERROR_PART_CURE);
  EXPECT_NE(cause, "");
  EXPECT_NE(cure, "");
  EXPECT_EQ("E_DISABLED: " + reason + ". Cause: " + cause + ". Cure: " + cure, error.message);
}

TEST(ErrorParts, CauseAndCureOutsideOfARefusalBelongToTheReason) {
  const tenon_error error = error_of(not_found("none can be used\n  a: E_X: no. Cause: b. Cure: c"));
  EXPECT_EQ(part(error, TENON_ERROR_PART_REASON), error.message);
  EXPECT_EQ(part(error, TENON_ERROR_PART_CURE), "");
}

TEST(ErrorParts, ALongPlaceKeepsItsNodeAndALongMessageItsCure) {
  const std::string longest(400, 'd');
  const Status status =
      Status(StatusCode::kFailedPrecondition, std::string(3000, 'r'), ErrorKind::kProviderRefused)
          .with_cure("it is long", "make it shorter")
          .with_refusal("E_LOAD")
          .with_context("node 'last' (Add)")
          .with_context("provider 'acme 1.0.0'")
          .with_context("model '" + longest + "'");
  const tenon_error error = error_of(status);
  EXPECT_THAT(error.where, StartsWith("model 'ddd"));
  EXPECT_EQ(std::strlen(error.where), sizeof(error.where) - 1);
  EXPECT_EQ(part(error, TENON_ERROR_PART_MODEL), "");
  EXPECT_EQ(part(error, TENON_ERROR_PART_PROVIDER), "acme 1.0.0");
  EXPECT_EQ(part(error, TENON_ERROR_PART_NODE), "last");
  EXPECT_EQ(std::strlen(error.message), sizeof(error.message) - 1);
  EXPECT_THAT(error.message, HasSubstr("rrr... [cut: 3050 bytes in all]. Cause: it"));
  EXPECT_THAT(error.message, EndsWith(". Cause: it is long. Cure: make it shorter"));
  EXPECT_EQ(part(error, TENON_ERROR_PART_CURE), "make it shorter");
}

TEST(ErrorParts, ALongChainOfPlacesKeepsItsFileAndItsInnermostNode) {
  Status status = Status(StatusCode::kInvalidArgument, "too deep", ErrorKind::kInvalidModel);
  for (int i = 300; i > 0; --i)
    status = std::move(status).with_context(str_cat("node 'call_", i, "' (local.f)"));
  const tenon_error error = error_of(std::move(status).with_context("model 'deep.onnx'"));
  EXPECT_THAT(error.where, StartsWith("model 'deep.onnx': node 'call_1' (local.f): "));
  EXPECT_THAT(error.where, HasSubstr("... [cut: "));
  EXPECT_EQ(part(error, TENON_ERROR_PART_MODEL), "deep.onnx");
  EXPECT_EQ(part(error, TENON_ERROR_PART_NODE), "call_300");
}

TEST(ErrorParts, CutsFallBetweenCharacters) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "\xC3\xA4";
  for (const char* shift : {"", "x"}) {
    const tenon_error error = error_of(invalid_input(many, shift).with_context(str_cat(many, shift)));
    for (const std::string& text : {std::string(error.where), std::string(error.message)}) {
      const size_t mark = text.find("... [cut: "), end = text.find(" bytes in all]");
      ASSERT_NE(mark, std::string::npos);
      const std::string kept = text.substr(0, mark) + text.substr(std::min(text.size(), end + 18));
      for (size_t i = 0; i < kept.size(); ++i) {
        if (kept[i] == '\xC3')
          ASSERT_EQ(kept[++i], '\xA4');
        else
          EXPECT_EQ(kept[i], 'x') << text;
      }
    }
  }
}

TEST(ErrorParts, AMissingFileIsNotAnInvalidModel) {
  tenon_error error = make_error();
  tenon_session* session = nullptr;
  EXPECT_EQ(api().session_create(as_str("/nowhere/m.onnx"), cpu().get(), nullptr, &session, &error),
            TENON_NOT_FOUND);
  EXPECT_EQ(api().error_kind(&error), uint32_t{TENON_FAILURE_INVALID_INPUT});
  EXPECT_EQ(part(error, TENON_ERROR_PART_MODEL), "/nowhere/m.onnx");
  error = make_error();
  EXPECT_EQ(api().session_create_from_memory("abc", 3, 0, as_str(""), cpu().get(), nullptr, &session, &error),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(api().error_kind(&error), uint32_t{TENON_FAILURE_INVALID_MODEL});
}

TEST(ErrorParts, NothingIsReadOfAStructThatIsTooSmallOrOfNoFailure) {
  tenon_error error = error_of(invalid_input("bad").with_context("node 'x' (Add)"));
  EXPECT_EQ(part(error, TENON_ERROR_PART_NODE), "x");
  EXPECT_EQ(part(error, 99), "");
  error.struct_size = 16;
  EXPECT_EQ(part(error, TENON_ERROR_PART_NODE), "");
  error = make_error();
  EXPECT_EQ(part(error, TENON_ERROR_PART_NODE), "");
  EXPECT_EQ(as_string(api().error_part(nullptr, TENON_ERROR_PART_NODE)), "");
}

}  // namespace
}  // namespace tenon::test
