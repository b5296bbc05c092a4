// ConvInteger and QLinearConv: a product of the filters with a matrix that is read from the images as it is needed. Padding counts as
// the zero point.
#include "kernels/common/conv_places.h"
#include "kernels/common/integers.h"
#include "tenon/ep/device/window.hpp"

namespace tenon::cuda {
namespace {

// The filters are a, the images b: a column is a point of the output of one image, the depth is (channel, place in the window).
// Threads look the latter up in a table, which they share.
constexpr std::string_view kImages = R"CU(
struct alignas(16) Tap {
  int offset, d, h, q;  // in elements; and along each axis
};
#define PRODUCT ConvInteger
#define SHAPE Window w, Places p
#define BATCHES p.groups
#define FIND_INPUTS(group)                                                                            \
  const int64 a_matrix = group, b_matrix = 0, a_at = (int64)(group) * g.rows * g.depth,               \
              b_at = (int64)(group) * p.channels * p.area;
#define Y_PLACES                                                                                      \
  const auto y_at = [&](int m, int n) {                                                               \
    const int image = n / p.points;                                                                   \
    return ((int64)(image * p.groups + batch) * g.rows + m) * p.points + (n - image * p.points);      \
  };
#define B_SOURCE                                                                                      \
  __shared__ Tap taps[2][kBytes];                                                                     \
  const int b_n = thread % kSide, b_k = thread / kSide * 16, column = n0 + b_n;                       \
  const int image = column / p.points, point = column - image * p.points;                             \
  const int oq = point % w.out[2], oh = point / w.out[2] % w.out[1], od = point / w.out[2] / w.out[1]; \
  const int d0 = od * w.stride[0] - w.pad[0], h0 = oh * w.stride[1] - w.pad[1], q0 = oq * w.stride[2] - w.pad[2]; \
  const B* b_from = b + b_at + (int64)image * p.groups * p.channels * p.area +                        \
                    ((int64)d0 * w.in[1] + h0) * w.in[2] + q0;                                        \
  const uint32 padding = (uint8)zero_of(b_zero, 0, 0, 1, 0);                                          \
  uint32 words_b[4];                                                                                  \
  int b_sum = 0;                                                                                      \
  const auto find_b = [&](int k) {                                                                    \
    if (thread >= kBytes) return;                                                                     \
    const int row = k + thread, size = w.size[0] * w.size[1] * w.size[2];                             \
    const int channel = row / size, tap = row - channel * size;                                       \
    const int kq = tap % w.size[2], kh = tap / w.size[2] % w.size[1], kd = tap / w.size[2] / w.size[1]; \
    const int d = kd * w.dilation[0], h = kh * w.dilation[1], q = kq * w.dilation[2];                 \
    taps[k / kBytes % 2][thread] = {channel * p.area + (d * w.in[1] + h) * w.in[2] + q, d, h, q};     \
  };                                                                                                  \
  const auto load_b = [&](int k) {                                                                    \
    _Pragma("unroll") for (int word = 0; word < 4; ++word) {                                          \
      words_b[word] = 0;                                                                              \
      _Pragma("unroll") for (int e = 0; e < 4; ++e) {                                                 \
        const int step = b_k + word * 4 + e;                                                          \
        const Tap tap = taps[k / kBytes % 2][step];                                                   \
        const bool inside = (uint32)(d0 + tap.d) < (uint32)w.in[0] &&                                 \
                            (uint32)(h0 + tap.h) < (uint32)w.in[1] && (uint32)(q0 + tap.q) < (uint32)w.in[2]; \
        if (column < g.columns && k + step < g.depth)                                                 \
          words_b[word] |= (inside ? (uint32)(uint8)turned(b_from[tap.offset]) : padding) << 8 * e;   \
      }                                                                                               \
    }                                                                                                 \
  };                                                                                                  \
  const auto store_b = [&](int buffer) {                                                              \
    int* const to = &bs[buffer][b_k / 4][0].at[0];                                                    \
    _Pragma("unroll") for (int word = 0; word < 4; ++word) {                                          \
      to[word * kPitch + b_n] = (int)words_b[word];                                                   \
      b_sum += sum_of_bytes((int)words_b[word]);                                                      \
    }                                                                                                 \
  };                                                                                                  \
  const auto add_b = [&]() { atomicAdd(&b_sums[b_n], b_sum); };
)CU";
constexpr Source kSource{"conv_integer", kJoined<kConvPlaces, kImages, kIntegerTile>};

struct IntegerConv {
  Window window{};
  ConvPlaces places{};
  IntegerNumbers numbers;
};

/// Where the inputs of the two operators are; -1: there is none.
struct Inputs {
  int x, x_scale, x_zero, f, f_scale, f_zero, y_scale, y_zero, bias;
};
constexpr Inputs kInteger{0, -1, 2, 1, -1, 3, -1, -1, -1}, kLinear{0, 1, 2, 3, 4, 5, 6, 7, 8};

template <const Inputs& kInputs>
class ConvInteger {
  static constexpr bool kScales = kInputs.x_scale >= 0;

 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(kInputs.x, kByteTypes)
        .input(kInputs.f, kByteTypes)
        .rank(kInputs.x, 3, 5)
        .that(n.attr_i("group", 1) > 0, TENON_REJECT_ATTRIBUTE, "group is not positive");
    if (!kScales) return check;
    return check.input(kInputs.x_scale, TypeList<float>())
        .input(kInputs.f_scale, TypeList<float>())
        .input(kInputs.y_scale, TypeList<float>())
        .input(kInputs.bias, TypeList<int32_t>())
        .output(0, kByteTypes);
  }
  explicit ConvInteger(const NodeView& n)
      : attributes_(n),
        groups_(n.attr_i("group", 1)),
        kernel_(load_kernel(n, kSource,
                            defines_of(integer_settings(
                                n.input(kInputs.f).dtype(), n.input(kInputs.x).dtype(), n.output(0).dtype(),
                                TENON_FLOAT32, kScales ? Rounding::kConv : Rounding::kNone)),
                            "ConvInteger")) {}

  IntegerConv prepare(PrepareContext& p) const {
    const DimsView x = p.input(kInputs.x).dims(), f = p.input(kInputs.f).dims();
    require(f[0] % groups_ == 0 && f[1] * groups_ == x[1], TENON_INVALID_ARGUMENT, "input ", x,
            " and filters ", f, " with ", groups_, " groups");
    const Dims places = attributes_.output(x.subspan(2), f.subspan(2));
    Dims y{x[0], f[0]};
    y.insert(y.end(), places.begin(), places.end());
    p.set_output(0, y);
    narrow(element_count(x)), narrow(element_count(f)), narrow(element_count(y));
    IntegerConv out;
    out.window = attributes_.window(x.subspan(2), places, f.subspan(2));
    const int64_t points = element_count(places), rows = f[0] / groups_;
    out.places = {narrow(groups_), narrow(f[1]), narrow(element_count(x.subspan(2))), narrow(points)};
    IntegerNumbers& n = out.numbers;
    n.rows = narrow(rows);
    n.columns = narrow(points * x[0]);
    n.depth = narrow(element_count(f.subspan(1)));
    const auto one = [&](int input) {
      return input < 0 || !p.has_input(input) || p.input(input).size() == 1;
    };
    // Those of a group are a matrix.
    const auto lines = [&](int input) { return one(input) ? Lines::kOne : Lines::kOfMatrix; };
    for (const int i : {kInputs.f_zero, kInputs.f_scale})
      require(one(i) || p.input(i).size() == f[0], TENON_INVALID_ARGUMENT, "input ", i, " has ",
              one(i) ? 1 : p.input(i).size(), " elements for ", f[0], " filters");
    for (const int i : {kInputs.x_zero, kInputs.x_scale, kInputs.y_zero, kInputs.y_scale})
      require(one(i), TENON_INVALID_ARGUMENT, "input ", i, " has more than one element");
    n.a_zero = lines(kInputs.f_zero);
    n.a_scale = lines(kInputs.f_scale);
    return out;
  }

  void record(Recorder& ctx, const IntegerConv& conv) const {
    const IntegerNumbers& n = conv.numbers;
    const auto input = [&](int i) { return i < 0 ? TensorArg{&kNoTensor} : in(ctx.input(i)); };
    launch_blocks(ctx, kernel_, integer_blocks(n.rows, n.columns, conv.places.groups), kIntegerThreads,
                  input(kInputs.f), input(kInputs.x), input(kInputs.f_zero), input(kInputs.x_zero),
                  input(kInputs.f_scale), input(kInputs.x_scale), input(kInputs.y_scale),
                  input(kInputs.y_zero), input(kInputs.bias), out(ctx.output(0)), conv.window, conv.places,
                  n);
  }

 private:
  WindowAttributes attributes_;
  int64_t groups_;
  KernelRef kernel_;
};

TENON_KERNEL(ConvInteger<kInteger>, .op_type = "ConvInteger", .since = 10,
             .contract =
                 "x: [N, C, D...] & rank 3..5; w: [M, C/$group, K...] & rank x; x_zero_point?: one; "
                 "w_zero_point?: one | [M]")
TENON_KERNEL(
    ConvInteger<kLinear>, .op_type = "QLinearConv", .since = 10,
    .contract =
        "x: [N, C, D...] & rank 3..5; x_scale: one; x_zero_point: one; w: [M, C/$group, K...] & rank "
        "x; w_scale: one | [M]; w_zero_point: one | [M]; y_scale: one; y_zero_point: one; B?: [M]")

}  // namespace
}  // namespace tenon::cuda
