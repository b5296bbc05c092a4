// Compiled kernels in the host's cache: used again, and damage survived.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/devices/device_case.h"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;

/// A cache of its own for this process, asked for before anything looks. PoCL's own stays where it is.
const fs::path kCache = [] {
  const char* home = std::getenv("HOME");
  if (home != nullptr) setenv("POCL_CACHE_DIR", (std::string(home) + "/.cache/pocl/kcache").c_str(), 0);
  const fs::path folder = fs::temp_directory_path() / ("tenon_device_cache_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  return folder;
}();

std::vector<fs::path> blobs() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(kCache)) {
    if (entry.is_regular_file()) out.push_back(entry.path());
  }
  return out;
}

/// The host replaces a file to change it.
ino_t inode(const fs::path& file) {
  struct stat status {};
  EXPECT_EQ(::stat(file.c_str(), &status), 0);
  return status.st_ino;
}

std::vector<float> relu_of(const std::vector<float>& values) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({static_cast<int64_t>(values.size())}));
  m.output(m.node("Relu", {x}), "y");
  const auto session = make_session(m.bytes(), config_for({providers_dir()}, {provider()}));
  return session == nullptr
             ? std::vector<float>()
             : floats(run(*session, {{"x", f32({static_cast<int64_t>(values.size())}, values)}})[0]);
}

TEST(DeviceCache, BinariesAreKeptAndDamageIsSurvived) {
  EXPECT_EQ(relu_of({-1, 2}), (std::vector<float>{0, 2}));
  const std::vector<fs::path> kept = blobs();
  ASSERT_FALSE(kept.empty()) << "nothing was put into the cache";
  const ino_t written = inode(kept[0]);

  EXPECT_EQ(relu_of({-3, 4}), (std::vector<float>{0, 4}));
  EXPECT_EQ(inode(kept[0]), written) << "a binary that was there is built again";

  for (const double at : {0.0, 0.5, 1.0}) {
    for (const fs::path& blob : blobs()) {
      std::fstream file(blob, std::ios::in | std::ios::out | std::ios::binary);
      const auto last = static_cast<double>(fs::file_size(blob) - 1);
      const auto place = static_cast<std::streamoff>(at * last);
      file.seekg(place);
      const char byte = static_cast<char>(file.get() ^ 0x55);
      file.seekp(place);
      file.put(byte);
    }
    EXPECT_EQ(relu_of({-5, 6}), (std::vector<float>{0, 6})) << "damaged at " << at;
  }
  for (const fs::path& blob : blobs()) fs::resize_file(blob, 40);
  EXPECT_EQ(relu_of({-7, 8}), (std::vector<float>{0, 8}));
  fs::remove_all(kCache);
}

}  // namespace
}  // namespace tenon::test
