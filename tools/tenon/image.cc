#include "tools/tenon/image.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "tools/tenon/command.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb_image.h>
#pragma GCC diagnostic pop

namespace tenon::cli {
namespace {

struct Plane {
  int width = 0, height = 0, channels = 0;
  std::vector<float> pixels;  // HWC, 0..255
  float at(int y, int x, int c) const { return pixels[(static_cast<size_t>(y) * width + x) * channels + c]; }
};

struct Recipe {
  bool nhwc = false, resize = true, bgr = false;
  int64_t channels = 1, height = 0, width = 0;
  std::vector<float> mean, std;
};

std::string get(const std::map<std::string, std::string>& metadata, const std::string& key,
                const std::string& fallback) {
  auto it = metadata.find("tenon.image." + key);
  return it == metadata.end() ? fallback : it->second;
}

std::vector<float> numbers(const std::string& text, int64_t channels, const std::string& where) {
  std::vector<float> out;
  const char* p = text.c_str();
  while (*p) {
    char* end = nullptr;
    out.push_back(std::strtof(p, &end));
    if (end == p) throw input_error(where, "'" + text + "' is not a list of numbers");
    p = *end == ',' ? end + 1 : end;
  }
  if (out.size() == 1) out.assign(static_cast<size_t>(channels), out[0]);
  if (out.size() != static_cast<size_t>(channels))
    throw input_error(where, "'" + text + "' must hold 1 or " + std::to_string(channels) + " numbers");
  return out;
}

Recipe recipe_for(const tenon_io_info& info, const std::map<std::string, std::string>& metadata,
                  const std::string& where) {
  if (info.kind != TENON_KIND_TENSOR || info.dtype != TENON_FLOAT32 || (info.rank != 3 && info.rank != 4))
    throw input_error(where, "an image fits a float32 input of rank 3 or 4; '" + as_string(info.name) +
                                 "' is " + as_string(info.type_text));
  Recipe recipe;
  recipe.nhwc = get(metadata, "layout", "NCHW") == "NHWC";
  const int64_t* dims = info.dims + (info.rank - 3);
  recipe.channels = recipe.nhwc ? dims[2] : dims[0];
  recipe.height = recipe.nhwc ? dims[0] : dims[1];
  recipe.width = recipe.nhwc ? dims[1] : dims[2];
  if (recipe.channels != 1 && recipe.channels != 3)
    throw input_error(where, "an image has 1 or 3 channels; '" + as_string(info.name) + "' is " +
                                 as_string(info.type_text));
  recipe.resize = get(metadata, "resize", "area") != "none";
  recipe.bgr = get(metadata, "color", "rgb") == "bgr";
  recipe.mean = numbers(get(metadata, "mean", "0"), recipe.channels, "metadata tenon.image.mean");
  recipe.std = numbers(get(metadata, "std", "1"), recipe.channels, "metadata tenon.image.std");
  return recipe;
}

/// How bright a pixel of red, green and blue is (ITU-R BT.601).
float luma(const unsigned char* pixel) {
  return 0.299f * static_cast<float>(pixel[0]) + 0.587f * static_cast<float>(pixel[1]) +
         0.114f * static_cast<float>(pixel[2]);
}

Plane decode(const std::string& path, int64_t channels) {
  Plane plane;
  int there = 0;
  std::unique_ptr<unsigned char, void (*)(void*)> data(
      stbi_load(path.c_str(), &plane.width, &plane.height, &there, channels == 3 ? 3 : 0), stbi_image_free);
  if (!data) {
    std::string reason = stbi_failure_reason() ? stbi_failure_reason() : "unknown format";
    throw input_error("file '" + path + "'", "cannot be read as PNG, JPEG or BMP: " + reason);
  }
  if (channels == 3) there = 3;
  plane.channels = static_cast<int>(channels);
  const size_t count = static_cast<size_t>(plane.width) * plane.height;
  plane.pixels.resize(count * channels);
  for (size_t i = 0; i < count; ++i) {
    const unsigned char* p = data.get() + i * there;
    if (channels == 3)
      for (int c = 0; c < 3; ++c) plane.pixels[i * 3 + c] = p[c];
    else
      plane.pixels[i] = there >= 3 ? luma(p) : static_cast<float>(p[0]);
  }
  return plane;
}

// The mean over the source area that a target pixel covers. When enlarging, this is close to nearest neighbour.
float area_mean(const Plane& plane, double y0, double y1, double x0, double x1, int c) {
  double sum = 0, weight = 0;
  for (int y = static_cast<int>(y0); y < y1 && y < plane.height; ++y) {
    double wy = std::min<double>(y1, y + 1) - std::max<double>(y0, y);
    for (int x = static_cast<int>(x0); x < x1 && x < plane.width; ++x) {
      double w = wy * (std::min<double>(x1, x + 1) - std::max<double>(x0, x));
      sum += w * plane.at(y, x, c);
      weight += w;
    }
  }
  return static_cast<float>(weight > 0 ? sum / weight : 0);
}

}  // namespace

Value read_image(const std::string& path, const tenon_io_info& info,
                 const std::map<std::string, std::string>& metadata) {
  const std::string where = "input '" + as_string(info.name) + "', file '" + path + "'";
  Recipe recipe = recipe_for(info, metadata, where);
  Plane plane = decode(path, recipe.channels);
  if (recipe.height < 0) recipe.height = plane.height;
  if (recipe.width < 0) recipe.width = plane.width;
  if (!recipe.resize && (recipe.height != plane.height || recipe.width != plane.width))
    throw input_error(where, "the image is " + std::to_string(plane.width) + "x" +
                                 std::to_string(plane.height) + ", but the model needs " +
                                 std::to_string(recipe.width) + "x" + std::to_string(recipe.height) +
                                 " and does not allow resizing");
  std::vector<int64_t> dims = recipe.nhwc
                                  ? std::vector<int64_t>{recipe.height, recipe.width, recipe.channels}
                                  : std::vector<int64_t>{recipe.channels, recipe.height, recipe.width};
  if (info.rank == 4) dims.insert(dims.begin(), 1);
  Value value = Value::empty_tensor(TENON_FLOAT32, dims);
  std::span<float> out = value.mutable_data<float>();
  const double sy = static_cast<double>(plane.height) / static_cast<double>(recipe.height),
               sx = static_cast<double>(plane.width) / static_cast<double>(recipe.width);
  const auto edge = [](int64_t index, double size) { return static_cast<double>(index) * size; };
  for (int64_t c = 0; c < recipe.channels; ++c) {
    const int source = recipe.bgr ? static_cast<int>(recipe.channels - 1 - c) : static_cast<int>(c);
    for (int64_t y = 0; y < recipe.height; ++y)
      for (int64_t x = 0; x < recipe.width; ++x) {
        float pixel = area_mean(plane, edge(y, sy), edge(y + 1, sy), edge(x, sx), edge(x + 1, sx), source);
        size_t index = recipe.nhwc ? (y * recipe.width + x) * recipe.channels + c
                                   : (c * recipe.height + y) * recipe.width + x;
        out[index] = (pixel / 255.0f - recipe.mean[c]) / recipe.std[c];
      }
  }
  return value;
}

}  // namespace tenon::cli
