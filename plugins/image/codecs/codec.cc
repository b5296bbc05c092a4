#include "codecs/codec.h"

#include <array>

namespace tenon::image {
namespace {

/// Uses the weights of ITU-R 601, rounded to 16 bits.
uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

std::string first_bytes(Bytes data) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : data.first(std::min<size_t>(data.size(), 8))) {
    out += out.empty() ? "" : " ";
    out += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

}  // namespace

void Canvas::open(std::string_view codec, uint64_t width, uint64_t height, uint64_t work_per_pixel) {
  check(width > 0 && height > 0, codec, "the image is ", width, " x ", height, " pixels");
  check(width <= kMostPixels && height <= kMostPixels / width, codec, "the image is ", width, " x ", height,
        " pixels, and the limit is ", kMostPixels, " pixels");
  const int64_t channels = format_ == PixelFormat::kGray ? 1 : 3;
  const uint64_t bytes = width * height * (static_cast<uint64_t>(channels) + work_per_pixel);
  ep::require(memory_limit_ == 0 || bytes <= memory_limit_, TENON_RESOURCE_EXHAUSTED, codec, ": an image of ",
              width, " x ", height, " pixels needs ", bytes, " bytes, and the limit is ", memory_limit_);
  width_ = static_cast<int64_t>(width), height_ = static_cast<int64_t>(height);
  out_ = context_.alloc_output(0, std::array{height_, width_, channels}).data<uint8_t>();
}

void Canvas::put(const uint8_t* rgb) {
  check_cancelled();
  ep::require(rows_ < height_, TENON_INTERNAL, "more rows than the image has");
  ++rows_;
  if (format_ == PixelFormat::kRgb) {
    std::memcpy(out_, rgb, static_cast<size_t>(width_) * 3);
    out_ += width_ * 3;
  } else if (format_ == PixelFormat::kBgr) {
    for (int64_t x = 0; x < width_; ++x, rgb += 3, out_ += 3)
      out_[0] = rgb[2], out_[1] = rgb[1], out_[2] = rgb[0];
  } else {
    for (int64_t x = 0; x < width_; ++x, rgb += 3) *out_++ = luma(rgb);
  }
}

void Canvas::finish(std::string_view codec) const {
  ep::require(rows_ == height_ && height_ > 0, TENON_INTERNAL, codec, ": ", rows_, " of ", height_,
              " rows were decoded");
}

const Codec& codec_of(Bytes data) {
  for (const Codec* codec : {&kJpeg, &kPng, &kWebp, &kTiff, &kJpeg2000, &kBmp, &kPnm}) {
    if (codec->knows(data)) return *codec;
  }
  ep::require(!data.empty(), TENON_INVALID_ARGUMENT, "there is no image: the data is empty");
  ep::fail(TENON_INVALID_ARGUMENT, "the ", data.size(), " bytes that begin with ", first_bytes(data),
           " are not an image in BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP");
}

}  // namespace tenon::image
