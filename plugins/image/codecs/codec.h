// What a codec is, and the canvas that it draws on row by row.
#pragma once

#include <csetjmp>

#include "tenon/ep.hpp"

namespace tenon::image {

using Bytes = std::span<const uint8_t>;

enum class PixelFormat { kRgb, kBgr, kGray };

/// A file that is broken, or a variant of the format that is not read. It is the caller's, so nothing is tried again.
template <class... Parts>
[[noreturn]] void bad(std::string_view format, const Parts&... parts) {
  ep::fail(TENON_INVALID_ARGUMENT, format, ": ", parts...);
}
template <class... Parts>
void check(bool condition, std::string_view format, const Parts&... parts) {
  if (!condition) [[unlikely]]
    bad(format, parts...);
}

/// The output of a node, which takes pixels in the order that the model wants.
class Canvas {
 public:
  /// More pixels in one image are refused, whatever memory there is.
  static constexpr uint64_t kMostPixels = uint64_t{1} << 28;

  Canvas(const ep::Context& context, PixelFormat format, uint64_t memory_limit)
      : context_(context), format_(format), memory_limit_(memory_limit) {}

  /// Takes memory for the pixels, once the codec has read the size and compared it with what the file holds.
  /// `work_per_pixel`: bytes that the codec takes besides.
  void open(std::string_view codec, uint64_t width, uint64_t height, uint64_t work_per_pixel);
  /// The next row from the top: `width` pixels of red, green, blue. Looks whether the Run is cancelled.
  void put(const uint8_t* rgb);
  /// All rows must have been put.
  void finish(std::string_view codec) const;

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  /// Memory until the Run is over.
  uint8_t* scratch(int64_t bytes) const { return context_.scratch<uint8_t>(bytes); }
  bool cancelled() const { return context_.cancelled(); }
  void check_cancelled() const { context_.check_cancelled(); }
  /// For a library that takes a limit of its own; 0: none.
  uint64_t memory_limit() const { return memory_limit_; }

 private:
  const ep::Context& context_;
  PixelFormat format_;
  uint64_t memory_limit_;
  int64_t width_ = 0, height_ = 0, rows_ = 0;
  uint8_t* out_ = nullptr;
};

/// Where a C library that may not return from its error handler goes back to.
struct Escape {
  std::jmp_buf back;
  char text[256] = {};

  [[noreturn]] void leave(std::string_view what) {
    const size_t n = what.copy(text, sizeof(text) - 1);
    text[n] = '\0';
    std::longjmp(back, 1);
  }
};

/// Runs `step(state)`; false when the library left it by `state.escape`. No frame of `step` holds anything that has a
/// destructor, because such a leave passes over it.
template <class State>
bool attempt(State& state, void (*step)(State&)) {
  if (setjmp(state.escape.back) != 0) return false;
  step(state);
  return true;
}

struct Codec {
  std::string_view name;
  bool (*knows)(Bytes);  // by the first bytes
  void (*decode)(Bytes, Canvas&);
};
extern const Codec kBmp, kJpeg, kJpeg2000, kPng, kPnm, kTiff, kWebp;

/// The codec that knows the data; an error that names all formats when none does.
const Codec& codec_of(Bytes data);

inline bool starts_with(Bytes data, std::string_view magic) {
  return data.size() >= magic.size() && std::memcmp(data.data(), magic.data(), magic.size()) == 0;
}
/// `value` of 0 to `most` as 0 to 255, rounded.
inline uint8_t to_byte(uint64_t value, uint64_t most) {
  return static_cast<uint8_t>((value * 255 + most / 2) / most);
}

}  // namespace tenon::image
