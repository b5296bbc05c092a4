// The table of operators itself: what each states beside its registration.
#include <gtest/gtest.h>

#include "plugins/onednn/compiler/operation.h"

namespace tenon::onednn {
namespace {

TEST(OneDnnOperators, EachStatesWhatShapesItTakes) {
  const auto otherwise = [](std::string_view, int64_t value) { return value; };
  ASSERT_GT(all_operators().size(), 70u);
  for (const OperatorEntry* entry : all_operators()) {
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
  const std::vector<const OperatorEntry*> all = all_operators();
  for (size_t i = 1; i < all.size(); ++i) {
    const OperatorSpec &a = all[i - 1]->spec, &b = all[i]->spec;
    EXPECT_TRUE(a.op_type != b.op_type || a.domain != b.domain || a.until < b.since) << a.op_type;
  }
}

}  // namespace
}  // namespace tenon::onednn
