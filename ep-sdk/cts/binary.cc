#include "ep-sdk/cts/binary.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ep-sdk/cts/binary_reader.h"

namespace tenon::cts {

std::string read_file(const std::string& path) {
  std::ifstream file(std::filesystem::path(path), std::ios::binary);
  if (!file) throw Failed("'" + path + "' cannot be read", "install manifest and library together");
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

void read_note(const std::string& lines, Binary* out) {
  out->has_note = true;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size()), equals = lines.find('=', begin);
    if (equals < end)
      out->note[lines.substr(begin, equals - begin)] = lines.substr(equals + 1, end - equals - 1);
    begin = end + 1;
  }
}

Binary read_binary(const std::string& bytes) {
  return bytes.compare(0, 2, "MZ") == 0 ? read_pe(bytes) : read_elf(bytes);
}

}  // namespace tenon::cts
