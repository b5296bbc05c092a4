#include <png.h>

#include "codecs/codec.h"

namespace tenon::image {
namespace {

constexpr std::string_view kName = "PNG";
constexpr uint64_t kMostDeflated = 1032;  // most bytes that one byte of deflated data expands to

struct State {
  explicit State(Bytes bytes) : data(bytes) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &on_error, &on_warning);
    info = png == nullptr ? nullptr : png_create_info_struct(png);
    if (info == nullptr) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png, this, &on_read);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { png_destroy_read_struct(&png, &info, nullptr); }

  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    static_cast<State*>(png_get_error_ptr(png))->escape.leave(text);
  }
  static void on_warning(png_structp, png_const_charp) {}  // about chunks that do not affect the pixels
  static void on_read(png_structp png, png_bytep to, size_t count) {
    State& state = *static_cast<State*>(png_get_io_ptr(png));
    if (count > state.data.size() - state.at) png_error(png, "the file is truncated");
    std::memcpy(to, state.data.data() + state.at, count);
    state.at += count;
  }

  Bytes data;
  size_t at = 0;
  Escape escape;
  png_structp png = nullptr;
  png_infop info = nullptr;
  uint64_t row_bytes = 0;  // as stored
  int passes = 1;
  uint8_t* row = nullptr;
};

/// Reads everything before the pixels, and asks for 8-bit red, green and blue.
void read_header(State& s) {
  png_read_info(s.png, s.info);
  s.row_bytes = png_get_rowbytes(s.png, s.info);
  png_set_palette_to_rgb(s.png);
  png_set_expand_gray_1_2_4_to_8(s.png);
  png_set_scale_16(s.png);
  png_set_strip_alpha(s.png);
  png_set_gray_to_rgb(s.png);
  s.passes = png_set_interlace_handling(s.png);
  png_read_update_info(s.png, s.info);
}
void read_row(State& s) { png_read_row(s.png, s.row, nullptr); }
void read_end(State& s) { png_read_end(s.png, nullptr); }

void must(State& state, void (*step)(State&)) {
  if (!attempt(state, step)) bad(kName, std::string_view(state.escape.text));
}

void decode(Bytes data, Canvas& canvas) {
  State s(data);
  must(s, read_header);
  const uint64_t width = png_get_image_width(s.png, s.info), height = png_get_image_height(s.png, s.info);
  check(s.row_bytes * height / kMostDeflated <= data.size(), kName, width, " x ", height,
        " pixels do not fit into the ", data.size(), " bytes of the file");
  canvas.open(kName, width, height, s.passes == 1 ? 0 : 3);
  const int64_t stride = canvas.width() * 3;
  check(png_get_rowbytes(s.png, s.info) == static_cast<size_t>(stride), kName, "an unknown pixel format");
  // An interlaced image comes in several passes; each adds pixels to all rows.
  uint8_t* rows = canvas.scratch(s.passes == 1 ? stride : stride * canvas.height());
  for (int pass = 1; pass < s.passes; ++pass) {
    for (int64_t y = 0; y < canvas.height(); ++y) {
      canvas.check_cancelled();
      s.row = rows + y * stride;
      must(s, read_row);
    }
  }
  for (int64_t y = 0; y < canvas.height(); ++y) {
    s.row = s.passes == 1 ? rows : rows + y * stride;
    must(s, read_row);
    canvas.put(s.row);
  }
  must(s, read_end);
}

}  // namespace

const Codec kPng{kName, [](Bytes data) { return starts_with(data, "\x89PNG\r\n\x1a\n"); }, decode};

}  // namespace tenon::image
