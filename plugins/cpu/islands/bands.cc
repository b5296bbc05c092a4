#include "islands/bands.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tenon::cpu::islands {
namespace {

/// Elements of a band, which stay in the second-level cache beside the weights.
constexpr int64_t kNearElements = 1 << 17;
/// A product with fewer results stays there as a whole.
constexpr int64_t kFewestElements = 1 << 18;

/// How the lines of the output are cut.
struct Cut {
  explicit Cut(const isa::Depthwise& d)
      : line(d.width * d.channels), reach((d.kernel[0] - 1) * d.dilation[0] + 1) {
    const int64_t most = std::max<int64_t>(1, (kNearElements / line - reach) / d.stride[0] + 1);
    const int64_t fewest = (d.out_height + most - 1) / most;
    lines = (d.out_height + fewest - 1) / fewest;
    count = (d.out_height + lines - 1) / lines;
    held = std::min(d.height, (lines - 1) * d.stride[0] + reach);
  }
  int64_t line;   // elements of a line of the product
  int64_t reach;  // lines that a line of the output reads
  int64_t count;  // bands of an image
  int64_t lines;  // of the output, in a band
  int64_t held;   // lines of the product, in a band
};

/// Computes bands of one Run.
struct Work {
  const ep::Context& ctx;
  const Cut& cut;
  const isa::Product& product;
  const isa::Depthwise& depthwise;

  /// Bands [begin, end), counted over all images. Lines that a band shares with the one before it are moved.
  void run(int64_t begin, int64_t end, float* held) const {
    const isa::Depthwise& d = depthwise;
    int64_t image = -1, from = 0, to = 0;  // the lines that are held
    for (int64_t band = begin; band < end; ++band) {
      ctx.check_cancelled();
      const int64_t now = band / cut.count, first = band % cut.count * cut.lines,
                    last = std::min(d.out_height, first + cut.lines);
      const int64_t start = first * d.stride[0] - d.pad[0], low = std::clamp<int64_t>(start, 0, d.height),
                    high =
                        std::clamp<int64_t>((last - 1) * d.stride[0] - d.pad[0] + cut.reach, low, d.height);
      int64_t made = low;
      if (now == image && low < to) {
        made = std::min(to, high);
        std::memmove(held, held + (low - from) * cut.line,
                     static_cast<size_t>((made - low) * cut.line) * sizeof(float));
      }
      image = now, from = low, to = high;
      isa::Product p = product;
      p.a += (now * d.height + made) * d.width * p.lda;
      p.c = held + (made - low) * cut.line;
      isa_compute().product(p, 0, (high - made) * d.width, 0, isa_compute().panels(p.n));
      isa::Depthwise part = d;
      part.x = held, part.height = high - low, part.pad[0] = low - start;
      part.y += (now * d.out_height + first) * d.out_width * d.ldy;
      part.out_height = last - first;
      isa_compute().depthwise(part, 0, part.out_height);
    }
  }
};

}  // namespace

bool ignores_rows(const Steps& steps) {
  return std::all_of(steps.steps.begin(), steps.steps.end(), [](const Step& s) { return s.ld == 0; });
}

bool takes_bands(const Bands& bands) {
  const Factors& f = bands.product;
  return f.groups == 1 && f.taps == 1 && f.places == nullptr && f.loop == Loop::kPanels &&
         f.rows * f.n >= kFewestElements && ignores_rows(bands.inner);
}

void add_bands(Builder& b, const Bands& bands, const Tensor& y, const Steps& last) {
  const Factors f = bands.product;
  const Steps inner = bands.inner;
  isa::Depthwise d = bands.depthwise;
  d.ldx = f.n, d.ldy = y.ld;
  const Cut cut(d);
  const int64_t all = bands.images * cut.count;
  const auto workers = std::min<int64_t>(ep::host().worker_count(nullptr), all);
  const Tensor held = b.temporary({workers, cut.held * cut.line}, Form::kPlain);
  std::vector<Tensor> touched = last.reads({f.x, y, held});
  const std::vector<Tensor> operands = inner.reads({});
  touched.insert(touched.end(), operands.begin(), operands.end());
  b.add(touched, [=](const Run& run) {
    std::array<Step, isa::kMostSteps> room, last_room;
    isa::Product p;
    p.a = run.at(f.x), p.lda = f.x.ld, p.k = f.k, p.n = f.n;
    p.b = f.weights->data(), p.bias = f.bias == nullptr ? nullptr : f.bias->data();
    p.ldc = f.n, p.chain = inner.at(run, room);
    isa::Depthwise now = d;
    now.y = run.at(y), now.chain = last.at(run, last_room);
    const Work work{run.ctx, cut, p, now};
    const int64_t lanes = std::min<int64_t>(workers, run.ctx.worker_count());
    if (lanes == 1) return work.run(0, all, run.at(held));
    // Each worker has its own memory. Pieces of several bands, since the first band of a piece makes all of its lines.
    const int64_t piece = (all + 2 * lanes - 1) / (2 * lanes);
    std::atomic<int64_t> next{0};
    run.ctx.parallel_for(lanes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t lane = begin; lane < end; ++lane) {
        float* const own = run.at(held) + lane * cut.held * cut.line;
        for (int64_t first; (first = next.fetch_add(piece, std::memory_order_relaxed)) < all;)
          work.run(first, std::min(all, first + piece), own);
      }
    });
  });
}

}  // namespace tenon::cpu::islands
