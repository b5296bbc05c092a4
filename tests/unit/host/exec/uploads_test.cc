// Constants in memory of devices.
#include "host/exec/uploads.h"

#include <gmock/gmock.h>

#include "host/device/transfer.h"
#include "tests/unit/host/device/fake_provider.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::runtime {
namespace {

using tenon::test::GraphMaker;
using testing::HasSubstr;

TEST(Uploads, OneForAllThatUseItAtOnce) {
  const auto instance = *test::make_accelerator();
  const MemoryDomain& domain = *instance->device().domains()[0];
  const MemoryDomain& other = *instance->device().staging();
  const ir::TensorPtr tensor = GraphMaker::floats({3}, {1, 2, 3});
  ConstantPool constants;
  Uploads uploads;
  UploadPtr first = *uploads.get(tensor, domain, constants);
  EXPECT_EQ(*uploads.get(tensor, domain, constants), first);
  EXPECT_NE(*uploads.get(tensor, other, constants), first);
  EXPECT_NE(*uploads.get(GraphMaker::floats({3}, {1, 2, 3}), domain, constants), first);
  std::vector<float> back(3);
  ASSERT_TRUE(copy(Place::host(back.data()), Place::of(first->buffer, 0), 12).ok());
  EXPECT_THAT(back, testing::ElementsAre(1, 2, 3));
  const std::weak_ptr<const Upload> gone = first;
  first.reset();
  EXPECT_TRUE(gone.expired()) << "freed with its last user";
  EXPECT_TRUE(uploads.get(tensor, domain, constants).ok());
}

TEST(Uploads, WithoutElements) {
  const auto instance = *test::make_accelerator();
  ConstantPool constants;
  Uploads uploads;
  const auto empty = uploads.get(GraphMaker::floats({0}, {}), *instance->device().domains()[0], constants);
  ASSERT_TRUE(empty.ok()) << empty.status().to_string();
  EXPECT_FALSE((*empty)->buffer);
}

TEST(Uploads, ABufferHoldsOnlySoMuch) {
  const auto instance = *test::make_accelerator("npu:1");
  const MemoryDomain& domain = *instance->device().domains()[0];
  ASSERT_NE(domain.max_buffer_bytes, 0u);
  const auto count = static_cast<int64_t>(domain.max_buffer_bytes / sizeof(float) + 1);
  ConstantPool constants;
  Uploads uploads;
  const auto made = uploads.get(GraphMaker::floats({count}, std::vector<float>(static_cast<size_t>(count))),
                                domain, constants);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind(), ErrorKind::kOutOfMemory);
  EXPECT_THAT(made.error().to_string(), HasSubstr(str_cat("holds at most ", domain.max_buffer_bytes)));
}

}  // namespace
}  // namespace tenon::runtime
