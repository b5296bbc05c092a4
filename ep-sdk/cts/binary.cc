#include "ep-sdk/cts/binary.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "ep-sdk/cts/check.h"

namespace tenon::cts {
namespace {

#ifndef STB_GNU_UNIQUE
constexpr unsigned STB_GNU_UNIQUE = 10;
#endif

std::string arch_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_RISCV:
      return "riscv64";
    default:
      return "machine " + std::to_string(machine);
  }
}

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  Binary read() {
    header_ = at<Elf64_Ehdr>(0);
    const bool elf = std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0;
    if (!elf || header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
      throw Failed("the library is not a 64-bit little-endian ELF file", "build it for the target's system");
    if (header_.e_type != ET_DYN) throw Failed("the file is not a shared library", "link it with -shared");
    out_.os = "linux";
    out_.arch = arch_name(header_.e_machine);
    for (uint16_t i = 0; i < header_.e_phnum; ++i)
      programs_.push_back(at<Elf64_Phdr>(header_.e_phoff + uint64_t{i} * header_.e_phentsize));
    dynamic();
    for (const Elf64_Phdr& program : programs_) {
      if (program.p_type == PT_NOTE) notes(program);
      if (program.p_type == PT_GNU_STACK) out_.executable_stack = (program.p_flags & PF_X) != 0;
    }
    return std::move(out_);
  }

 private:
  template <class T>
  T at(uint64_t offset) const {
    T out;
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
      throw Failed("the library's file is broken: it ends at byte " + std::to_string(bytes_.size()),
                   "build it again");
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }

  /// The file position of a virtual address.
  uint64_t offset_of(uint64_t address) const {
    for (const Elf64_Phdr& program : programs_) {
      if (program.p_type != PT_LOAD || address < program.p_vaddr) continue;
      if (address - program.p_vaddr < program.p_filesz) return program.p_offset + (address - program.p_vaddr);
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
    for (const Elf64_Phdr& program : programs_) {
      if (program.p_type != PT_DYNAMIC) continue;
      for (uint64_t i = 0; i < program.p_filesz / sizeof(Elf64_Dyn); ++i) {
        const auto entry = at<Elf64_Dyn>(program.p_offset + i * sizeof(Elf64_Dyn));
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_NEEDED) needed.push_back(entry.d_un.d_val);
        tags[entry.d_tag] = entry.d_un.d_val;
      }
    }
    if (tags.count(DT_STRTAB) == 0) return;
    strings_ = offset_of(tags[DT_STRTAB]);
    for (const uint64_t name : needed) out_.needed.push_back(text(name));
    if (tags.count(DT_SONAME) != 0) out_.soname = text(tags[DT_SONAME]);
    if (tags.count(DT_RPATH) != 0) out_.rpath = text(tags[DT_RPATH]);
    if (tags.count(DT_RUNPATH) != 0) out_.runpath = text(tags[DT_RUNPATH]);
    out_.text_relocations =
        tags.count(DT_TEXTREL) != 0 || (tags.count(DT_FLAGS) != 0 && (tags[DT_FLAGS] & DF_TEXTREL) != 0);
    if (tags.count(DT_SYMTAB) != 0) symbols(offset_of(tags[DT_SYMTAB]), symbol_count(tags));
  }

  /// Number of dynamic symbols. Only the hash tables have it.
  uint64_t symbol_count(std::map<int64_t, uint64_t>& tags) const {
    if (tags.count(DT_HASH) != 0) return at<uint32_t>(offset_of(tags[DT_HASH]) + 4);
    if (tags.count(DT_GNU_HASH) == 0) return 0;
    const uint64_t table = offset_of(tags[DT_GNU_HASH]);
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
      const auto symbol = at<Elf64_Sym>(table + i * sizeof(Elf64_Sym));
      const std::string name = text(symbol.st_name);
      const unsigned binding = symbol.st_info >> 4, visibility = symbol.st_other & 3;
      if (name.empty() || binding == STB_LOCAL) continue;
      if (symbol.st_shndx == SHN_UNDEF) {
        out_.imports.push_back(name);
        continue;
      }
      const bool visible = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
      const bool linkers = std::find(std::begin(kLinkers), std::end(kLinkers), name) != std::end(kLinkers);
      // A version script makes an absolute symbol for the name of each version.
      if (!visible || linkers || symbol.st_shndx == SHN_ABS) continue;
      if (binding == STB_GNU_UNIQUE) out_.unique.push_back(name);
      out_.exports.push_back(name);
    }
  }

  void notes(const Elf64_Phdr& program) {
    const uint64_t align = program.p_align == 8 ? 8 : 4;
    const auto padded = [&](uint64_t n) { return (n + align - 1) / align * align; };
    uint64_t offset = program.p_offset;
    const uint64_t end = program.p_offset + program.p_filesz;
    while (offset + sizeof(Elf64_Nhdr) <= end) {
      const auto note = at<Elf64_Nhdr>(offset);
      const uint64_t name = offset + sizeof(Elf64_Nhdr), contents = name + padded(note.n_namesz);
      if (contents > end || note.n_descsz > end - contents || end > bytes_.size()) return;
      if (bytes_.compare(name, note.n_namesz, std::string_view("Tenon\0", 6)) == 0 && note.n_type == 1)
        read_note(bytes_.substr(contents, note.n_descsz));
      offset = contents + padded(note.n_descsz);
    }
  }

  void read_note(const std::string& lines) {
    out_.has_note = true;
    for (size_t begin = 0; begin < lines.size();) {
      const size_t end = std::min(lines.find('\n', begin), lines.size()), equals = lines.find('=', begin);
      if (equals < end)
        out_.note[lines.substr(begin, equals - begin)] = lines.substr(equals + 1, end - equals - 1);
      begin = end + 1;
    }
  }

  const std::string& bytes_;
  Binary out_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> programs_;
  uint64_t strings_ = 0;
};

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failed("'" + path + "' cannot be read", "install manifest and library together");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Binary read_binary(const std::string& bytes) { return Reader(bytes).read(); }

}  // namespace tenon::cts
