// What the kit reads of a 64-bit ELF file, as the System V ABI and its GNU extensions define it. The kit reads ELF files
// on systems without <elf.h> too.
#pragma once

#include <cstdint>

namespace tenon::cts::elf {

struct Header {
  uint8_t ident[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, programs_at, sections_at;
  uint32_t flags;
  uint16_t header_size, program_size, program_count, section_size, section_count, section_names;
};

struct Program {
  uint32_t type, flags;
  uint64_t offset, address, physical_address, file_size, memory_size, alignment;
};

struct Dynamic {
  int64_t tag;
  uint64_t value;
};

struct Symbol {
  uint32_t name;
  uint8_t info, other;
  uint16_t section;
  uint64_t value, size;
};

struct Note {
  uint32_t name_size, contents_size, type;
};

constexpr char kMagic[] = "\177ELF";
constexpr int kClassAt = 4, kDataAt = 5;  // in ident
constexpr uint8_t kClass64 = 2, kLittleEndian = 1;
constexpr uint16_t kSharedObject = 3;                           // Header::type
constexpr uint16_t kX86_64 = 62, kAarch64 = 183, kRiscV = 243;  // Header::machine
constexpr uint32_t kLoad = 1, kDynamic = 2, kNotes = 4, kStack = 0x6474e551, kExecutable = 1;
constexpr int64_t kNull = 0, kNeeded = 1, kHash = 4, kStrings = 5, kSymbols = 6, kSoname = 14, kRpath = 15,
                  kTextRelocations = 22, kRunpath = 29, kFlags = 30, kGnuHash = 0x6ffffef5;
constexpr uint64_t kFlagTextRelocations = 4;
constexpr unsigned kLocal = 0, kUnique = 10;            // binding of a symbol
constexpr unsigned kDefault = 0, kProtected = 3;        // visibility
constexpr uint16_t kUndefined = 0, kAbsolute = 0xfff1;  // section of a symbol

}  // namespace tenon::cts::elf
