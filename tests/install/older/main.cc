#include <cstdio>
#include <tenon/tenon.hpp>

// Prints whether the library that is loaded has all that tenon.hpp needs.
int main() try {
  const tenon::Config config;
  std::puts("new enough");
} catch (const std::runtime_error& error) {
  std::puts(error.what());
}
