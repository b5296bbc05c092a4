#include <tiffio.h>

#include <cstdarg>
#include <cstdio>
#include <memory>

#include "codecs/codec.h"

namespace tenon::image {
namespace {

constexpr std::string_view kName = "TIFF";

/// The file in memory, and libtiff's first error message.
struct Source {
  Bytes data;
  uint64_t at = 0;
  char error[256] = {};

  static Source& of(thandle_t handle) { return *static_cast<Source*>(handle); }
  static tmsize_t read(thandle_t handle, void* to, tmsize_t count) {
    Source& s = of(handle);
    const uint64_t left = s.at < s.data.size() ? s.data.size() - s.at : 0;
    const auto n =
        static_cast<size_t>(std::min<uint64_t>(left, count < 0 ? 0 : static_cast<uint64_t>(count)));
    if (n > 0) std::memcpy(to, s.data.data() + s.at, n);
    s.at += n;
    return static_cast<tmsize_t>(n);
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    Source& s = of(handle);
    const uint64_t base = whence == SEEK_CUR ? s.at : whence == SEEK_END ? s.data.size() : 0;
    s.at = base + offset;
    return s.at;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return of(handle).data.size(); }

  /// Replaces the handlers of the process, which print.
  static int on_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
    Source& s = *static_cast<Source*>(user);
    if (s.error[0] == '\0') std::vsnprintf(s.error, sizeof(s.error), format, arguments);
    return 1;
  }
  static int on_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

  [[noreturn]] void refuse(std::string_view otherwise) const {
    bad(kName, error[0] != '\0' ? std::string_view(error) : otherwise);
  }
};

using File = std::unique_ptr<TIFF, void (*)(TIFF*)>;

File open(Source& source, uint64_t memory_limit) {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             &TIFFOpenOptionsFree);
  if (options == nullptr) throw std::bad_alloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), &Source::on_error, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), &Source::on_warning, &source);
  const uint64_t most = Canvas::kMostPixels * 4;
  TIFFOpenOptionsSetMaxSingleMemAlloc(
      options.get(), static_cast<tmsize_t>(memory_limit == 0 ? most : std::min(most, memory_limit)));
  File file(TIFFClientOpenExt("image", "rm", &source, &Source::read, &Source::write, &Source::seek,
                              &Source::close, &Source::size, nullptr, nullptr, options.get()),
            &TIFFClose);
  if (file == nullptr) source.refuse("the file cannot be read");
  return file;
}

/// Keeps colours as they are stored: libtiff multiplies them by an alpha that it considers unassociated.
void keep_colours(TIFF* file) {
  uint16_t count = 0;
  uint16_t* kinds = nullptr;
  if (TIFFGetField(file, TIFFTAG_EXTRASAMPLES, &count, &kinds) == 0) return;
  std::vector<uint16_t> changed(kinds, kinds + count);
  for (uint16_t& kind : changed) {
    if (kind == EXTRASAMPLE_UNASSALPHA) kind = EXTRASAMPLE_ASSOCALPHA;
  }
  TIFFSetField(file, TIFFTAG_EXTRASAMPLES, count, changed.data());
}

/// libtiff's reader of any pixel format as red, green, blue and alpha.
class Pixels {
 public:
  Pixels(TIFF* file, const Source& source) {
    char text[1024] = {};
    if (TIFFRGBAImageOK(file, text) == 0 || TIFFRGBAImageBegin(&image_, file, 1, text) == 0) {
      if (text[0] != '\0') bad(kName, std::string_view(text));
      source.refuse("its pixel format is not supported");
    }
    orientation_ = image_.orientation;
    image_.req_orientation = image_.orientation;  // rows stay in stored order
  }
  Pixels(const Pixels&) = delete;
  Pixels& operator=(const Pixels&) = delete;
  ~Pixels() { TIFFRGBAImageEnd(&image_); }

  uint32_t width() const { return image_.width; }
  uint32_t height() const { return image_.height; }
  uint16_t orientation() const { return orientation_; }
  bool read(uint32_t first, uint32_t count, uint32_t* to) {
    image_.row_offset = static_cast<int>(first);
    image_.col_offset = 0;
    return TIFFRGBAImageGet(&image_, to, image_.width, count) != 0;
  }

 private:
  TIFFRGBAImage image_{};
  uint16_t orientation_ = ORIENTATION_TOPLEFT;
};

/// Rows to decode at once: one strip or tile.
uint32_t band_rows(TIFF* file, uint32_t height) {
  uint32_t rows = 0;
  if (TIFFIsTiled(file) != 0) {
    TIFFGetField(file, TIFFTAG_TILELENGTH, &rows);
  } else {
    TIFFGetFieldDefaulted(file, TIFFTAG_ROWSPERSTRIP, &rows);
  }
  return rows == 0 ? height : std::min(rows, height);
}

void put_row(const uint32_t* from, bool mirrored, uint8_t* rgb, Canvas& canvas) {
  for (int64_t x = 0; x < canvas.width(); ++x) {
    const uint32_t pixel = from[mirrored ? canvas.width() - 1 - x : x];
    rgb[x * 3] = static_cast<uint8_t>(TIFFGetR(pixel));
    rgb[x * 3 + 1] = static_cast<uint8_t>(TIFFGetG(pixel));
    rgb[x * 3 + 2] = static_cast<uint8_t>(TIFFGetB(pixel));
  }
  canvas.put(rgb);
}

void decode(Bytes data, Canvas& canvas) {
  Source source{data};
  const File file = open(source, canvas.memory_limit());
  keep_colours(file.get());
  Pixels pixels(file.get(), source);
  const uint16_t way = pixels.orientation();
  check(way >= ORIENTATION_TOPLEFT && way <= ORIENTATION_BOTLEFT, kName, "orientation ", way,
        " is not supported");
  const bool from_below = way == ORIENTATION_BOTLEFT || way == ORIENTATION_BOTRIGHT;
  const bool mirrored = way == ORIENTATION_TOPRIGHT || way == ORIENTATION_BOTRIGHT;
  canvas.open(kName, pixels.width(), pixels.height(), 4 + 4);
  const uint32_t height = pixels.height(), band = band_rows(file.get(), height);
  auto* raster = reinterpret_cast<uint32_t*>(canvas.scratch(canvas.width() * band * 4));
  uint8_t* rgb = canvas.scratch(canvas.width() * 3);
  const uint32_t bands = (height + band - 1) / band;
  for (uint32_t i = 0; i < bands; ++i) {
    canvas.check_cancelled();
    const uint32_t first = (from_below ? bands - 1 - i : i) * band, count = std::min(band, height - first);
    if (!pixels.read(first, count, raster) || source.error[0] != '\0')
      source.refuse("the pixels cannot be decoded");
    for (uint32_t y = 0; y < count; ++y)
      put_row(raster + int64_t{from_below ? count - 1 - y : y} * canvas.width(), mirrored, rgb, canvas);
  }
}

bool knows(Bytes data) {
  using namespace std::string_view_literals;
  for (const std::string_view magic : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (starts_with(data, magic)) return true;
  }
  return false;
}

}  // namespace

const Codec kTiff{kName, knows, decode};

}  // namespace tenon::image
