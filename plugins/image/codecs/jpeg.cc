#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>

#include "codecs/codec.h"

namespace tenon::image {
namespace {

constexpr std::string_view kName = "JPEG";
// A block of 64 pixels takes at least one bit of the file.
constexpr uint64_t kMostPixelsPerByte = 512;
// Each scan of a progressive image visits all blocks. Real images have about ten.
constexpr int kMostScans = 200;

struct State {
  State(Bytes bytes, const Canvas& target) : data(bytes), canvas(target) {
    jpeg_std_error(&errors);
    errors.error_exit = [](j_common_ptr jpeg) { leave(jpeg); };
    errors.emit_message = &on_message;
    errors.output_message = [](j_common_ptr) {};
    jpeg.err = &errors;
    jpeg.client_data = this;
    progress.progress_monitor = &on_progress;
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { jpeg_destroy_decompress(&jpeg); }  // does nothing before creation

  [[noreturn]] static void leave(j_common_ptr jpeg) {
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    static_cast<State*>(jpeg->client_data)->escape.leave(text);
  }
  /// Levels below 0 warn of damage, after which the pixels are guesses. These codes are harmless.
  static void on_message(j_common_ptr jpeg, int level) {
    const int code = jpeg->err->msg_code;
    const bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR;
    if (level < 0 && !harmless) leave(jpeg);
  }
  static void on_progress(j_common_ptr common) {
    State& s = *static_cast<State*>(common->client_data);
    if (s.canvas.cancelled()) s.escape.leave("cancelled");
    if (s.jpeg.input_scan_number > kMostScans) s.escape.leave("there are too many scans");
  }

  Bytes data;
  const Canvas& canvas;
  Escape escape;
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  jpeg_decompress_struct jpeg{};
  JSAMPROW row = nullptr;
};

void read_header(State& s) {
  jpeg_create_decompress(&s.jpeg);
  s.jpeg.progress = &s.progress;
  jpeg_mem_src(&s.jpeg, s.data.data(), static_cast<unsigned long>(s.data.size()));
  jpeg_read_header(&s.jpeg, TRUE);
  const bool inks = s.jpeg.jpeg_color_space == JCS_CMYK || s.jpeg.jpeg_color_space == JCS_YCCK;
  s.jpeg.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  s.jpeg.dct_method = JDCT_ISLOW;
  s.jpeg.do_fancy_upsampling = TRUE;
}
void start(State& s) { jpeg_start_decompress(&s.jpeg); }
void read_row(State& s) { jpeg_read_scanlines(&s.jpeg, &s.row, 1); }
void finish(State& s) { jpeg_finish_decompress(&s.jpeg); }

void must(State& state, void (*step)(State&)) {
  if (attempt(state, step)) return;
  state.canvas.check_cancelled();
  bad(kName, std::string_view(state.escape.text));
}

/// Converts cyan, magenta, yellow and black in place to red, green and blue. Adobe's files store them
/// inverted.
void inks_to_rgb(uint8_t* row, int64_t width, bool inverted) {
  constexpr uint64_t kFull = uint64_t{255} * 255;
  const auto light = [&](uint8_t ink) -> uint64_t { return inverted ? ink : 255u - ink; };
  uint8_t* to = row;
  for (const uint8_t* from = row; from != row + width * 4; from += 4, to += 3) {
    const uint64_t black = light(from[3]), cyan = light(from[0]), magenta = light(from[1]),
                   yellow = light(from[2]);
    to[0] = to_byte(cyan * black, kFull);
    to[1] = to_byte(magenta * black, kFull);
    to[2] = to_byte(yellow * black, kFull);
  }
}

void decode(Bytes data, Canvas& canvas) {
  State s(data, canvas);
  must(s, read_header);
  const uint64_t width = s.jpeg.image_width, height = s.jpeg.image_height;
  check(width * height / kMostPixelsPerByte <= data.size(), kName, width, " x ", height,
        " pixels do not fit into the ", data.size(), " bytes of the file");
  const bool several_scans = jpeg_has_multiple_scans(&s.jpeg) != FALSE;
  canvas.open(kName, width, height, several_scans ? 2 * static_cast<uint64_t>(s.jpeg.num_components) : 0);
  must(s, start);
  check(s.jpeg.output_width == width && s.jpeg.output_height == height && s.jpeg.output_components <= 4,
        kName, "the size changes within the file");
  s.row = canvas.scratch(canvas.width() * 4);
  for (int64_t y = 0; y < canvas.height(); ++y) {
    must(s, read_row);
    if (s.jpeg.out_color_space == JCS_CMYK)
      inks_to_rgb(s.row, canvas.width(), s.jpeg.saw_Adobe_marker != FALSE);
    canvas.put(s.row);
  }
  must(s, finish);
}

}  // namespace

const Codec kJpeg{kName, [](Bytes data) { return starts_with(data, "\xff\xd8\xff"); }, decode};

}  // namespace tenon::image
