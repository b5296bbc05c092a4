// The table of operators itself: what each states beside its registration.
#include <gtest/gtest.h>

#include "plugins/onednn/compiler/operation.h"

namespace tenon::onednn {
namespace {

TEST(OneDnnOperators, EachStatesWhatShapesItTakes) {
  const auto otherwise = [](std::string_view, int64_t value) { return value; };
  ASSERT_GT(OperatorRegistry::get().all().size(), 70u);
  for (const OperatorEntry* entry : OperatorRegistry::get().all()) {
    const std::string where = cat(entry->spec.op_type, " since ", entry->spec.since);
    try {
      EXPECT_FALSE(ep::Contract(entry->spec.contract, otherwise).inputs().empty())
          << where << " states no contract";
    } catch (const ep::Error& e) {
      ADD_FAILURE() << where << ": " << e.text;
    }
  }
}

TEST(OneDnnOperators, VersionsOfOneOperatorDoNotOverlap) {
  EXPECT_EQ(OperatorRegistry::get().conflict(), "");
}

}  // namespace
}  // namespace tenon::onednn
