#include "islands/window.h"

namespace tenon::cpu::islands {

Window Window::of(const WindowAttributes& attributes, const Dims& x, const Dims& weights) {
  const std::vector<WindowDim> dims =
      attributes.resolve(DimsView(x).subspan(2), DimsView(weights).subspan(2));
  return dims.size() == 1 ? Window{WindowDim(), dims[0]} : Window{dims[0], dims[1]};
}

bool Window::is_point() const {
  const auto one = [](const WindowDim& d) { return d.kernel == 1 && d.stride == 1 && d.in == d.out; };
  return one(rows) && one(columns);
}

std::shared_ptr<const std::vector<int32_t>> places_of(Builder& b, const Window& w, int64_t images) {
  if (w.is_point()) return nullptr;
  require(images * w.rows.in * w.columns.in <= std::numeric_limits<int32_t>::max(), TENON_UNIMPLEMENTED,
          "the input has more than 2^31 pixels");
  const int64_t count = images * w.positions() * w.taps();
  b.prepare().require_memory(static_cast<uint64_t>(count) * sizeof(int32_t),
                             "the places of the kernel's taps");
  auto out = std::make_shared<std::vector<int32_t>>();
  out->reserve(static_cast<size_t>(count));
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t row = 0; row < w.rows.out; ++row) {
      for (int64_t column = 0; column < w.columns.out; ++column) {
        for (int64_t i = 0; i < w.rows.kernel; ++i) {
          for (int64_t j = 0; j < w.columns.kernel; ++j) {
            const int64_t y = w.rows.start(row) + i * w.rows.dilation,
                          x = w.columns.start(column) + j * w.columns.dilation;
            const bool inside = y >= 0 && y < w.rows.in && x >= 0 && x < w.columns.in;
            out->push_back(inside ? static_cast<int32_t>((image * w.rows.in + y) * w.columns.in + x) : -1);
          }
        }
      }
    }
  }
  return out;
}

}  // namespace tenon::cpu::islands
