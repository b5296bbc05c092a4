// Tensors from and for other libraries, in the layout of DLPack.
#include "host/api/dlpack.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

namespace dlpack = c_api::dlpack;
using dlpack::ManagedTensor;
using dlpack::VersionedTensor;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr dlpack::DataType kF32{dlpack::kFloat, 32, 1};

/// A tensor of another library. It counts the calls of its deleter, and outlives them.
template <class Managed>
struct Foreign {
  explicit Foreign(std::vector<int64_t> dims, std::vector<float> values = {})
      : shape(std::move(dims)), data(std::move(values)) {
    managed.context = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->context)->deleted; };
    tensor().data = data.empty() ? nullptr : data.data();
    tensor().device = {dlpack::kCpu, 0};
    tensor().rank = static_cast<int32_t>(shape.size());
    tensor().type = kF32;
    tensor().shape = shape.empty() ? nullptr : shape.data();
    if constexpr (std::is_same_v<Managed, VersionedTensor>) managed.version = {1, 0};
  }
  Foreign(const Foreign&) = delete;
  dlpack::Tensor& tensor() { return managed.tensor; }
  void set_strides(std::vector<int64_t> values) {
    strides = std::move(values);
    tensor().strides = strides.data();
  }
  Value take() { return Value::from_dlpack(&managed, std::is_same_v<Managed, VersionedTensor>); }
  /// The error of taking it.
  Error refusal() {
    try {
      take();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "the tensor was taken";
    return Error(0, TENON_OK, "", "");
  }

  Managed managed{};
  std::vector<int64_t> shape, strides;
  std::vector<float> data;
  int deleted = 0;
};
using New = Foreign<VersionedTensor>;
using Old = Foreign<ManagedTensor>;

template <class Tensor>
void expect_no_copy() {
  Tensor given({2, 3}, {1, 2, 3, 4, 5, 6});
  {
    const Value value = given.take();
    EXPECT_EQ(value.describe().data, given.data.data());
    EXPECT_EQ(value.dims(), given.shape);
    const Value second = value;
    EXPECT_EQ(given.deleted, 0);
  }
  EXPECT_EQ(given.deleted, 1);
}

TEST(DlPack, DenseMemoryIsNotCopiedAndGoesWithTheLastCount) {
  expect_no_copy<New>();
  expect_no_copy<Old>();
}

TEST(DlPack, ByteOffsetAndStridesOfADenseTensorNeedNoCopy) {
  New given({2, 1, 2}, {0, 1, 2, 3, 4});
  given.tensor().byte_offset = sizeof(float);
  given.set_strides({2, 99, 1});  // the stride of a dim of 1 means nothing
  const Value value = given.take();
  EXPECT_EQ(value.describe().data, given.data.data() + 1);
  EXPECT_THAT(value.data<float>(), ElementsAre(1, 2, 3, 4));
}

TEST(DlPack, OtherStridesAreCopiedAndTheDeleterIsCalledAtOnce) {
  const auto taken = [](std::vector<int64_t> dims, std::vector<int64_t> strides, uint64_t first = 0) {
    New given(std::move(dims), {1, 2, 3, 4, 5, 6});
    given.set_strides(std::move(strides));
    given.tensor().byte_offset = first * sizeof(float);
    const Value value = given.take();
    EXPECT_EQ(given.deleted, 1);
    const auto data = value.data<float>();
    return std::vector<float>(data.begin(), data.end());
  };
  EXPECT_THAT(taken({3, 2}, {1, 3}), ElementsAre(1, 4, 2, 5, 3, 6)) << "transposed";
  EXPECT_THAT(taken({2, 2}, {3, 1}), ElementsAre(1, 2, 4, 5)) << "part of each row";
  EXPECT_THAT(taken({3}, {-2}, 5), ElementsAre(6, 4, 2)) << "backwards";
  EXPECT_THAT(taken({2, 2}, {0, 1}), ElementsAre(1, 2, 1, 2)) << "one row, twice";
}

TEST(DlPack, ScalarsAndTensorsWithoutElements) {
  New scalar({}, {7});
  EXPECT_THAT(scalar.take().data<float>(), ElementsAre(7));
  EXPECT_EQ(scalar.deleted, 1);
  New empty({2, 0, 3});
  empty.set_strides({5, 6, 7});
  const Value value = empty.take();
  EXPECT_EQ(value.dims(), (std::vector<int64_t>{2, 0, 3}));
  EXPECT_TRUE(value.data<float>().empty());
}

TEST(DlPack, WhatIsRefusedIsDeletedOnce) {
  struct Row {
    const char* why;
    tenon_status code;
    void (*spoil)(New&);
  };
  const std::vector<Row> rows = {
      {"version 2.0", TENON_UNIMPLEMENTED,
       [](New& t) {
         t.managed.version = {2, 0};
       }},
      {"device type 2", TENON_UNIMPLEMENTED, [](New& t) { t.tensor().device.type = 2; }},
      {"device type 4", TENON_UNIMPLEMENTED, [](New& t) { t.tensor().device.type = 4; }},
      {"ndim is -1", TENON_INVALID_ARGUMENT, [](New& t) { t.tensor().rank = -1; }},
      {"ndim is 33", TENON_INVALID_ARGUMENT, [](New& t) { t.tensor().rank = 33; }},
      {"shape is NULL", TENON_INVALID_ARGUMENT, [](New& t) { t.tensor().shape = nullptr; }},
      {"dim is negative", TENON_INVALID_ARGUMENT, [](New& t) { t.shape[0] = -1; }},
      {"data is NULL", TENON_INVALID_ARGUMENT, [](New& t) { t.tensor().data = nullptr; }},
      {"4 lanes", TENON_UNIMPLEMENTED, [](New& t) { t.tensor().type.lanes = 4; }},
      {"code 2, 8 bits", TENON_UNIMPLEMENTED, [](New& t) { t.tensor().type.bits = 8; }},
      {"code 3, 32 bits", TENON_UNIMPLEMENTED, [](New& t) { t.tensor().type.code = 3; }},
      {"padded", TENON_UNIMPLEMENTED,
       [](New& t) {
         t.tensor().type = {dlpack::kFloat4E2M1FN, 4, 1};
         t.managed.flags = dlpack::kSubBytePadded;
       }},
      {"4 bits with strides", TENON_UNIMPLEMENTED,
       [](New& t) {
         t.tensor().type = {dlpack::kInt, 4, 1};
         t.set_strides({1, 2});
       }},
      {"strides reach", TENON_INVALID_ARGUMENT,
       [](New& t) {
         t.set_strides({INT64_MAX, 1});
       }},
  };
  for (const Row& row : rows) {
    New given({2, 3}, {1, 2, 3, 4, 5, 6});
    row.spoil(given);
    const Error error = given.refusal();
    EXPECT_THAT(error.message(), HasSubstr(row.why));
    EXPECT_EQ(error.code(), row.code) << row.why;
    EXPECT_EQ(given.deleted, 1) << row.why;
  }
  New given({1}, {1});
  EXPECT_EQ(api().value_from_dlpack(&given.managed, 1, nullptr, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(given.deleted, 1) << "out_value is NULL";
}

TEST(DlPack, ADeleterMayBeMissing) {
  New given({1}, {1});
  given.managed.deleter = nullptr;
  EXPECT_THAT(given.take().data<float>(), ElementsAre(1));
}

TEST(DlPack, EveryElementTypeGoesThereAndBack) {
  const std::vector<int64_t> dims = {2, 4};
  for (uint32_t dtype = 1; dtype <= TENON_FLOAT6E3M2; ++dtype) {
    if (dtype == TENON_STRING) continue;
    const Value value = Value::empty_tensor(dtype, dims);
    for (const bool versioned : {true, false}) {
      const Value back = Value::from_dlpack(value.to_dlpack(versioned), versioned);
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_EQ(back.dims(), dims);
      EXPECT_EQ(back.raw().data(), value.raw().data());
      EXPECT_EQ(back.raw().size(), value.raw().size());
    }
  }
}

TEST(DlPack, AnExportedTensorKeepsItsValue) {
  Foreign<VersionedTensor> given({2, 3}, {1, 2, 3, 4, 5, 6});
  auto* out = static_cast<VersionedTensor*>(given.take().to_dlpack());
  EXPECT_EQ(given.deleted, 0);
  EXPECT_EQ(out->version.major, 1u);
  EXPECT_EQ(out->flags, 0u);
  EXPECT_EQ(out->tensor.data, given.data.data());
  EXPECT_EQ(out->tensor.device.type, dlpack::kCpu);
  EXPECT_EQ(out->tensor.rank, 2);
  EXPECT_EQ(std::vector<int64_t>(out->tensor.shape, out->tensor.shape + 2), given.shape);
  EXPECT_EQ(std::vector<int64_t>(out->tensor.strides, out->tensor.strides + 2), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(out->tensor.byte_offset, 0u);
  out->deleter(out);
  EXPECT_EQ(given.deleted, 1);
}

TEST(DlPack, WhatHasNoFormThereIsRefused) {
  const Value strings = Value::strings({1}, {"a"});
  void* out = nullptr;
  EXPECT_EQ(api().value_to_dlpack(strings.get(), 1, &out, nullptr), TENON_UNIMPLEMENTED);
  tenon_value* element = strings.get();
  tenon_value* sequence = nullptr;
  ASSERT_EQ(api().value_make(TENON_KIND_SEQUENCE, TENON_STRING, &element, 1, &sequence, nullptr), TENON_OK);
  EXPECT_EQ(api().value_to_dlpack(sequence, 1, &out, nullptr), TENON_INVALID_ARGUMENT);
  api().value_release(sequence);
  EXPECT_EQ(out, nullptr);
}

TEST(DlPack, AReadOnlyTensorIsAnInputAndNoOutput) {
  New given({2}, {1, -2});
  given.managed.flags = dlpack::kReadOnly;
  const Value value = given.take();
  void* out = nullptr;
  EXPECT_EQ(api().value_to_dlpack(value.get(), 0, &out, nullptr), TENON_FAILED_PRECONDITION);
  auto* versioned = static_cast<VersionedTensor*>(value.to_dlpack());
  EXPECT_EQ(versioned->flags, uint64_t{dlpack::kReadOnly});
  versioned->deleter(versioned);

  GraphMaker m;
  m.output(m.node("Relu", {m.input("x", GraphMaker::f32({2}))}), "y");
  const std::string bytes = m.bytes();
  Config config;
  config.set("discovery.search", "[\"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"cpu\"]");
  Session session = Session::from_memory(bytes.data(), bytes.size(), &config);
  EXPECT_THAT(session.run({{"x", value}})["y"].data<float>(), ElementsAre(1, 0));
  std::vector<NamedValue> outputs = {{"y", value}};
  try {
    session.run({{"x", value}}, &outputs);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("'y' is read-only"));
  }
  EXPECT_THAT(given.data, ElementsAre(1, -2));
}

}  // namespace
}  // namespace tenon::test
