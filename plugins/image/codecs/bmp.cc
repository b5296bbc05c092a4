#include <bit>

#include "codecs/codec.h"

namespace tenon::image {
namespace {

constexpr std::string_view kName = "BMP";

struct Mask {
  uint32_t bits = 0;
  uint8_t of(uint32_t pixel) const {
    if (bits == 0) return 0;
    const int shift = std::countr_zero(bits);
    return to_byte((pixel & bits) >> shift, bits >> shift);
  }
};

struct Header {
  uint64_t width = 0, height = 0;
  bool top_down = false;
  uint32_t bits = 0;
  uint64_t pixels = 0;  // offset in the file
  Mask masks[3];
  std::vector<uint8_t> palette;  // red, green, blue
};

class Reader {
 public:
  explicit Reader(Bytes data) : data_(data) {}
  uint32_t u16(uint64_t at) const { return bytes(at, 2); }
  uint32_t u32(uint64_t at) const { return bytes(at, 4); }
  uint64_t size() const { return data_.size(); }
  const uint8_t* at(uint64_t offset) const { return data_.data() + offset; }

 private:
  uint32_t bytes(uint64_t at, uint64_t count) const {
    check(at <= data_.size() && count <= data_.size() - at, kName, "the header ends after ", data_.size(),
          " bytes");
    uint32_t out = 0;
    for (uint64_t i = 0; i < count; ++i) out |= uint32_t{data_[at + i]} << (8 * i);
    return out;
  }
  Bytes data_;
};

void read_palette(const Reader& in, uint64_t at, uint64_t entries, uint64_t entry_bytes, Header& h) {
  check(entries <= 256, kName, "the palette has ", entries, " colours");
  check(at <= in.size() && entries * entry_bytes <= in.size() - at, kName, "the palette ends after ",
        in.size(), " bytes");
  for (uint64_t i = 0; i < entries; ++i) {
    const uint8_t* colour = in.at(at + i * entry_bytes);
    h.palette.insert(h.palette.end(), {colour[2], colour[1], colour[0]});
  }
}

void read_masks(const Reader& in, uint32_t compression, Header& h) {
  if (compression == 0) {
    const bool small = h.bits == 16;
    h.masks[0].bits = small ? 0x7c00u : 0xff0000u;
    h.masks[1].bits = small ? 0x03e0u : 0x00ff00u;
    h.masks[2].bits = small ? 0x001fu : 0x0000ffu;
    return;
  }
  // The masks follow a short header and are part of a longer one, at the same offset.
  for (uint64_t i = 0; i < 3; ++i) {
    h.masks[i].bits = in.u32(14 + 40 + 4 * i);
    const uint32_t plain = h.masks[i].bits == 0 ? 0 : h.masks[i].bits >> std::countr_zero(h.masks[i].bits);
    check((plain & (plain + 1)) == 0, kName, "the mask of a colour has gaps");
    check(h.bits == 32 || h.masks[i].bits <= 0xffff, kName, "the mask of a colour is outside the pixel");
  }
}

void require_plain(uint32_t compression, uint32_t bits) {
  constexpr std::string_view kNames[] = {"none", "RLE8", "RLE4", "bit fields", "JPEG", "PNG", "bit fields"};
  const bool masks = (compression == 3 || compression == 6) && (bits == 16 || bits == 32);
  check(compression == 0 || masks, kName, "compression ", compression, " (",
        compression < 7 ? kNames[compression] : "unknown", ") of ", bits, " bits per pixel is not supported");
}

Header read_header(const Reader& in) {
  Header h;
  h.pixels = in.u32(10);
  const uint32_t info = in.u32(14);
  const bool core = info == 12;
  check(core || (info >= 40 && info <= 124), kName, "a header of ", info, " bytes is unknown");
  h.width = core ? in.u16(18) : in.u32(18);
  h.height = core ? in.u16(20) : in.u32(22);
  if (!core && (h.height & 0x80000000u) != 0) h.top_down = true, h.height = 0x100000000u - h.height;
  check(h.width <= 0x7fffffffu, kName, "the width is negative");
  h.bits = core ? in.u16(24) : in.u16(28);
  const uint32_t compression = core ? 0 : in.u32(30);
  require_plain(compression, h.bits);
  const uint64_t after = 14 + uint64_t{info};
  if (h.bits == 1 || h.bits == 2 || h.bits == 4 || h.bits == 8) {
    const uint32_t used = core ? 0 : in.u32(46);
    read_palette(in, after, used == 0 ? 1u << h.bits : used, core ? 3 : 4, h);
  } else {
    check(h.bits == 16 || h.bits == 24 || h.bits == 32, kName, h.bits, " bits per pixel are not supported");
    read_masks(in, compression, h);
  }
  check(h.pixels >= after, kName, "the pixels begin at byte ", h.pixels, ", inside the header");
  return h;
}

void palette_row(const Header& h, const uint8_t* from, uint8_t* rgb) {
  for (uint64_t x = 0; x < h.width; ++x) {
    const uint64_t bit = x * h.bits;
    const size_t index = (from[bit / 8] >> (8 - h.bits - bit % 8)) & ((1u << h.bits) - 1);
    check(index * 3 < h.palette.size(), kName, "colour ", index, " is outside the palette of ",
          h.palette.size() / 3, " colours");
    std::memcpy(rgb + x * 3, h.palette.data() + index * 3, 3);
  }
}

void plain_row(const Header& h, const uint8_t* from, uint8_t* rgb) {
  const uint64_t step = h.bits / 8;
  for (uint64_t x = 0; x < h.width; ++x, from += step, rgb += 3) {
    uint32_t pixel = 0;
    for (uint64_t i = 0; i < step; ++i) pixel |= uint32_t{from[i]} << (8 * i);
    for (int c = 0; c < 3; ++c) rgb[c] = h.masks[c].of(pixel);
  }
}

void decode(Bytes data, Canvas& canvas) {
  const Reader in(data);
  const Header h = read_header(in);
  const uint64_t stride = (h.width * h.bits + 31) / 32 * 4;
  check(h.height == 0 || (h.pixels <= in.size() && stride <= (in.size() - h.pixels) / h.height), kName,
        h.width, " x ", h.height, " pixels of ", h.bits, " bits do not fit into the ", in.size(),
        " bytes of the file");
  canvas.open(kName, h.width, h.height, 0);
  uint8_t* rgb = canvas.scratch(canvas.width() * 3);
  for (uint64_t y = 0; y < h.height; ++y) {
    const uint8_t* from = in.at(h.pixels + stride * (h.top_down ? y : h.height - 1 - y));
    h.palette.empty() ? plain_row(h, from, rgb) : palette_row(h, from, rgb);
    canvas.put(rgb);
  }
}

}  // namespace

const Codec kBmp{kName, [](Bytes data) { return starts_with(data, "BM"); }, decode};

}  // namespace tenon::image
