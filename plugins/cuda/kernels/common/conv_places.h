// Where a convolution that is a product finds its elements: numbers that its kernel gets beside the Window.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::cuda {

/// The struct Places of the text. Counts of elements.
struct ConvPlaces {
  int32_t groups = 1;
  int32_t channels = 0;  // of a group
  int32_t area = 0;      // a channel of an image
  int32_t points = 0;    // a channel of the output of one image
};

inline constexpr std::string_view kConvPlaces = R"CU(
struct Places {
  int groups, channels, area, points;
};)CU";

}  // namespace tenon::cuda
