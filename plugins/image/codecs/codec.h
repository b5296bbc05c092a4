// The codec interface, and the canvas that codecs write rows to.
#pragma once

#include <csetjmp>

#include "tenon/ep.hpp"

namespace tenon::image {

using Bytes = std::span<const uint8_t>;

enum class PixelFormat { kRgb, kBgr, kGray };

/// Throws an Error for a broken file or an unsupported variant. It blames the caller's data, so the host does
/// not try again.
template <class... Parts>
[[noreturn]] void bad(std::string_view format, const Parts&... parts) {
  ep::fail(TENON_INVALID_ARGUMENT, format, ": ", parts...);
}
template <class... Parts>
void check(bool condition, std::string_view format, const Parts&... parts) {
  if (!condition) [[unlikely]]
    bad(format, parts...);
}

/// The output of a node. Stores pixels in the order that the model asks for.
class Canvas {
 public:
  /// Larger images are refused, however much memory there is.
  static constexpr uint64_t kMostPixels = uint64_t{1} << 28;

  Canvas(const ep::Context& context, PixelFormat format, uint64_t memory_limit)
      : context_(context), format_(format), memory_limit_(memory_limit) {}

  /// Allocates the output, or throws an Error beyond the limits. Call it after comparing the size with the
  /// length of the file. `work_per_pixel`: bytes that the codec allocates besides.
  void open(std::string_view codec, uint64_t width, uint64_t height, uint64_t work_per_pixel);
  /// Stores the next row from the top: `width` pixels of red, green, blue. Throws if the Run is cancelled.
  void put(const uint8_t* rgb);
  /// Throws an Error unless all rows were put.
  void finish(std::string_view codec) const;

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  /// Memory that lives until the Run ends.
  uint8_t* scratch(int64_t bytes) const { return context_.scratch<uint8_t>(bytes); }
  bool cancelled() const { return context_.cancelled(); }
  void check_cancelled() const { context_.check_cancelled(); }
  /// For libraries with a limit of their own; 0: unlimited.
  uint64_t memory_limit() const { return memory_limit_; }

 private:
  const ep::Context& context_;
  PixelFormat format_;
  uint64_t memory_limit_;
  int64_t width_ = 0, height_ = 0, rows_ = 0;
  uint8_t* out_ = nullptr;
};

/// Leaves a C library whose error handler must not return.
struct Escape {
  std::jmp_buf back;
  char text[256] = {};

  [[noreturn]] void leave(std::string_view what) {
    const size_t n = what.copy(text, sizeof(text) - 1);
    text[n] = '\0';
    std::longjmp(back, 1);
  }
};

/// Runs `step(state)`; false when the library left it through `state.escape`. No frame of `step` may hold an
/// object with a destructor: longjmp() skips it.
template <class State>
bool attempt(State& state, void (*step)(State&)) {
  if (setjmp(state.escape.back) != 0) return false;
  step(state);
  return true;
}

struct Codec {
  std::string_view name;
  bool (*knows)(Bytes);  // from the first bytes
  void (*decode)(Bytes, Canvas&);
};
extern const Codec kBmp, kJpeg, kJpeg2000, kPng, kPnm, kTiff, kWebp;

/// The codec that knows the data; throws an Error if there is none.
const Codec& codec_of(Bytes data);

inline bool starts_with(Bytes data, std::string_view magic) {
  return data.size() >= magic.size() && std::memcmp(data.data(), magic.data(), magic.size()) == 0;
}
/// Scales `value` from [0, most] to [0, 255], rounded.
inline uint8_t to_byte(uint64_t value, uint64_t most) {
  return static_cast<uint8_t>((value * 255 + most / 2) / most);
}

}  // namespace tenon::image
