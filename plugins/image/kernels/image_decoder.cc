#include "codecs/codec.h"

namespace tenon::image {
namespace {

using namespace ep;

PixelFormat pixel_format(const NodeView& n) {
  const std::string name = n.attr_s("pixel_format", "RGB");
  if (name == "BGR") return PixelFormat::kBgr;
  return name == "Grayscale" ? PixelFormat::kGray : PixelFormat::kRgb;
}

// Decodes an image to [height, width, channels]. The codec is found by the first bytes.
class ImageDecoder {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .needs_input(0)
        .input(0, TypeList<uint8_t>())
        .output(0, TypeList<uint8_t>())
        .attr_is("pixel_format", {"RGB", "BGR", "Grayscale"});
  }
  explicit ImageDecoder(const NodeView& n)
      : format_(pixel_format(n)), memory_limit_(n.instance().memory_limit) {}
  void prepare(PrepareContext& p) const { p.set_at_run(0); }

  void run(const Context& ctx) const {
    const Bytes data = ctx.input(0).span<uint8_t>();
    Canvas canvas(ctx, format_, memory_limit_);
    const Codec& codec = codec_of(data);
    codec.decode(data, canvas);
    canvas.finish(codec.name);
  }

 private:
  PixelFormat format_;
  uint64_t memory_limit_;
};
TENON_KERNEL(ImageDecoder, .op_type = "ImageDecoder", .since = 20, .contract = "encoded_stream: [?]")

}  // namespace
}  // namespace tenon::image
