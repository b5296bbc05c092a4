#include "codecs/codec.h"

namespace tenon::image {
namespace {

constexpr std::string_view kName = "PNM";

bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  explicit Reader(Bytes data) : data_(data), at_(2) {}

  uint64_t left() const { return data_.size() - at_; }
  uint8_t byte() {
    check(at_ < data_.size(), kName, "the file ends after ", data_.size(), " bytes");
    return data_[at_++];
  }
  const uint8_t* take(uint64_t bytes) {  // the caller has compared `bytes` with left()
    at_ += bytes;
    return data_.data() + at_ - bytes;
  }
  /// Reads a number after white space and comments.
  uint64_t number(std::string_view what) {
    skip();
    const size_t begin = at_;
    uint64_t out = 0;
    while (at_ < data_.size() && is_digit(data_[at_])) {
      out = out * 10 + (data_[at_++] - '0');
      check(out <= 0xffffffffu, kName, what, " is too large");
    }
    check(at_ > begin, kName, what, " is missing at byte ", begin);
    return out;
  }
  /// Reads a digit 0 or 1. Digits need no separator.
  uint8_t bit() {
    skip();
    const uint8_t c = byte();
    check(c == '0' || c == '1', kName, "a pixel is neither 0 nor 1 at byte ", at_ - 1);
    return static_cast<uint8_t>(c - '0');
  }

 private:
  void skip() {
    for (; at_ < data_.size(); ++at_) {
      if (data_[at_] == '#') {
        while (at_ < data_.size() && data_[at_] != '\n') ++at_;
        if (at_ == data_.size()) return;
      } else if (!is_space(data_[at_])) {
        return;
      }
    }
  }
  Bytes data_;
  size_t at_;
};

struct Header {
  char kind = '6';
  uint64_t width = 0, height = 0, most = 1;
  uint64_t channels() const { return kind == '3' || kind == '6' ? 3 : 1; }
  bool text() const { return kind <= '3'; }
  bool bits() const { return kind == '1' || kind == '4'; }
  /// The fewest bytes that a row takes.
  uint64_t row_bytes() const {
    if (kind == '4') return (width + 7) / 8;
    if (kind == '1') return width;
    return width * channels() * (text() || most > 255 ? 2 : 1);
  }
};

Header read_header(Bytes data, Reader& in) {
  Header h;
  h.kind = static_cast<char>(data[1]);
  h.width = in.number("the width"), h.height = in.number("the height");
  if (!h.bits()) h.most = in.number("the largest value");
  check(h.most >= 1 && h.most <= 65535, kName, "the largest value is ", h.most);
  if (!h.text()) check(is_space(in.byte()), kName, "the header does not end with white space");
  return h;
}

uint8_t sample(const Header& h, Reader& in) {
  uint64_t value = 0;
  if (h.text()) {
    value = in.number("a pixel");
  } else {
    value = in.byte();
    if (h.most > 255) value = value * 256 + in.byte();
  }
  check(value <= h.most, kName, "a pixel is ", value, ", and the largest value is ", h.most);
  return to_byte(value, h.most);
}

void read_row(const Header& h, Reader& in, uint8_t* rgb) {
  const uint8_t* packed = h.kind == '4' ? in.take(h.row_bytes()) : nullptr;
  for (uint64_t x = 0; x < h.width; ++x, rgb += 3) {
    if (h.bits()) {  // 1 is black
      const int black = packed != nullptr ? packed[x / 8] >> (7 - x % 8) & 1 : in.bit();
      rgb[0] = black != 0 ? 0 : 255;
    } else {
      rgb[0] = sample(h, in);
    }
    for (int c = 1; c < 3; ++c) rgb[c] = h.channels() == 3 ? sample(h, in) : rgb[0];
  }
}

void decode(Bytes data, Canvas& canvas) {
  Reader in(data);
  const Header h = read_header(data, in);
  // The last number of a text file needs no separator.
  check(h.height == 0 || h.row_bytes() <= (in.left() + 1) / h.height, kName, h.width, " x ", h.height,
        " pixels do not fit into the ", data.size(), " bytes of the file");
  check(h.text() || h.row_bytes() * h.height <= in.left(), kName, "the file ends after ", data.size(),
        " bytes");
  canvas.open(kName, h.width, h.height, 0);
  uint8_t* rgb = canvas.scratch(canvas.width() * 3);
  for (uint64_t y = 0; y < h.height; ++y) {
    read_row(h, in, rgb);
    canvas.put(rgb);
  }
}

}  // namespace

const Codec kPnm{
    kName, [](Bytes data) { return data.size() > 2 && data[0] == 'P' && data[1] >= '1' && data[1] <= '6'; },
    decode};

}  // namespace tenon::image
