#include <cstdio>
#include <tenon/tenon.hpp>
#include <vector>

#include "model.pb.h"

// An application with a protobuf of its own, which it uses before, beside and after Tenon.
static std::string own_message(int count) {
  onnx::ModelProto made, read;
  made.set_title("the neighbour");
  for (int i = 0; i < count; ++i) made.add_numbers(i);
  if (!read.ParseFromString(made.SerializeAsString())) return "not read";
  return read.ShortDebugString();
}

// main.cc MODEL: runs the network of digits on a blank picture.
int main(int argc, char** argv) try {
  const std::string before = own_message(3);
  tenon::Session session(argv[argc - 1]);
  const std::string beside = own_message(3);
  std::vector<float> image(64, 0.0f);
  const auto outputs = session.run({{"image", tenon::Value::view<float>({1, 1, 8, 8}, image)}});
  if (before != beside || before != own_message(3)) return 2;
  std::printf("%zu outputs, %s\n", outputs.size(), before.c_str());
} catch (const tenon::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
