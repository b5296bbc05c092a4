// Reads a library for Windows: a PE32+ file, as Microsoft's "PE Format" defines it.
#include <algorithm>
#include <vector>

#include "ep-sdk/cts/binary_reader.h"

namespace tenon::cts {
namespace {

struct FileHeader {
  uint16_t machine, section_count;
  uint32_t time, symbols_at, symbol_count;
  uint16_t optional_size, characteristics;
};

struct OptionalHeader {
  uint16_t magic;
  uint8_t linker[2];
  uint32_t code_size, data_size, zero_size, entry, code_at;
  uint64_t image_base;
  uint32_t section_alignment, file_alignment;
  uint16_t versions[6];
  uint32_t reserved, image_size, headers_size, checksum;
  uint16_t subsystem, dll_characteristics;
  uint64_t stack_reserve, stack_commit, heap_reserve, heap_commit;
  uint32_t loader_flags, directory_count;
};
static_assert(sizeof(OptionalHeader) == 112);

struct Directory {
  uint32_t address, size;
};

struct Section {
  char name[8];
  uint32_t memory_size, address, file_size, file_at, relocations_at, lines_at;
  uint16_t relocation_count, line_count;
  uint32_t characteristics;
};
static_assert(sizeof(Section) == 40);

struct Exports {
  uint32_t flags, time;
  uint16_t versions[2];
  uint32_t name, base, function_count, name_count, functions_at, names_at, ordinals_at;
};

struct Import {
  uint32_t names_at, time, forwarder, library, addresses_at;
};

struct DelayImport {
  uint32_t attributes, library, module, addresses_at, names_at, bound_at, unload_at, time;
};

constexpr uint64_t kHeaderAt = 0x3c;
constexpr uint16_t kX86_64 = 0x8664, kAarch64 = 0xaa64, kPe64 = 0x20b, kIsLibrary = 0x2000;
constexpr uint16_t kMovable = 0x40, kNoExecute = 0x100;               // dll_characteristics
constexpr uint32_t kExecutable = 0x20000000, kWritable = 0x80000000;  // of a section
constexpr uint32_t kExports = 0, kImports = 1, kDelayImports = 13;    // numbers of directories
constexpr uint64_t kByNumber = uint64_t{1} << 63;
constexpr uint32_t kMost = 1 << 20;  // entries of a table; more only in a broken file

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  Binary read() {
    const uint64_t at = bytes_at<uint32_t>(bytes_, kHeaderAt);
    if (bytes_at<uint32_t>(bytes_, at) != 0x4550)  // "PE\0\0"
      throw Failed("the library is no PE file", "build it for the target's system");
    const auto file = bytes_at<FileHeader>(bytes_, at + 4);
    const uint64_t optional_at = at + 4 + sizeof file;
    const auto optional = bytes_at<OptionalHeader>(bytes_, optional_at);
    if (optional.magic != kPe64)
      throw Failed("the library is not a 64-bit PE file", "build it for the target's system");
    if ((file.characteristics & kIsLibrary) == 0)
      throw Failed("the file is not a shared library", "link it with -shared, or /DLL");
    out_.os = "windows";
    out_.arch = file.machine == kX86_64    ? "x86_64"
                : file.machine == kAarch64 ? "aarch64"
                                           : "machine " + std::to_string(file.machine);
    for (uint16_t i = 0; i < file.section_count; ++i)
      sections_.push_back(
          bytes_at<Section>(bytes_, optional_at + file.optional_size + uint64_t{i} * sizeof(Section)));
    for (uint32_t i = 0; i < std::min(optional.directory_count, 16u); ++i)
      directories_[i] =
          bytes_at<Directory>(bytes_, optional_at + sizeof optional + uint64_t{i} * sizeof(Directory));
    out_.executable_stack = (optional.dll_characteristics & kNoExecute) == 0;
    out_.text_relocations = (optional.dll_characteristics & kMovable) == 0;
    for (const Section& section : sections_) look(section);
    exports();
    imports();
    delay_imports();
    return std::move(out_);
  }

 private:
  void look(const Section& section) {
    if ((section.characteristics & kExecutable) != 0 && (section.characteristics & kWritable) != 0)
      out_.executable_stack = true;
    if (std::string(section.name, 8) != std::string(".tenon\0\0", 8)) return;
    if (section.file_at > bytes_.size() || section.file_size > bytes_.size() - section.file_at)
      throw Failed("the library's section .tenon points outside of its file", "build it again");
    const std::string note = bytes_.substr(section.file_at, section.file_size);
    read_note(note.substr(0, note.find('\0')), &out_);
  }

  /// The file position of an address relative to the image.
  uint64_t offset_of(uint32_t address) const {
    for (const Section& section : sections_) {
      if (address >= section.address && address - section.address < section.file_size)
        return uint64_t{section.file_at} + (address - section.address);
    }
    throw Failed("the library's tables point outside of its file", "build it again");
  }

  template <class T>
  T at(uint32_t address, uint64_t index = 0) const {
    return bytes_at<T>(bytes_, offset_of(address) + index * sizeof(T));
  }

  std::string text(uint32_t address, uint64_t skip = 0) const {
    const uint64_t begin = offset_of(address) + skip;
    const size_t end = begin < bytes_.size() ? bytes_.find('\0', begin) : std::string::npos;
    if (end == std::string::npos)
      throw Failed("a name in the library's tables does not end", "build it again");
    return bytes_.substr(begin, end - begin);
  }

  void exports() {
    if (directories_[kExports].size == 0) return;
    const auto table = at<Exports>(directories_[kExports].address);
    if (table.name_count > kMost || table.function_count > kMost)
      throw Failed("the library's table of exports has no end", "build it again");
    for (uint32_t i = 0; i < table.name_count; ++i)
      out_.exports.push_back(text(at<uint32_t>(table.names_at, i)));
    // A function that is exported by its number alone is an export too.
    std::vector<bool> named(table.function_count);
    for (uint32_t i = 0; i < table.name_count; ++i) {
      const auto ordinal = at<uint16_t>(table.ordinals_at, i);
      if (ordinal < table.function_count) named[ordinal] = true;
    }
    for (uint32_t i = 0; i < table.function_count; ++i) {
      if (!named[i] && at<uint32_t>(table.functions_at, i) != 0)
        out_.exports.push_back("number " + std::to_string(table.base + i));
    }
  }

  void imported(const std::string& library, uint32_t names_at) {
    out_.needed.push_back(library);
    for (uint64_t i = 0; i < kMost; ++i) {
      const auto entry = at<uint64_t>(names_at, i);
      if (entry == 0) return;
      if ((entry & kByNumber) == 0)
        out_.imports.push_back(text(static_cast<uint32_t>(entry & 0x7fffffff), 2));  // after a hint
    }
    throw Failed("the library's table of imports has no end", "build it again");
  }

  void imports() {
    if (directories_[kImports].size == 0) return;
    for (uint64_t i = 0; i < kMost; ++i) {
      const auto import = at<Import>(directories_[kImports].address, i);
      if (import.library == 0) return;
      imported(text(import.library), import.names_at != 0 ? import.names_at : import.addresses_at);
    }
  }

  void delay_imports() {
    if (directories_[kDelayImports].size == 0) return;
    for (uint64_t i = 0; i < kMost; ++i) {
      const auto import = at<DelayImport>(directories_[kDelayImports].address, i);
      if (import.library == 0) return;
      imported(text(import.library), import.names_at);
    }
  }

  const std::string& bytes_;
  Binary out_;
  std::vector<Section> sections_;
  Directory directories_[16] = {};
};

}  // namespace

Binary read_pe(const std::string& bytes) { return Reader(bytes).read(); }

}  // namespace tenon::cts
