#include "image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fake_cuda {
namespace {

constexpr std::string_view kMagic =
    "\x7f"
    "FAKECUBIN\n";
constexpr std::string_view kPtxMagic =
    "//\n// Compiled kernels of the stand-in for NVRTC\n//\n.version 9.0\n";
constexpr size_t kHeaderBytes = 256;  // of a cubin, so that its size is known without reading more

std::string header_of(const Image& image) {
  return "sm " + std::to_string(image.architecture) + "\nraces " + (image.finds_races ? "1" : "0") +
         "\nkey " + image.key + "\nhash " + hash_of(image.object) + "\nbytes " +
         std::to_string(image.object.size()) + "\n";
}

/// The word behind `name ` in lines of text.
std::string field(std::string_view lines, std::string_view name) {
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string_view line = lines.substr(at, end - at);
    if (line.substr(0, name.size()) == name && line.size() > name.size() && line[name.size()] == ' ')
      return std::string(line.substr(name.size() + 1));
    at = end + 1;
  }
  return {};
}

std::string checked(std::string_view lines, std::string object, Image* out) {
  out->architecture = std::atoi(field(lines, "sm").c_str());
  out->finds_races = field(lines, "races") == "1";
  out->key = field(lines, "key");
  out->object = std::move(object);
  if (out->architecture == 0 || out->key.empty()) return "its header is damaged";
  return hash_of(out->object) == field(lines, "hash") ? "" : "its content is damaged";
}

constexpr std::string_view kDigits = "0123456789abcdef";

template <class T>
bool read_at(std::string_view bytes, uint64_t at, T* out) {
  if (at > bytes.size() || sizeof(T) > bytes.size() - at) return false;
  std::memcpy(out, bytes.data() + at, sizeof(T));
  return true;
}

std::string_view part(std::string_view bytes, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes.size() ||
      section.sh_size > bytes.size() - section.sh_offset)
    return {};
  return bytes.substr(section.sh_offset, section.sh_size);
}

std::string text_at(std::string_view texts, size_t at) {
  if (at >= texts.size()) return {};
  const std::string_view rest = texts.substr(at);
  return std::string(rest.substr(0, rest.find('\0')));
}

struct Section {
  std::string name;
  Elf64_Shdr header;
};

std::vector<Section> sections_of(std::string_view object) {
  Elf64_Ehdr header{};
  if (!read_at(object, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  std::vector<Section> out(header.e_shnum);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!read_at(object, header.e_shoff + i * sizeof(Elf64_Shdr), &out[i].header)) return {};
  }
  if (header.e_shstrndx >= out.size()) return {};
  const std::string_view names = part(object, out[header.e_shstrndx].header);
  for (Section& section : out) section.name = text_at(names, section.header.sh_name);
  return out;
}

}  // namespace

std::string hash_of(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash ^ bytes.size() << 48));
  return text;
}

std::string cubin_of(const Image& image) {
  std::string out = std::string(kMagic) + header_of(image);
  out.resize(kHeaderBytes, '\n');
  return out + image.object;
}

std::string ptx_of(const Image& image) {
  std::string out(kPtxMagic);
  out += ".target sm_" + std::to_string(image.architecture) + "\n.address_size 64\n" + header_of(image) +
         "object ";
  for (const char byte : image.object) {
    out += kDigits[static_cast<unsigned char>(byte) / 16];
    out += kDigits[static_cast<unsigned char>(byte) % 16];
  }
  return out + "\n";
}

size_t image_size(const void* image) {
  const auto* text = static_cast<const char*>(image);
  if (std::strncmp(text, kPtxMagic.data(), kPtxMagic.size()) == 0) return std::strlen(text);
  if (std::strncmp(text, kMagic.data(), kMagic.size()) != 0) return 0;
  return kHeaderBytes + std::strtoull(field({text, kHeaderBytes}, "bytes").c_str(), nullptr, 10);
}

std::string read_image(std::string_view bytes, Image* out) {
  if (bytes.substr(0, kPtxMagic.size()) == kPtxMagic) {
    const std::string digits = field(bytes, "object");
    std::string object;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      const size_t high = kDigits.find(digits[i]), low = kDigits.find(digits[i + 1]);
      if (high == std::string_view::npos || low == std::string_view::npos) return "its content is damaged";
      object += static_cast<char>(high * 16 + low);
    }
    out->is_ptx = true;
    return checked(bytes.substr(0, bytes.find("\nobject ") + 1), std::move(object), out);
  }
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic)
    return "it is no compiled kernel";
  return checked(bytes.substr(kMagic.size(), kHeaderBytes - kMagic.size()),
                 std::string(bytes.substr(kHeaderBytes)), out);
}

bool read_kernels(std::string_view object, std::vector<KernelInfo>* out, size_t* static_shared) {
  out->clear();
  *static_shared = 0;
  bool found = false;
  for (const Section& section : sections_of(object)) {
    if ((section.header.sh_flags & SHF_TLS) != 0) *static_shared += section.header.sh_size;
    if (section.name != ".fake_cuda_kernels") continue;
    const std::string_view bytes = part(object, section.header);
    out->resize(bytes.size() / sizeof(KernelInfo));
    std::memcpy(out->data(), bytes.data(), out->size() * sizeof(KernelInfo));
    found = true;
  }
  return found;
}

std::vector<std::string> undefined_names(std::string_view object) {
  std::vector<std::string> out;
  const std::vector<Section> sections = sections_of(object);
  for (const Section& section : sections) {
    if (section.header.sh_type != SHT_DYNSYM || section.header.sh_link >= sections.size()) continue;
    const std::string_view names = part(object, sections[section.header.sh_link].header);
    const std::string_view symbols = part(object, section.header);
    for (size_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol{};
      std::memcpy(&symbol, symbols.data() + at, sizeof(symbol));
      if (symbol.st_shndx == SHN_UNDEF) out.push_back(text_at(names, symbol.st_name));
    }
  }
  return out;
}

bool load_file(const std::string& path, std::string* out) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::array<char, 65536> buffer;
  out->clear();
  ssize_t count = 0;
  while ((count = read(fd, buffer.data(), buffer.size())) > 0)
    out->append(buffer.data(), static_cast<size_t>(count));
  close(fd);
  return count == 0;
}

std::string store_file(const std::string& folder, const std::string& name, std::string_view content) {
  const std::string path = folder + "/" + name;
  if (access(path.c_str(), R_OK) == 0) return {};
  for (size_t at = 1; at != std::string::npos;) {
    at = folder.find('/', at + 1);
    mkdir(folder.substr(0, at).c_str(), 0777);
  }
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return "cannot write to " + folder + ": " + std::strerror(errno);
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = write(fd, content.data() + done, content.size() - done);
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  fchmod(fd, 0644);
  close(fd);
  if (done == content.size() && rename(temporary.c_str(), path.c_str()) == 0) return {};
  unlink(temporary.c_str());
  return "cannot write " + path + ": " + std::strerror(errno);
}

}  // namespace fake_cuda
