#include <openjpeg.h>

#include <memory>

#include "codecs/codec.h"

namespace tenon::image {
namespace {

constexpr std::string_view kName = "JPEG 2000";
constexpr std::string_view kBoxes("\0\0\0\x0cjP  \r\n\x87\n", 12), kCodestream("\xff\x4f\xff\x51", 4);

struct Source {
  Bytes data;
  uint64_t at = 0;
  char error[256] = {};

  static Source& of(void* user) { return *static_cast<Source*>(user); }
  static OPJ_SIZE_T read(void* to, OPJ_SIZE_T count, void* user) {
    Source& s = of(user);
    const auto n = static_cast<size_t>(std::min<uint64_t>(count, s.data.size() - s.at));
    if (n == 0) return static_cast<OPJ_SIZE_T>(-1);  // end of the data
    std::memcpy(to, s.data.data() + s.at, n);
    s.at += n;
    return n;
  }
  static OPJ_OFF_T skip(OPJ_OFF_T count, void* user) {
    Source& s = of(user);
    if (count < 0) return -1;
    const uint64_t n = std::min<uint64_t>(static_cast<uint64_t>(count), s.data.size() - s.at);
    s.at += n;
    return n == 0 && count > 0 ? -1 : static_cast<OPJ_OFF_T>(n);
  }
  static OPJ_BOOL seek(OPJ_OFF_T to, void* user) {
    Source& s = of(user);
    if (to < 0 || static_cast<uint64_t>(to) > s.data.size()) return OPJ_FALSE;
    s.at = static_cast<uint64_t>(to);
    return OPJ_TRUE;
  }
  static void on_error(const char* text, void* user) {
    Source& s = of(user);
    if (s.error[0] != '\0') return;
    const size_t n = std::string_view(text).substr(0, std::string_view(text).find('\n')).copy(s.error, 255);
    s.error[n] = '\0';
  }
  static void ignore(const char*, void*) {}

  void must(bool ok, std::string_view otherwise) const {
    check(ok, kName, error[0] != '\0' ? std::string_view(error) : otherwise);
  }
};

using Stream = std::unique_ptr<opj_stream_t, void (*)(opj_stream_t*)>;
using Decoder = std::unique_ptr<opj_codec_t, void (*)(opj_codec_t*)>;
using Image = std::unique_ptr<opj_image_t, void (*)(opj_image_t*)>;

Stream make_stream(Source& source) {
  Stream stream(opj_stream_create(std::min<size_t>(source.data.size(), size_t{1} << 20), OPJ_TRUE),
                &opj_stream_destroy);
  if (stream == nullptr) throw std::bad_alloc();
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), source.data.size());
  opj_stream_set_read_function(stream.get(), &Source::read);
  opj_stream_set_skip_function(stream.get(), &Source::skip);
  opj_stream_set_seek_function(stream.get(), &Source::seek);
  return stream;
}

Decoder make_decoder(Source& source) {
  const bool boxes = starts_with(source.data, kBoxes);
  Decoder decoder(opj_create_decompress(boxes ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K), &opj_destroy_codec);
  if (decoder == nullptr) throw std::bad_alloc();
  opj_set_error_handler(decoder.get(), &Source::on_error, &source);
  opj_set_warning_handler(decoder.get(), &Source::ignore, nullptr);
  opj_set_info_handler(decoder.get(), &Source::ignore, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  source.must(opj_setup_decoder(decoder.get(), &parameters) != OPJ_FALSE, "the decoder cannot be set up");
  source.must(opj_decoder_set_strict_mode(decoder.get(), OPJ_TRUE) != OPJ_FALSE,
              "the decoder cannot be set up");
  return decoder;
}

/// One component as bytes, scaled to the size of the image.
class Plane {
 public:
  Plane(const opj_image_comp_t& c, uint64_t width, uint64_t height)
      : c_(c), offset_(c.sgnd != 0 ? int64_t{1} << (c.prec - 1) : 0), most_((uint64_t{1} << c.prec) - 1) {
    check(c.data != nullptr && uint64_t{c.w} * c.dx >= width && uint64_t{c.h} * c.dy >= height, kName,
          "a component is smaller than the image");
  }
  uint8_t at(uint64_t x, uint64_t y) const {
    const int64_t value = c_.data[(y / c_.dy) * c_.w + x / c_.dx] + offset_;
    return to_byte(static_cast<uint64_t>(std::clamp<int64_t>(value, 0, static_cast<int64_t>(most_))), most_);
  }

 private:
  const opj_image_comp_t& c_;
  int64_t offset_;
  uint64_t most_;
};

uint8_t clamped(double value) { return static_cast<uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

/// In place, full range.
void ycc_to_rgb(uint8_t* row, int64_t width) {
  for (uint8_t* p = row; p != row + width * 3; p += 3) {
    const double y = p[0], cb = p[1] - 128.0, cr = p[2] - 128.0;
    p[0] = clamped(y + 1.402 * cr), p[1] = clamped(y - 0.344136 * cb - 0.714136 * cr),
    p[2] = clamped(y + 1.772 * cb);
  }
}

bool is_ycc(const opj_image_t& image) {
  check(image.color_space != OPJ_CLRSPC_EYCC && image.color_space != OPJ_CLRSPC_CMYK, kName,
        "pixels in e-YCC or CMYK are not supported");
  const bool thinned =
      image.numcomps == 3 && image.comps[0].dx == image.comps[0].dy && image.comps[1].dx != 1;
  return image.numcomps >= 3 && (image.color_space == OPJ_CLRSPC_SYCC || thinned);
}

void check_header(const opj_image_t& image) {
  check(image.x1 > image.x0 && image.y1 > image.y0, kName, "the image has no pixels");
  check(image.numcomps >= 1 && image.numcomps <= 5, kName, image.numcomps, " components are not supported");
  for (uint32_t c = 0; c < image.numcomps; ++c) {
    const opj_image_comp_t& component = image.comps[c];
    check(component.prec >= 1 && component.prec <= 31, kName, component.prec,
          " bits per component are not supported");
    check(component.dx >= 1 && component.dy >= 1, kName, "a component has no pixels");
  }
}

void draw(const opj_image_t& image, Canvas& canvas) {
  const auto width = static_cast<uint64_t>(canvas.width()), height = static_cast<uint64_t>(canvas.height());
  check_header(image);
  const bool ycc = is_ycc(image), colours = image.numcomps >= 3;
  std::vector<Plane> planes;
  for (uint32_t c = 0; c < (colours ? 3u : 1u); ++c) planes.emplace_back(image.comps[c], width, height);
  uint8_t* rgb = canvas.scratch(canvas.width() * 3);
  for (uint64_t y = 0; y < height; ++y) {
    for (uint64_t x = 0; x < width; ++x)
      for (size_t c = 0; c < 3; ++c) rgb[x * 3 + c] = planes[colours ? c : 0].at(x, y);
    if (ycc) ycc_to_rgb(rgb, canvas.width());
    canvas.put(rgb);
  }
}

void decode(Bytes data, Canvas& canvas) {
  Source source{data};
  const Stream stream = make_stream(source);
  const Decoder decoder = make_decoder(source);
  opj_image_t* read = nullptr;
  const bool has_header = opj_read_header(stream.get(), decoder.get(), &read) != OPJ_FALSE;
  const Image image(read, &opj_image_destroy);
  source.must(has_header && image != nullptr, "the header is truncated or damaged");
  check_header(*image);
  // OpenJPEG holds each component as 32-bit integers, twice while it decodes a tile.
  canvas.open(kName, image->x1 - image->x0, image->y1 - image->y0, uint64_t{8} * image->numcomps);
  source.must(opj_decode(decoder.get(), stream.get(), image.get()) != OPJ_FALSE,
              "the pixels cannot be decoded");
  canvas.check_cancelled();
  source.must(opj_end_decompress(decoder.get(), stream.get()) != OPJ_FALSE, "the file is truncated");
  draw(*image, canvas);
}

bool knows(Bytes data) { return starts_with(data, kBoxes) || starts_with(data, kCodestream); }

}  // namespace

const Codec kJpeg2000{kName, knows, decode};

}  // namespace tenon::image
