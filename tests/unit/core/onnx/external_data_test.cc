#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/onnx/onnx.h"
#include "tests/unit/core/onnx/message.h"

namespace tenon::onnx {
namespace {

namespace fs = std::filesystem;
using namespace test;  // a vocabulary for messages
using testing::HasSubstr;

/// A folder of its own for each test, removed afterwards.
class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "tenon_external_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directories(root_ / "model");
    write(root_ / "model/weights.bin", raw_of<float>({9, 9, 1, 2}));
    write(root_ / "outside.bin", raw_of<float>({9, 9, 1, 2}));
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  Result<ir::Model> load_with(const Message& tensor, const Limits& limits = {}) {
    write(root_ / "model/model.onnx", simple_model(node("Add", {"x", "w"}, {"y"}, "add"), {tensor}).data());
    return load((root_ / "model/model.onnx").string(), limits);
  }
  Result<ir::Model> load_at(const std::string& location, const std::string& offset = "8") {
    return load_with(external_tensor("w", {2}, location, offset));
  }
  void expect_refused(const Result<ir::Model>& model, const std::string& text) {
    ASSERT_FALSE(model.ok()) << text;
    EXPECT_EQ(model.error().kind(), ErrorKind::kInvalidModel);
    EXPECT_THAT(model.error().to_string(), HasSubstr("initializer 'w'"));
    EXPECT_THAT(model.error().to_string(), HasSubstr(text));
  }
  void expect_loaded(const Result<ir::Model>& model) {
    ASSERT_TRUE(model.ok()) << model.status().to_string();
    const ir::TensorPtr& tensor = model->graph.value(model->graph.find_value("w")).constant;
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(tensor->data()), tensor->byte_size()),
              raw_of<float>({1, 2}));
    EXPECT_EQ(tensor->origin().offset, 8u);
    EXPECT_EQ(tensor->origin().file_size, 16u);
  }

  fs::path root_;
};

TEST_F(ExternalData, IsReadFromBesideTheModel) {
  expect_loaded(load_at("weights.bin"));
  expect_loaded(load_at("./weights.bin"));
  expect_loaded(load_with(external_tensor("w", {2}, "weights.bin", "8", "8")));
  fs::create_directories(root_ / "model/sub");
  fs::copy(root_ / "outside.bin", root_ / "model/sub/deep.bin");
  expect_loaded(load_at("sub/deep.bin"));
  Limits copy;
  copy.map_weights = false;
  expect_loaded(load_with(external_tensor("w", {2}, "weights.bin", "8"), copy));
}

TEST_F(ExternalData, IsReadThroughTheLinksOfAModelHub) {
  fs::create_directories(root_ / "blobs");
  fs::create_directories(root_ / "snapshots/1");
  ASSERT_TRUE(load_at("weights.bin").ok());
  fs::rename(root_ / "model/model.onnx", root_ / "blobs/aaa");
  fs::rename(root_ / "model/weights.bin", root_ / "blobs/bbb");
  fs::create_symlink("../../blobs/aaa", root_ / "snapshots/1/model.onnx");
  fs::create_symlink("../../blobs/bbb", root_ / "snapshots/1/weights.bin");
  expect_loaded(load((root_ / "snapshots/1/model.onnx").string()));
}

TEST_F(ExternalData, LeavesTheModelsDirectoryInNoWay) {
  fs::create_symlink("../outside.bin", root_ / "model/link.bin");
  fs::create_directory_symlink("..", root_ / "model/up");
  fs::create_symlink("/dev/zero", root_ / "model/zero");
  fs::create_symlink("loop", root_ / "model/loop");
  expect_refused(load_at("../outside.bin"), "upwards");
  expect_refused(load_at("sub/../../outside.bin"), "upwards");
  expect_refused(load_at((root_ / "model/weights.bin").string()), "absolute");
  expect_refused(load_at("..\\outside.bin"), "backslash");
  expect_refused(load_at("c:weights.bin"), "drive");
  expect_refused(load_at("link.bin"), "outside of the model's directory");
  expect_refused(load_at("up/outside.bin"), "outside of the model's directory");
  expect_refused(load_at("zero"), "a device");
  expect_refused(load_at("loop"), "cannot open");
}

TEST_F(ExternalData, IsARegularFile) {
  ASSERT_EQ(::mkfifo((root_ / "model/pipe").c_str(), 0600), 0);
  fs::create_directories(root_ / "model/folder");
  expect_refused(load_at("pipe"), "a pipe");
  expect_refused(load_at("folder"), "a directory");
  expect_refused(load_at("nothing.bin"), "'nothing.bin': cannot open");
  expect_refused(load_with(external_tensor("w", {2}, "")), "no location");
  expect_refused(load_at(std::string("weights\0.bin", 12)), "zero byte");
}

TEST_F(ExternalData, OffsetAndLengthFitTheFile) {
  expect_refused(load_at("weights.bin", "12"), "outside of the file of 16 bytes");
  expect_refused(load_at("weights.bin", "9223372036854775800"), "outside of the file");
  expect_refused(load_at("weights.bin", "18446744073709551616"), "not a number of bytes");
  expect_refused(load_at("weights.bin", "-4"), "not a number of bytes");
  expect_refused(load_at("weights.bin", "8k"), "not a number of bytes");
  expect_refused(load_with(external_tensor("w", {2}, "weights.bin", "0", "4")),
                 "length 4 for a tensor of 8 bytes");
  expect_refused(load_with(external_tensor("w", {2}, "weights.bin").bytes(9, "12345678")),
                 "also data in the model file");
}

TEST_F(ExternalData, CanBeDeniedAndCountsForTheLimit) {
  Message tensor = external_tensor("w", {2}, "weights.bin", "8");
  Limits denied;
  denied.external_data = tenon::onnx::ExternalData::kDeny;
  expect_refused(load_with(tensor, denied), "not allowed");
  std::string bytes = simple_model(node("Add", {"x", "w"}, {"y"}), {tensor}).data();
  expect_refused(load_bytes(bytes.data(), bytes.size()), "read from memory");
  expect_loaded(load_bytes(bytes.data(), bytes.size(), (root_ / "model").string()));
  Limits small;
  small.model_bytes = static_cast<int64_t>(bytes.size()) + 10;
  auto model = load_bytes(bytes.data(), bytes.size(), (root_ / "model").string(), small);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().kind(), ErrorKind::kLimitExceeded);
}

TEST_F(ExternalData, ModelsAreRegularFilesToo) {
  auto kind_of = [](const fs::path& path) {
    auto model = load(path.string());
    EXPECT_FALSE(model.ok());
    EXPECT_EQ(model.error().kind(), ErrorKind::kInvalidInput);
    EXPECT_THAT(model.error().to_string(), HasSubstr(path.filename().string()));
    return model.error().code();
  };
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(kind_of(root_ / "pipe"), StatusCode::kInvalidArgument);
  EXPECT_EQ(kind_of(root_ / "model"), StatusCode::kInvalidArgument);
  EXPECT_EQ(kind_of(root_ / "nothing.onnx"), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tenon::onnx
