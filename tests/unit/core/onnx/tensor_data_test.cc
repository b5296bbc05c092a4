// Initializers in every form that ONNX stores them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/onnx/onnx.h"
#include "tests/unit/core/onnx/message.h"

namespace tenon::onnx {
namespace {

using namespace test;  // a vocabulary for messages
using testing::HasSubstr;

Result<ir::TensorPtr> read(const Message& tensor, uint32_t field = 5, const Limits& limits = {}) {
  Message graph =
      graph_of({node("Neg", {"x"}, {"y"})}, {value_info("x", kFloat, {2})}, {value_info("y", kFloat, {2})});
  std::string bytes = model_of(graph.message(field, tensor)).data();
  auto model = load_bytes(bytes.data(), bytes.size(), {}, limits);
  if (!model.ok()) return std::move(model).error();
  return model->graph.value(model->graph.find_value("w")).constant;
}

std::string bytes_of(const Result<ir::TensorPtr>& tensor) {
  if (!tensor.ok()) return tensor.error().to_string();
  return {reinterpret_cast<const char*>((*tensor)->data()), (*tensor)->byte_size()};
}

void expect_refused(const Message& tensor, const std::string& text,
                    ErrorKind kind = ErrorKind::kInvalidModel) {
  auto read_tensor = read(tensor);
  ASSERT_FALSE(read_tensor.ok()) << text;
  EXPECT_EQ(read_tensor.error().kind(), kind);
  EXPECT_THAT(read_tensor.error().to_string(), HasSubstr("'w'"));
  EXPECT_THAT(read_tensor.error().to_string(), HasSubstr(text));
}

Message numbers(int type, int64_t count, uint32_t field, const std::vector<int64_t>& values) {
  Message packed, tensor = tensor_head("w", type, {count});
  for (int64_t value : values) packed.raw(Message().number(1, value).data().substr(1));
  return tensor.bytes(field, packed.data());
}

TEST(TensorData, TypedFields) {
  EXPECT_EQ(bytes_of(read(tensor_head("w", kFloat, {2}).bytes(4, raw_of<float>({1, -2})))),
            raw_of<float>({1, -2}));
  EXPECT_EQ(bytes_of(read(tensor_head("w", kFloat, {2}).real(4, 1).real(4, -2))), raw_of<float>({1, -2}));
  EXPECT_EQ(bytes_of(read(tensor_head("w", 11, {1}).bytes(10, raw_of<double>({0.5})))),
            raw_of<double>({0.5}));
  EXPECT_EQ(bytes_of(read(tensor_head("w", 14, {1}).bytes(4, raw_of<float>({1, 2})))), raw_of<float>({1, 2}));
  EXPECT_EQ(bytes_of(read(numbers(kInt64, 2, 7, {5, -6}))), raw_of<int64_t>({5, -6}));
  EXPECT_EQ(bytes_of(read(numbers(kInt32, 2, 5, {5, -6}))), raw_of<int32_t>({5, -6}));
  EXPECT_EQ(bytes_of(read(numbers(13, 1, 11, {-1}))),
            std::string("\0\0\0\0\0\0\0\0", 0) + raw_of<uint64_t>({~0ull}));
  EXPECT_EQ(bytes_of(read(numbers(12, 1, 11, {4000000000}))), raw_of<uint32_t>({4000000000u}));
  EXPECT_EQ(bytes_of(read(numbers(3, 2, 5, {-128, 127}))), "\x80\x7f");
  EXPECT_EQ(bytes_of(read(numbers(2, 2, 5, {255, 0}))), std::string("\xff\0", 2));
  EXPECT_EQ(bytes_of(read(numbers(10, 1, 5, {0x3c00}))), std::string("\x00\x3c", 2))
      << "float16 stores its bits";
  EXPECT_EQ(bytes_of(read(numbers(kBool, 3, 5, {0, 1, 7}))), std::string("\0\1\1", 3));
  EXPECT_EQ(bytes_of(read(numbers(21, 3, 5, {0x21, 0x03}))), "\x21\x03") << "two 4-bit elements an entry";
  EXPECT_EQ(bytes_of(read(numbers(25, 5, 5, {0xe4, 1}))), "\xe4\x01") << "four 2-bit elements an entry";
}

TEST(TensorData, RawDataAndStrings) {
  EXPECT_EQ(bytes_of(read(raw_tensor("w", kFloat, {2}, raw_of<float>({1, 2})))), raw_of<float>({1, 2}));
  EXPECT_EQ(bytes_of(read(raw_tensor("w", 22, {3}, "\x21\x03"))), "\x21\x03");
  EXPECT_EQ(bytes_of(read(raw_tensor("w", kBool, {3}, std::string("\0\1\7", 3)))), std::string("\0\1\1", 3));
  EXPECT_EQ(bytes_of(read(raw_tensor("w", kFloat, {0, 5}, ""))), "");
  auto strings = read(tensor_head("w", kString, {2}).bytes(6, "ab").bytes(6, ""));
  ASSERT_TRUE(strings.ok()) << strings.error().to_string();
  EXPECT_EQ((*strings)->string_at(0), "ab");
  EXPECT_EQ((*strings)->string_at(1), "");
}

TEST(TensorData, SparseInitializersBecomeDense) {
  Message values = raw_tensor("w", kFloat, {1}, raw_of<float>({7}));
  auto sparse = [&](int64_t index, int64_t size) {
    Message indices = raw_tensor("", kInt64, {1}, raw_of<int64_t>({index}));
    return Message().message(1, values).message(2, indices).number(3, size);
  };
  EXPECT_EQ(bytes_of(read(sparse(1, 3), 15)), raw_of<float>({0, 7, 0}));
  auto outside = read(sparse(3, 3), 15);
  EXPECT_THAT(outside.status().to_string(), HasSubstr("initializer 'w'"));
  auto large = read(sparse(1, int64_t{1} << 40), 15);
  EXPECT_EQ(large.status().kind(), ErrorKind::kLimitExceeded);
  EXPECT_EQ(read(sparse(1, -1), 15).status().kind(), ErrorKind::kInvalidModel);
}

TEST(TensorData, RefusesCountsThatDoNotFit) {
  expect_refused(raw_tensor("w", kFloat, {2}, "12345"), "takes 8 bytes and has 5");
  expect_refused(tensor_head("w", kFloat, {2}).real(4, 1), "takes 8 bytes and has 4");
  expect_refused(tensor_head("w", kFloat, {2}), "has 0");
  expect_refused(raw_tensor("w", 22, {3}, "123"), "takes 2 bytes and has 3");
  expect_refused(tensor_head("w", kString, {2}).bytes(6, "ab"), "holds 1 strings");
  expect_refused(raw_tensor("w", kFloat, {-2}, "12345678"), "dimension -2");
  expect_refused(raw_tensor("w", kFloat, {int64_t{1} << 33, int64_t{1} << 31, 2}, ""),
                 "more than 2^63 - 1 elements");
}

TEST(TensorData, RefusesDataInTheWrongPlace) {
  expect_refused(numbers(kFloat, 2, 7, {1, 2}), "field of another type");
  expect_refused(raw_tensor("w", kFloat, {1}, "1234").real(4, 1), "raw_data and a typed field");
  expect_refused(raw_tensor("w", kString, {1}, "1234"), "no size in bytes");
  expect_refused(numbers(3, 1, 5, {70000}), "does not fit 8 bits");
  expect_refused(raw_tensor("w", 99, {1}, "1234"), "element type 99");
  expect_refused(raw_tensor("w", 0, {1}, "1234"), "element type 0");
  expect_refused(raw_tensor("w", 29, {1}, "1"), "element type 29");
  expect_refused(numbers(27, 1, 5, {64}), "does not fit 6 bits");
  auto segmented = read(tensor_head("w", kFloat, {1}).message(3, Message().number(1, 0)));
  EXPECT_THAT(segmented.status().to_string(), HasSubstr("'segment'"));
}

}  // namespace
}  // namespace tenon::onnx
