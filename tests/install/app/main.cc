#include <cstdio>
#include <tenon/tenon.hpp>
#include <vector>

// main.cc MODEL: runs the network of digits on a blank picture.
int main(int argc, char** argv) try {
  tenon::Session session(argv[argc - 1]);
  std::vector<float> image(64, 0.0f);
  const auto outputs = session.run({{"image", tenon::Value::view<float>({1, 1, 8, 8}, image)}});
  std::printf("%zu outputs\n", outputs.size());
} catch (const tenon::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
