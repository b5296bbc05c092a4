#include "host/provider/elf_reader.h"

#include <algorithm>
#include <cstring>

#include "host/base/text.h"
#include "host/provider/machine.h"

namespace tenon::provider {
namespace {

// The parts of the ELF format that the reader needs: 64-bit, little-endian, laid out as in the generic ABI.
struct FileHeader {
  unsigned char ident[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, program_offset, section_offset;
  uint32_t flags;
  uint16_t header_size, program_entry_size, program_count, section_entry_size, section_count, section_names;
};
struct ProgramHeader {
  uint32_t type, flags;
  uint64_t offset, address, physical, file_size, memory_size, align;
};
struct DynamicEntry {
  int64_t tag;
  uint64_t value;
};
struct Symbol {
  uint32_t name;
  unsigned char info, other;
  uint16_t section;
  uint64_t value, size;
};
static_assert(sizeof(FileHeader) == 64 && sizeof(ProgramHeader) == 56 && sizeof(Symbol) == 24);

constexpr uint16_t kTypeDynamic = 3;
constexpr uint32_t kLoad = 1, kDynamic = 2, kNote = 4;
constexpr int64_t kTagNeeded = 1, kTagHash = 4, kTagStrings = 5, kTagSymbols = 6, kTagStringsSize = 10,
                  kTagSoname = 14, kTagGnuHash = 0x6FFFFEF5;
constexpr uint16_t kUndefined = 0, kAbsolute = 0xFFF1;
constexpr unsigned kGlobal = 1, kWeak = 2, kUnique = 10;
constexpr unsigned kVisibilityDefault = 0, kVisibilityProtected = 3;

constexpr uint64_t kMaxPrograms = 256, kMaxDynamic = 8192, kMaxStrings = 64 << 20, kMaxSymbols = 1 << 20,
                   kMaxNotes = 1 << 16, kMaxListed = 4096;

std::string arch_name(uint16_t machine) {
  switch (machine) {
    case 3:
      return "i386";
    case 40:
      return "arm";
    case 62:
      return "x86_64";
    case 183:
      return "aarch64";
    case 243:
      return "riscv64";
    default:
      return str_cat("machine ", machine);
  }
}

class Reader {
 public:
  explicit Reader(const ByteSource& file) : file_(file) {}

  Status run(BinaryInfo& out) {
    RETURN_IF_ERROR(header(out));
    if (out.arch != host_arch() || !out.is_shared_library) return ok_status();
    RETURN_IF_ERROR(programs());
    RETURN_IF_ERROR(dynamic(out));
    RETURN_IF_ERROR(symbols(out));
    return notes(out);
  }

 private:
  template <class T>
  bool get(uint64_t offset, T& out) const {
    return offset <= file_.size() && file_.size() - offset >= sizeof(T) &&
           file_.read(offset, &out, sizeof(T));
  }

  template <class T>
  bool get_many(uint64_t offset, uint64_t count, std::vector<T>& out) const {
    if (offset > file_.size() || count > (file_.size() - offset) / sizeof(T)) return false;
    out.resize(static_cast<size_t>(count));
    return count == 0 || file_.read(offset, out.data(), out.size() * sizeof(T));
  }

  static Status broken(std::string_view what) {
    return invalid_input("the file is a broken ELF library: ", what);
  }

  Status header(BinaryInfo& out) {
    unsigned char ident[16];
    if (!get(0, ident) || std::memcmp(ident, "\177ELF", 4) != 0)
      return invalid_input("the file is not an ELF library");
    bool wide = ident[4] == 2, little = ident[5] == 1;
    uint16_t type_and_machine[2];
    if (!get(16, type_and_machine)) return broken("it ends inside its header");
    if (!little) {
      for (uint16_t& word : type_and_machine) word = static_cast<uint16_t>(word << 8 | word >> 8);
    }
    out.is_shared_library = type_and_machine[0] == kTypeDynamic;
    out.arch = arch_name(type_and_machine[1]);
    if (!wide) out.arch += " 32-bit";
    if (!little) out.arch += " big-endian";
    if (!wide || !little) return ok_status();
    return get(0, header_) ? ok_status() : broken("it ends inside its header");
  }

  Status programs() {
    if (header_.program_entry_size != sizeof(ProgramHeader) || header_.program_count > kMaxPrograms ||
        !get_many(header_.program_offset, header_.program_count, programs_)) {
      return broken("its program headers are wrong");
    }
    return ok_status();
  }

  // Gives the file position of a virtual address and how many bytes of its segment follow in the file.
  bool locate(uint64_t address, uint64_t& offset, uint64_t& available) const {
    for (const ProgramHeader& program : programs_) {
      if (program.type != kLoad || address < program.address) continue;
      uint64_t inside = address - program.address;
      if (inside >= program.file_size || program.offset > file_.size()) continue;
      if (inside >= file_.size() - program.offset) continue;
      offset = program.offset + inside;
      available = std::min(program.file_size - inside, file_.size() - offset);
      return true;
    }
    return false;
  }

  Status dynamic(BinaryInfo& out) {
    std::vector<DynamicEntry> entries;
    for (const ProgramHeader& program : programs_) {
      if (program.type != kDynamic) continue;
      uint64_t count = std::min(program.file_size / sizeof(DynamicEntry), kMaxDynamic);
      if (!get_many(program.offset, count, entries)) return broken("its dynamic section is outside the file");
      break;
    }
    uint64_t strings = 0, strings_size = 0;
    std::vector<uint64_t> needed, soname;
    for (const DynamicEntry& entry : entries) {
      if (entry.tag == 0) break;
      if (entry.tag == kTagStrings) strings = entry.value;
      if (entry.tag == kTagStringsSize) strings_size = entry.value;
      if (entry.tag == kTagSymbols) symbols_ = entry.value;
      if (entry.tag == kTagHash) hash_ = entry.value;
      if (entry.tag == kTagGnuHash) gnu_hash_ = entry.value;
      if (entry.tag == kTagNeeded && needed.size() < kMaxListed) needed.push_back(entry.value);
      if (entry.tag == kTagSoname) soname = {entry.value};
    }
    uint64_t offset = 0, available = 0;
    if (!locate(strings, offset, available) || strings_size > std::min(available, kMaxStrings) ||
        !get_many(offset, strings_size, strings_)) {
      return broken("its string table is outside the file");
    }
    for (uint64_t name : needed) out.needed.push_back(string_at(name));
    if (!soname.empty()) out.soname = string_at(soname[0]);
    return ok_status();
  }

  // The terminated string at `at` in the string table. Empty when it runs past the table's end.
  std::string string_at(uint64_t at) const {
    if (at >= strings_.size()) return {};
    auto begin = strings_.begin() + static_cast<std::ptrdiff_t>(at);
    auto end = std::find(begin, strings_.end(), '\0');
    return end == strings_.end() ? std::string() : std::string(begin, end);
  }

  // Only the hash tables tell how many dynamic symbols there are.
  Result<uint64_t> symbol_count() const {
    uint64_t offset = 0, available = 0;
    if (hash_ != 0) {
      uint32_t words[2];
      if (!locate(hash_, offset, available) || available < sizeof words || !get(offset, words)) {
        return broken("its hash table is outside the file");
      }
      return uint64_t{words[1]};
    }
    if (gnu_hash_ == 0) return uint64_t{0};
    uint32_t words[4];  // buckets, first symbol, bloom words, shift
    if (!locate(gnu_hash_, offset, available) || available < sizeof words || !get(offset, words)) {
      return broken("its hash table is outside the file");
    }
    uint64_t buckets_at = offset + sizeof words + uint64_t{words[2]} * sizeof(uint64_t);
    uint64_t chains_at = buckets_at + uint64_t{words[0]} * sizeof(uint32_t);
    std::vector<uint32_t> buckets;
    if (words[0] > kMaxSymbols || !get_many(buckets_at, words[0], buckets)) {
      return broken("its hash table is wrong");
    }
    uint64_t last = buckets.empty() ? 0 : *std::max_element(buckets.begin(), buckets.end());
    if (last < words[1]) return uint64_t{words[1]};
    for (; last < kMaxSymbols; ++last) {
      uint32_t chain = 0;
      if (!get(chains_at + (last - words[1]) * sizeof chain, chain))
        return broken("its hash chains end outside the file");
      if ((chain & 1) != 0) return last + 1;
    }
    return broken("it has too many symbols");
  }

  Status symbols(BinaryInfo& out) {
    ASSIGN_OR_RETURN(uint64_t count, symbol_count());
    uint64_t offset = 0, available = 0;
    if (count == 0) return ok_status();
    std::vector<Symbol> table;
    if (count > kMaxSymbols || !locate(symbols_, offset, available) || count > available / sizeof(Symbol) ||
        !get_many(offset, count, table)) {
      return broken("its symbol table is outside the file");
    }
    for (const Symbol& symbol : table) add_symbol(symbol, out);
    return ok_status();
  }

  void add_symbol(const Symbol& symbol, BinaryInfo& out) const {
    unsigned binding = symbol.info >> 4, visibility = symbol.other & 3;
    bool defined = symbol.section != kUndefined;
    bool visible = visibility == kVisibilityDefault || visibility == kVisibilityProtected;
    bool global = binding == kGlobal || binding == kWeak || binding == kUnique;
    // A version script adds an absolute symbol for the name of each version.
    if (!defined || !visible || !global || symbol.section == kAbsolute) return;
    std::string name = string_at(symbol.name);
    constexpr std::string_view kLinkers[] = {"_init", "_fini", "_edata",     "edata",
                                             "_end",  "end",   "__bss_start"};
    if (name.empty() || std::find(std::begin(kLinkers), std::end(kLinkers), name) != std::end(kLinkers))
      return;
    if (binding == kUnique && out.unique.size() < kMaxListed) out.unique.push_back(name);
    if (out.exports.size() < kMaxListed) out.exports.push_back(std::move(name));
  }

  Status notes(BinaryInfo& out) const {
    for (const ProgramHeader& program : programs_) {
      if (program.type != kNote) continue;
      std::vector<char> bytes;
      if (!get_many(program.offset, std::min(program.file_size, kMaxNotes), bytes)) {
        return broken("its notes are outside the file");
      }
      scan_notes(bytes, program.align == 8 ? 8 : 4, out);
    }
    return ok_status();
  }

  static void scan_notes(const std::vector<char>& bytes, uint64_t align, BinaryInfo& out) {
    uint64_t at = 0;
    auto padded = [&](uint64_t n) { return (n + align - 1) / align * align; };
    while (bytes.size() - at >= 12) {
      uint32_t words[3];  // name size, contents size, type
      std::memcpy(words, bytes.data() + at, sizeof words);
      uint64_t name = at + 12, contents = name + padded(words[0]), end = contents + padded(words[1]);
      if (contents > bytes.size() || words[1] > bytes.size() - contents) return;
      std::string_view owner(bytes.data() + name, words[0]);
      if (owner == std::string_view("Tenon\0", 6) && words[2] == 1) {
        read_note(std::string_view(bytes.data() + contents, words[1]), out);
      }
      if (end > bytes.size()) return;
      at = end;
    }
  }

  static void read_note(std::string_view text, BinaryInfo& out) {
    out.has_note = true;
    for (const std::string& line : split(text, '\n')) {
      size_t equals = line.find('=');
      if (equals != std::string::npos) out.note[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }

  const ByteSource& file_;
  FileHeader header_{};
  std::vector<ProgramHeader> programs_;
  std::vector<char> strings_;
  uint64_t symbols_ = 0, hash_ = 0, gnu_hash_ = 0;
};

}  // namespace

Result<BinaryInfo> read_elf(const ByteSource& file) {
  BinaryInfo info;
  RETURN_IF_ERROR(Reader(file).run(info));
  return info;
}

}  // namespace tenon::provider
