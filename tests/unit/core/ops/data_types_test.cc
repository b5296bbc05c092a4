// ONNX's names of types, whose table is Tenon's own.
#include <gtest/gtest.h>

#include <stdexcept>

#include "onnx/defs/data_type_utils.h"

namespace tenon::ops {
namespace {

using tenon_onnx::TensorProto;
using tenon_onnx::TypeProto;
using Types = tenon_onnx::Utils::DataTypeUtils;

TEST(DataTypes, ANameIsOnePointer) {
  for (const char* name : {"tensor(float)", "sparse_tensor(int8)", "seq(tensor(string))",
                           "optional(seq(tensor(bool)))", "map(int64,tensor(float))",
                           "seq(map(string,tensor(double)))", "opaque(domain,name)", "opaque(name)"}) {
    const auto type = Types::ToType(std::string(name));
    EXPECT_EQ(*type, name);
    EXPECT_EQ(Types::ToType(std::string(name)), type);
    EXPECT_EQ(Types::ToType(Types::ToTypeProto(type)), type) << "and its message says the same";
  }
}

TEST(DataTypes, OtherSpellingsAreTheSameType) {
  EXPECT_EQ(Types::ToType(std::string(" map( int64 , tensor(float) ) ")),
            Types::ToType(std::string("map(int64,tensor(float))")));
  EXPECT_EQ(Types::ToType(std::string("float")), Types::ToType(std::string("tensor(float)"))) << "a scalar";
}

TEST(DataTypes, MessagesHoldWhatTheNameSays) {
  const TypeProto& map = Types::ToTypeProto(Types::ToType(std::string("map(string,tensor(bfloat16))")));
  EXPECT_EQ(map.map_type().key_type(), TensorProto::STRING);
  EXPECT_EQ(map.map_type().value_type().tensor_type().elem_type(), TensorProto::BFLOAT16);
  EXPECT_FALSE(map.map_type().value_type().tensor_type().has_shape());
}

TEST(DataTypes, EveryElementTypeHasItsName) {
  int count = 0;
  for (int number = 1; TensorProto::DataType_IsValid(number); ++number, ++count) {
    const auto type = Types::ToType("tensor(" + Types::ToDataTypeString(number) + ")");
    EXPECT_EQ(Types::ToTypeProto(type).tensor_type().elem_type(), number) << *type;
  }
  EXPECT_GE(count, 28);
  EXPECT_EQ(Types::ToDataTypeString(TensorProto::FLOAT8E4M3FN), "float8e4m3fn");
}

TEST(DataTypes, WhatIsNoTypeThrows) {
  for (const char* name : {"", "tensor", "tensor()", "tensor(float", "tensor(FLOAT)", "tensor(undefined)",
                           "map(float)", "map(x,tensor(float))", "seq()", "nothing(float)"}) {
    EXPECT_THROW(Types::ToType(std::string(name)), std::invalid_argument) << name;
  }
  EXPECT_THROW(Types::ToType(TypeProto()), std::invalid_argument);
  EXPECT_THROW(Types::ToDataTypeString(0), std::invalid_argument);
  EXPECT_THROW(Types::ToDataTypeString(1000), std::invalid_argument);
  const std::string unknown = "tensor(nothing)";
  EXPECT_THROW(Types::ToTypeProto(&unknown), std::invalid_argument);
}

}  // namespace
}  // namespace tenon::ops
