#include <webp/decode.h>

#include <memory>

#include "codecs/codec.h"

namespace tenon::image {
namespace {

constexpr std::string_view kName = "WebP";
constexpr size_t kPiece = size_t{64} * 1024;  // bytes between two checks for cancellation

std::string_view status_text(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "the decoder is out of memory";
    case VP8_STATUS_BITSTREAM_ERROR:
      return "the data is damaged";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "the file uses a feature that is not supported";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the file is truncated";
    default:
      return "the data cannot be read";
  }
}

WebPBitstreamFeatures read_features(Bytes data) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(data.data(), data.size(), &features);
  check(status == VP8_STATUS_OK, kName, status_text(status));
  check(features.has_animation == 0, kName, "an animation is not supported");
  const uint64_t length =
      data[4] | uint64_t{data[5]} << 8 | uint64_t{data[6]} << 16 | uint64_t{data[7]} << 24;
  check(length + 8 <= data.size(), kName, "the file is truncated: its header says ", length + 8,
        " bytes, and it has ", data.size());
  return features;
}

void decode(Bytes data, Canvas& canvas) {
  const WebPBitstreamFeatures features = read_features(data);
  check(features.width > 0 && features.height > 0, kName, "the image has no pixels");
  // libwebp uses 4 bytes per pixel for lossless images.
  canvas.open(kName, static_cast<uint64_t>(features.width), static_cast<uint64_t>(features.height), 3 + 4);
  const int64_t stride = canvas.width() * 3, bytes = stride * canvas.height();
  uint8_t* rgb = canvas.scratch(bytes);
  const std::unique_ptr<WebPIDecoder, void (*)(WebPIDecoder*)> decoder(
      WebPINewRGB(MODE_RGB, rgb, static_cast<size_t>(bytes), static_cast<int>(stride)), &WebPIDelete);
  ep::require(decoder != nullptr, TENON_RESOURCE_EXHAUSTED, kName, ": the decoder is out of memory");
  VP8StatusCode status = VP8_STATUS_SUSPENDED;
  for (size_t given = 0; status == VP8_STATUS_SUSPENDED && given < data.size();) {
    canvas.check_cancelled();
    given = std::min(data.size(), given + kPiece);
    status = WebPIUpdate(decoder.get(), data.data(), given);
  }
  check(status == VP8_STATUS_OK, kName, status_text(status));
  for (int64_t y = 0; y < canvas.height(); ++y) canvas.put(rgb + y * stride);
}

bool knows(Bytes data) {
  return data.size() >= 12 && starts_with(data, "RIFF") && starts_with(data.subspan(8), "WEBP");
}

}  // namespace

const Codec kWebp{kName, knows, decode};

}  // namespace tenon::image
