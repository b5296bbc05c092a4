#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "ep-sdk/cts/binary_reader.h"
#include "ep-sdk/cts/check.h"
#include "ep-sdk/cts/elf_format.h"

namespace tenon::cts {
namespace {

std::string arch_name(uint16_t machine) {
  switch (machine) {
    case elf::kX86_64:
      return "x86_64";
    case elf::kAarch64:
      return "aarch64";
    case elf::kRiscV:
      return "riscv64";
    default:
      return "machine " + std::to_string(machine);
  }
}

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  Binary read() {
    header_ = at<elf::Header>(0);
    const bool elf = std::memcmp(header_.ident, elf::kMagic, 4) == 0;
    if (!elf || header_.ident[elf::kClassAt] != elf::kClass64 ||
        header_.ident[elf::kDataAt] != elf::kLittleEndian)
      throw Failed("the library is not a 64-bit little-endian ELF file", "build it for the target's system");
    if (header_.type != elf::kSharedObject)
      throw Failed("the file is not a shared library", "link it with -shared");
    out_.os = "linux";
    out_.arch = arch_name(header_.machine);
    for (uint16_t i = 0; i < header_.program_count; ++i)
      programs_.push_back(at<elf::Program>(header_.programs_at + uint64_t{i} * header_.program_size));
    dynamic();
    for (const elf::Program& program : programs_) {
      if (program.type == elf::kNotes) notes(program);
      if (program.type == elf::kStack) out_.executable_stack = (program.flags & elf::kExecutable) != 0;
    }
    return std::move(out_);
  }

 private:
  template <class T>
  T at(uint64_t offset) const {
    return bytes_at<T>(bytes_, offset);
  }

  /// The file position of a virtual address.
  uint64_t offset_of(uint64_t address) const {
    for (const elf::Program& program : programs_) {
      if (program.type != elf::kLoad || address < program.address) continue;
      if (address - program.address < program.file_size) return program.offset + (address - program.address);
    }
    throw Failed("the library's dynamic section points outside of its file", "build it again");
  }

  std::string text(uint64_t index) const {
    const uint64_t begin = strings_ + index;
    const size_t end = begin < bytes_.size() ? bytes_.find('\0', begin) : std::string::npos;
    return end == std::string::npos ? std::string() : bytes_.substr(begin, end - begin);
  }

  void dynamic() {
    std::map<int64_t, uint64_t> tags;
    std::vector<uint64_t> needed;
    for (const elf::Program& program : programs_) {
      if (program.type != elf::kDynamic) continue;
      for (uint64_t i = 0; i < program.file_size / sizeof(elf::Dynamic); ++i) {
        const auto entry = at<elf::Dynamic>(program.offset + i * sizeof(elf::Dynamic));
        if (entry.tag == elf::kNull) break;
        if (entry.tag == elf::kNeeded) needed.push_back(entry.value);
        tags[entry.tag] = entry.value;
      }
    }
    if (tags.count(elf::kStrings) == 0) return;
    strings_ = offset_of(tags[elf::kStrings]);
    for (const uint64_t name : needed) out_.needed.push_back(text(name));
    if (tags.count(elf::kSoname) != 0) out_.soname = text(tags[elf::kSoname]);
    if (tags.count(elf::kRpath) != 0) out_.rpath = text(tags[elf::kRpath]);
    if (tags.count(elf::kRunpath) != 0) out_.runpath = text(tags[elf::kRunpath]);
    out_.text_relocations =
        tags.count(elf::kTextRelocations) != 0 ||
        (tags.count(elf::kFlags) != 0 && (tags[elf::kFlags] & elf::kFlagTextRelocations) != 0);
    if (tags.count(elf::kSymbols) != 0) symbols(offset_of(tags[elf::kSymbols]), symbol_count(tags));
  }

  /// Number of dynamic symbols. Only the hash tables have it.
  uint64_t symbol_count(std::map<int64_t, uint64_t>& tags) const {
    if (tags.count(elf::kHash) != 0) return at<uint32_t>(offset_of(tags[elf::kHash]) + 4);
    if (tags.count(elf::kGnuHash) == 0) return 0;
    const uint64_t table = offset_of(tags[elf::kGnuHash]);
    const auto buckets = at<uint32_t>(table), first = at<uint32_t>(table + 4),
               bloom = at<uint32_t>(table + 8);
    const uint64_t buckets_at = table + 16 + uint64_t{bloom} * 8,
                   chains_at = buckets_at + uint64_t{buckets} * 4;
    uint64_t last = 0;
    for (uint32_t i = 0; i < buckets; ++i)
      last = std::max<uint64_t>(last, at<uint32_t>(buckets_at + uint64_t{i} * 4));
    if (last < first) {
      // Nothing is exported: imports come before the first hashed symbol.
      return first;
    }
    while ((at<uint32_t>(chains_at + (last - first) * 4) & 1) == 0) ++last;
    return last + 1;
  }

  void symbols(uint64_t table, uint64_t count) {
    constexpr std::string_view kLinkers[] = {"_init", "_fini", "_edata",     "edata",
                                             "_end",  "end",   "__bss_start"};
    for (uint64_t i = 1; i < count; ++i) {
      const auto symbol = at<elf::Symbol>(table + i * sizeof(elf::Symbol));
      const std::string name = text(symbol.name);
      const unsigned binding = symbol.info >> 4, visibility = symbol.other & 3;
      if (name.empty() || binding == elf::kLocal) continue;
      if (symbol.section == elf::kUndefined) {
        out_.imports.push_back(name);
        continue;
      }
      const bool visible = visibility == elf::kDefault || visibility == elf::kProtected;
      const bool linkers = std::find(std::begin(kLinkers), std::end(kLinkers), name) != std::end(kLinkers);
      // A version script makes an absolute symbol for the name of each version.
      if (!visible || linkers || symbol.section == elf::kAbsolute) continue;
      if (binding == elf::kUnique) out_.unique.push_back(name);
      out_.exports.push_back(name);
    }
  }

  void notes(const elf::Program& program) {
    const uint64_t align = program.alignment == 8 ? 8 : 4;
    const auto padded = [&](uint64_t n) { return (n + align - 1) / align * align; };
    uint64_t offset = program.offset;
    const uint64_t end = program.offset + program.file_size;
    while (offset + sizeof(elf::Note) <= end) {
      const auto note = at<elf::Note>(offset);
      const uint64_t name = offset + sizeof(elf::Note), contents = name + padded(note.name_size);
      if (contents > end || note.contents_size > end - contents || end > bytes_.size()) return;
      if (bytes_.compare(name, note.name_size, std::string_view("Tenon\0", 6)) == 0 && note.type == 1)
        read_note(bytes_.substr(contents, note.contents_size), &out_);
      offset = contents + padded(note.contents_size);
    }
  }

  const std::string& bytes_;
  Binary out_;
  elf::Header header_{};
  std::vector<elf::Program> programs_;
  uint64_t strings_ = 0;
};

}  // namespace

Binary read_elf(const std::string& bytes) { return Reader(bytes).read(); }

}  // namespace tenon::cts
