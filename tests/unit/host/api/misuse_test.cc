// Wrong arguments to the functions of tenon.h: every pointer NULL in turn, and what else an application may get wrong.
#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/paths.h"
#include "tests/unit/host/api/misuse_rows.h"

namespace tenon::test {
namespace {

using misuse::Good;
using misuse::Row;
using misuse::rows;
using testing::HasSubstr;

TEST(ApiMisuse, WrongPointersDimsAndRanksAreRefusedByName) {
  for (const Row& row : rows()) {
    Good good;
    tenon_error error{};
    error.struct_size = sizeof(error);
    EXPECT_EQ(row.call(api(), good, &error), TENON_INVALID_ARGUMENT) << row.function << " " << row.what;
    EXPECT_THAT(error.message, HasSubstr(row.what)) << row.function;
    EXPECT_EQ(api().error_kind(&error) == TENON_FAILURE_INVALID_INPUT, *row.what != '\0')
        << row.function << " " << row.what;
    EXPECT_EQ(row.call(api(), good, nullptr), TENON_INVALID_ARGUMENT)
        << row.function << " without an error struct";
  }
}

// Functions that take NULL and do nothing. A new function is in one of the two lists.
TEST(ApiMisuse, EveryFunctionHasARow) {
  std::set<std::string> known;
  for (const Row& row : rows()) known.insert(row.function);
  const tenon_api& t = api();
  const std::map<std::string, std::function<void()>> tolerant = {
      {"runtime_version", [&] { t.runtime_version(); }},
      {"error_kind", [&] { EXPECT_EQ(t.error_kind(nullptr), uint32_t{TENON_FAILURE_NONE}); }},
      {"error_part", [&] { EXPECT_EQ(t.error_part(nullptr, TENON_ERROR_PART_NODE).size, 0u); }},
      {"value_is_read_only", [&] { EXPECT_EQ(t.value_is_read_only(nullptr), 0u); }},
      {"operators_release", [&] { t.operators_release(nullptr); }},
      {"call_value", [&] { EXPECT_EQ(t.call_value(nullptr, 0), nullptr); }},
      {"call_is_stopped", [&] { EXPECT_EQ(t.call_is_stopped(nullptr), 0u); }},
      {"text_get", [&] { EXPECT_EQ(t.text_get(nullptr).size, 0u); }},
      {"text_release", [&] { t.text_release(nullptr); }},
      {"config_release", [&] { t.config_release(nullptr); }},
      {"session_release", [&] { t.session_release(nullptr); }},
      {"session_input_count", [&] { EXPECT_EQ(t.session_input_count(nullptr), 0u); }},
      {"session_instance_count", [&] { EXPECT_EQ(t.session_instance_count(nullptr), 0u); }},
      {"session_state_count", [&] { EXPECT_EQ(t.session_state_count(nullptr), 0u); }},
      {"state_release", [&] { t.state_release(nullptr); }},
      {"session_metadata_count", [&] { EXPECT_EQ(t.session_metadata_count(nullptr), 0u); }},
      {"providers_count", [&] { EXPECT_EQ(t.providers_count(nullptr), 0u); }},
      {"providers_release", [&] { t.providers_release(nullptr); }},
      {"session_output_count", [&] { EXPECT_EQ(t.session_output_count(nullptr), 0u); }},
      {"value_retain", [&] { t.value_retain(nullptr); }},
      {"value_release", [&] { t.value_release(nullptr); }},
      {"value_kind", [&] { EXPECT_EQ(t.value_kind(nullptr), uint32_t{TENON_KIND_NONE}); }},
      {"value_size", [&] { EXPECT_EQ(t.value_size(nullptr), 0u); }},
      {"value_element", [&] { EXPECT_EQ(t.value_element(nullptr, 0), nullptr); }},
      {"cancel_trigger", [&] { t.cancel_trigger(nullptr); }},
      {"cancel_release", [&] { t.cancel_release(nullptr); }},
      {"slots_release", [&] { t.slots_release(nullptr); }},
      {"pending_cancel", [&] { t.pending_cancel(nullptr); }},
      {"pending_release", [&] { t.pending_release(nullptr); }},
      {"log_set", [&] { t.log_set(nullptr, nullptr); }},
  };
  for (const auto& [name, call] : tolerant) {
    known.insert(name);
    call();
  }
  std::ifstream file(source_dir() + "/host/include/tenon/tenon.h");
  std::stringstream text;
  text << file.rdbuf();
  std::string header = text.str();
  header.erase(0, header.find("typedef struct tenon_api {"));
  const std::regex function("\\(\\*([a-z_]+)\\)\\(");
  size_t count = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), function), end; at != end; ++at, ++count) {
    EXPECT_EQ(known.count((*at)[1]), 1u) << (*at)[1] << " has no row";
  }
  EXPECT_EQ(count, (sizeof(tenon_api) - offsetof(tenon_api, runtime_version)) / sizeof(void*));
}

}  // namespace
}  // namespace tenon::test
