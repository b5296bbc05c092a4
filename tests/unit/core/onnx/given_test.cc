// What the caller gives in place of parts of a model: initializers, sizes of dims, files of external data.
#include <gmock/gmock.h>

#include <cstring>

#include "core/onnx/onnx.h"
#include "tests/unit/core/onnx/message.h"

namespace tenon::onnx {
namespace {

using namespace test;  // a vocabulary for messages
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ir::TensorPtr tensor_of(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return *ir::Tensor::make(ir::ElementType::kFloat32, dims, std::move(bytes));
}

/// y = x + w, where w is given or in the file weights.bin.
std::string model_bytes(bool external) {
  const Message weights = external ? external_tensor("w", {2}, "sub/weights.bin", "4")
                                   : raw_tensor("w", kFloat, {2}, raw_of<float>({1, 2}));
  return simple_model(node("Add", {"x", "w"}, {"y"}, "add"), {weights}).data();
}

struct Loaded {
  Result<ir::Model> model = ir::Model();
  std::vector<std::string> notices;
};

Loaded load_with(const std::string& bytes, const Given& given) {
  Loaded out;
  Limits limits;
  limits.given = &given;
  limits.notices = &out.notices;
  out.model = load_bytes(bytes.data(), bytes.size(), {}, limits);
  return out;
}

std::vector<float> weights_of(const Loaded& loaded) {
  EXPECT_TRUE(loaded.model.ok()) << loaded.model.status().to_string();
  if (!loaded.model.ok()) return {};
  const ir::Graph& graph = loaded.model->graph;
  const ir::TensorPtr& tensor = graph.value(graph.find_value("w")).constant;
  std::vector<float> out(static_cast<size_t>(tensor->element_count()));
  std::memcpy(out.data(), tensor->data(), tensor->byte_size());
  return out;
}

TEST(Given, InitializersReplaceThoseOfTheModel) {
  Given given;
  given.initializers["w"] = tensor_of({2}, {7, 8});
  for (const bool external : {false, true}) {
    const Loaded loaded = load_with(model_bytes(external), given);
    EXPECT_THAT(weights_of(loaded), ElementsAre(7, 8)) << "the file does not exist, and is not needed";
    EXPECT_EQ(loaded.model->graph.value(loaded.model->graph.find_value("w")).constant,
              given.initializers["w"])
        << "not copied";
  }
}

TEST(Given, InitializersMustBeThoseOfTheModel) {
  Given given;
  given.initializers["w"] = tensor_of({1, 2}, {7, 8});
  Loaded loaded = load_with(model_bytes(true), given);
  EXPECT_EQ(loaded.model.status().kind(), ErrorKind::kInvalidInput);
  EXPECT_THAT(
      loaded.model.status().to_string(),
      HasSubstr("initializer 'w': the model has float32[2], but the value given for it is float32[1,2]"));
  given.initializers = {{"W", tensor_of({2}, {7, 8})}};
  loaded = load_with(model_bytes(false), given);
  EXPECT_EQ(loaded.model.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(
      loaded.model.status().to_string(),
      HasSubstr("a value is given for initializer 'W', which the model does not have; did you mean 'w'?"));
}

TEST(Given, FilesStandForExternalData) {
  const std::string bytes = raw_of<float>({9, 3, 4});
  Given given;
  given.files["sub/weights.bin"] = {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
  Loaded loaded = load_with(model_bytes(true), given);
  EXPECT_THAT(weights_of(loaded), ElementsAre(3, 4));
  EXPECT_THAT(loaded.notices, IsEmpty());
  loaded = load_with(model_bytes(false), given);
  EXPECT_THAT(weights_of(loaded), ElementsAre(1, 2));
  EXPECT_THAT(loaded.notices,
              ElementsAre("file 'sub/weights.bin' was given, but no tensor of the model is in it"));
  given.files["sub/weights.bin"].size = 8;
  EXPECT_THAT(load_with(model_bytes(true), given).model.status().to_string(),
              HasSubstr("are outside of the file of 8"));
  given.files = {{"other.bin", {}}};
  EXPECT_THAT(load_with(model_bytes(true), given).model.status().to_string(), HasSubstr("has no directory"));
}

TEST(Given, FilesMayBeGivenWhereTheOthersAreDenied) {
  const std::string bytes = raw_of<float>({9, 3, 4});
  Given given;
  given.files["sub/weights.bin"] = {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
  Limits limits;
  limits.given = &given;
  limits.external_data = ExternalData::kDeny;
  const std::string model = model_bytes(true);
  EXPECT_TRUE(load_bytes(model.data(), model.size(), {}, limits).ok());
}

}  // namespace
}  // namespace tenon::onnx
