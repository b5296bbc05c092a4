// What the readers of ELF and PE files share.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "ep-sdk/cts/binary.h"
#include "ep-sdk/cts/check.h"

namespace tenon::cts {

/// The object at `offset` of a little-endian file. Throws Failed when the file ends before.
template <class T>
T bytes_at(const std::string& bytes, uint64_t offset) {
  T out;
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    throw Failed("the library's file is broken: it ends at byte " + std::to_string(bytes.size()),
                 "build it again");
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return out;
}

/// Adds the lines key=value of a Tenon note.
void read_note(const std::string& lines, Binary* out);

Binary read_elf(const std::string& bytes);
Binary read_pe(const std::string& bytes);

}  // namespace tenon::cts
