// ScatterElements (and Scatter) and ScatterND. Updates of one place are applied in order.
//
// With a reduction, one thread does all that can address the same place, as in tenon/ep/device/ops/scatter.hpp, or a block does,
// where that would be few threads with many updates. It sorts them by their places, so that one thread has all for a place.
// Without a reduction, only the last update of a place counts: the updates find it first, by a maximum per place, and write then.
#include "tenon/ep/device/ops/scatter.hpp"

#include "kernels/common/copy.h"
#include "kernels/common/texts.h"

namespace tenon::cuda {
namespace {

constexpr std::string_view kText = R"CU(
#if MODE == 0
typedef M Stored;
__device__ inline void put(M& to, M v) { to = v; }
#else
typedef T Stored;
// NaN is kept on either side.
__device__ inline void put(T& to, C v) {
  const C old = to;
#if MODE == 1
  to = plus(old, v);
#elif MODE == 2
  to = times(old, v);
#elif MODE == 3
  to = v > old || v != v ? v : old;
#else
  to = v < old || v != v ? v : old;
#endif
}
#endif
// Sets the place of `index`. Returns false if it is out of range.
__device__ inline bool find(int64 index, int size, int* at) {
  const int64 from_front = index < 0 ? index + size : index;
  *at = (int)from_front;
  return from_front >= 0 && from_front < size;
}
// The same, and sets the flag.
__device__ inline bool find(int64 index, int size, int* at, int* flag) {
  if (find(index, size, at)) return true;
  flag_index(flag, index, size);
  return false;
}
// The walk goes over the lines of the indices. Operand 0 is the line's place in y, operand 1 in the indices.
KERNEL Elements(IN(I, index), IN(Stored, updates), OUT(Stored, y), int* flag, Walk w, int count, int index_stride,
                int size, int y_stride) {
  EACH_Y(row, w.outer) {
    WALK2(w, row, first_to, first_from)
    EACH(i, w.inner) {
      Stored* to = y + first_to + i * w.step[0];
      const int64 from = first_from + i * w.step[1];
      for (int k = 0; k < count; ++k) {
        const int64 u = from + (int64)k * index_stride;
        int at;
        if (find(index[u], size, &at, flag)) put(to[(int64)at * y_stride], updates[u]);
      }
    }
  }
}
// At least one thread, so that indices are checked even if nothing is moved.
KERNEL Tuples(IN(I, index), IN(Stored, updates), OUT(Stored, y), int* flag, Walk w, int tuples, int width, int slice) {
  EACH(i, max(slice, 1)) {
    for (int t = 0; t < tuples; ++t) {
      int64 to = 0;
      bool inside = true;
      for (int d = 0; d < width; ++d) {
        int at;
        inside = find(index[(int64)t * width + d], w.size[d], &at, flag) && inside;
        to += (int64)at * w.stride[0][d];
      }
      if (inside && i < slice) put(y[to + i], updates[(int64)t * slice + i]);
    }
  }
}
// The place of a tuple among the slices of y, or -1. Without a flag, nothing is reported.
__device__ inline int64 slice_of(const I* tuple, const Walk& w, int width, int* flag) {
  int64 to = 0;
  bool inside = true;
  for (int d = 0; d < width; ++d) {
    int at;
    const bool here = flag != nullptr ? find(tuple[d], w.size[d], &at, flag) : find(tuple[d], w.size[d], &at);
    inside = here && inside;
    to = to * w.size[d] + at;
  }
  return inside ? to : -1;
}
#if MODE != 0
#define CHUNK 512
#define NOWHERE (~(uint64)0)
// The updates of a line, as many at once as there are threads. place_of_update(k) is where update k goes, or -1; `to` and `from`
// are the line's in y and in the updates, at these distances.
template <class Place>
__device__ inline void put_in_chunks(T* to, int64 to_stride, const T* from, int64 from_stride, int count,
                                     Place place_of_update) {
  __shared__ uint64 keys[CHUNK];  // a place, and the update's position in the chunk
  const int me = (int)threadIdx.x;
  for (int first = 0; first < count; first += CHUNK) {
    const int64 place = first + me < count ? place_of_update(first + me) : -1;
    keys[me] = place < 0 ? NOWHERE : (uint64)place << 16 | (uint64)me;
    __syncthreads();
    for (int width = 2; width <= CHUNK; width *= 2)
      for (int distance = width / 2; distance > 0; distance /= 2) {
        const int other = me ^ distance;
        const uint64 a = keys[me], b = keys[other];
        const bool is_lower = me < other, rises = (me & width) == 0;
        __syncthreads();
        keys[me] = is_lower == rises ? (a < b ? a : b) : (a < b ? b : a);
        __syncthreads();
      }
    const uint64 key = keys[me];
    if (key != NOWHERE && (me == 0 || keys[me - 1] >> 16 != key >> 16)) {
      T value = to[(int64)(key >> 16) * to_stride];
      for (int k = me; k < CHUNK && keys[k] >> 16 == key >> 16; ++k)
        put(value, (C)from[(first + (int64)(keys[k] & 0xffff)) * from_stride]);
      to[(int64)(key >> 16) * to_stride] = value;
    }
    __syncthreads();
  }
}
KERNEL ElementsInChunks(IN(I, index), IN(T, updates), OUT(T, y), int* flag, Walk w, int count, int index_stride, int size,
                        int y_stride) {
  EACH_BLOCK(line, (int64)w.inner * w.outer) {
    const int64 row = line / w.inner, i = line - row * w.inner;
    WALK2(w, row, to, from)
    to += i * w.step[0];
    from += i * w.step[1];
    put_in_chunks(y + to, y_stride, updates + from, index_stride, count, [&](int k) {
      int at;
      return find(index[from + (int64)k * index_stride], size, &at, flag) ? (int64)at : (int64)-1;
    });
  }
}
KERNEL TuplesInChunks(IN(I, index), IN(T, updates), OUT(T, y), int* flag, Walk w, int tuples, int width, int slice) {
  EACH_BLOCK(i, slice)
    put_in_chunks(y + i, slice, updates + i, slice, tuples,
                  [&](int t) { return slice_of(index + (int64)t * width, w, width, flag); });
}
#else
KERNEL Forget(OUT(int, last), int n) {
  EACH(i, n) last[i] = -1;
}
// The walk gives the place in y for index 0. `last` has the last update of each element of y.
KERNEL LastElements(IN(I, index), int* last, int* flag, Walk w, int size, int y_stride) {
  EACH_Y(row, w.outer) {
    WALK1(w, row, to)
    EACH(i, w.inner) {
      const int64 u = row * w.inner + i;
      int at;
      if (find(index[u], size, &at, flag))
        atomicMax(last + (to + i * w.step[0] + (int64)at * y_stride), (int)u);
    }
  }
}
KERNEL WriteElements(IN(I, index), IN(M, updates), OUT(M, y), IN(int, last), Walk w, int size, int y_stride) {
  EACH_Y(row, w.outer) {
    WALK1(w, row, to)
    EACH(i, w.inner) {
      const int64 u = row * w.inner + i;
      int at;
      if (!find(index[u], size, &at)) continue;
      const int64 place = to + i * w.step[0] + (int64)at * y_stride;
      if (last[place] == (int)u) y[place] = updates[u];
    }
  }
}
// `last` has the last tuple of each slice of y.
KERNEL LastTuples(IN(I, index), int* last, int* flag, Walk w, int tuples, int width) {
  EACH(t, tuples) {
    const int64 to = slice_of(index + t * width, w, width, flag);
    if (to >= 0) atomicMax(last + to, (int)t);
  }
}
KERNEL WriteTuples(IN(I, index), IN(M, updates), OUT(M, y), IN(int, last), Walk w, int tuples, int width, int slice) {
  EACH_Y(t, tuples) {
    const int64 to = slice_of(index + t * width, w, width, nullptr);
    if (to < 0 || last[to] != (int)t) continue;
    EACH(i, slice) y[to * slice + i] = updates[t * slice + i];
  }
}
#endif
)CU";
constexpr Source kSource{"scatter", kJoined<kWrapping, kText>};

struct Kernels : Backend<kSource> {
  using Copies = CopyKernels;
};

constexpr int64_t kMostPlaces = int64_t{1} << 26;  // for which a workspace has the last update of each
constexpr int64_t kManyLines = 4096, kManyUpdates = 32;
constexpr Size3 kChunk{512, 1, 1};  // CHUNK in the text

Support check_scatter(const NodeView& n) {
  Check check(n);
  check.input(1, kIndexTypes).attr_is("reduction", {"none", "add", "mul", "max", "min"});
  return ops::scatter_mode(n) == 0 ? check.input(0, kDeviceTypes)
                                   : check.input(0, kDeviceRealTypes + kIntTypes);
}

/// The kernels beside those of tenon/ep/device/ops/scatter.hpp: without a reduction those that let the last update of each place
/// win, with one the kernel for chunks of updates.
struct MoreKernels {
  MoreKernels(const NodeView& n, std::string_view find_name, std::string_view write_name,
              std::string_view chunks_name) {
    const Settings settings = ops::scatter_settings(n);
    if (ops::scatter_mode(n) != 0) {
      chunks = Kernels::load(n, chunks_name, settings);
      return;
    }
    forget = Kernels::load(n, "Forget", settings);
    find = Kernels::load(n, find_name, settings);
    write = Kernels::load(n, write_name, settings);
    last_wins = true;
  }
  bool last_wins = false;
  KernelRef forget, find, write, chunks;
};

enum class Way { kInOrder, kInChunks, kLastWins };

/// How `lines` that are independent of each other do `updates` each.
Way way_of(const MoreKernels& kernels, int64_t lines, int64_t updates, int64_t places) {
  if (updates <= 1 || lines == 0 || places == 0) return Way::kInOrder;
  if (kernels.last_wins) return places <= kMostPlaces ? Way::kLastWins : Way::kInOrder;
  return lines < kManyLines && updates >= kManyUpdates ? Way::kInChunks : Way::kInOrder;
}

struct ElementsState {
  ops::ScatterElementsState in_order;
  Way way = Way::kInOrder;
  Walk walk{};
  int32_t places = 0;
};

class Elements : public ops::ScatterElements<Kernels> {
 public:
  static Support supports(const NodeView& n) { return check_scatter(n); }
  explicit Elements(const NodeView& n)
      : ScatterElements(n),
        axis_(n.attr_i("axis", 0)),
        copy_(n, n.input(0).dtype()),
        more_(n, "LastElements", "WriteElements", "ElementsInChunks") {}
  ElementsState prepare(PrepareContext& p) const {
    ElementsState out{ScatterElements::prepare(p)};
    const DimsView x = p.input(0).dims(), index = p.input(1).dims();
    const int64_t places = element_count(x);
    const Walk& lines = out.in_order.walk;
    out.way = way_of(more_, int64_t{lines.inner} * lines.outer, out.in_order.count, places);
    if (out.way != Way::kLastWins) return out;
    Dims strides = dense_strides(x);
    strides[checked_axis(axis_, x.size())] = 0;
    out.walk = make_walk(index, {strides});
    out.places = narrow(places);
    p.workspace(static_cast<uint64_t>(places) * sizeof(int32_t));
    return out;
  }
  void record(Recorder& ctx, const ElementsState& state) const {
    const ops::ScatterElementsState& s = state.in_order;
    if (state.way == Way::kInOrder) return ScatterElements::record(ctx, s);
    const TensorArg index = in(ctx.input(1)), updates = in(ctx.input(2)), y = out(ctx.output(0));
    copy_.record_dense(ctx, ctx.input(0), ctx.output(0));
    if (state.way == Way::kInChunks) {
      const Size3 blocks{static_cast<size_t>(s.walk.inner) * static_cast<size_t>(s.walk.outer), 1, 1};
      return launch_blocks(ctx, more_.chunks, blocks, kChunk, index, updates, y, FlagArg{}, s.walk, s.count,
                           s.index_stride, s.size, s.y_stride);
    }
    launch(ctx, more_.forget, items_of(state.places), WorkspaceArg{}, state.places);
    launch(ctx, more_.find, items_of(state.walk), index, WorkspaceArg{}, FlagArg{}, state.walk, s.size,
           s.y_stride);
    launch(ctx, more_.write, items_of(state.walk), index, updates, y, WorkspaceArg{}, state.walk, s.size,
           s.y_stride);
  }

 private:
  int64_t axis_;
  CopyKernels copy_;
  MoreKernels more_;
};

struct TuplesState {
  ops::ScatterTupleState in_order;
  Way way = Way::kInOrder;
  int32_t places = 0;
};

class Tuples : public ops::ScatterND<Kernels> {
 public:
  static Support supports(const NodeView& n) { return check_scatter(n); }
  explicit Tuples(const NodeView& n)
      : ScatterND(n), copy_(n, n.input(0).dtype()), more_(n, "LastTuples", "WriteTuples", "TuplesInChunks") {}
  TuplesState prepare(PrepareContext& p) const {
    TuplesState out{ScatterND::prepare(p)};
    const ops::ScatterTupleState& s = out.in_order;
    const int64_t places = element_count(p.input(0).dims().first(static_cast<size_t>(s.width)));
    out.way = way_of(more_, s.slice, s.tuples, places);
    if (out.way != Way::kLastWins) return out;
    out.places = narrow(places);
    p.workspace(static_cast<uint64_t>(places) * sizeof(int32_t));
    return out;
  }
  void record(Recorder& ctx, const TuplesState& state) const {
    const ops::ScatterTupleState& s = state.in_order;
    if (state.way == Way::kInOrder) return ScatterND::record(ctx, s);
    const TensorArg index = in(ctx.input(1)), updates = in(ctx.input(2)), y = out(ctx.output(0));
    copy_.record_dense(ctx, ctx.input(0), ctx.output(0));
    const auto slice = static_cast<size_t>(s.slice), tuples = static_cast<size_t>(s.tuples);
    if (state.way == Way::kInChunks)
      return launch_blocks(ctx, more_.chunks, {slice, 1, 1}, kChunk, index, updates, y, FlagArg{}, s.axes,
                           s.tuples, s.width, s.slice);
    launch(ctx, more_.forget, items_of(state.places), WorkspaceArg{}, state.places);
    launch(ctx, more_.find, items_of(s.tuples), index, WorkspaceArg{}, FlagArg{}, s.axes, s.tuples, s.width);
    launch(ctx, more_.write, {slice, tuples, 1}, index, updates, y, WorkspaceArg{}, s.axes, s.tuples, s.width,
           s.slice);
  }

 private:
  CopyKernels copy_;
  MoreKernels more_;
};

TENON_KERNEL(Elements, .op_type = "ScatterElements", .since = 11,
             .contract = "data: rank 1..; indices: rank data @index; updates: = indices")
TENON_KERNEL(Elements, .op_type = "Scatter", .since = 9,
             .contract = "data: rank 1..; indices: rank data @index; updates: = indices")
TENON_KERNEL(Tuples, .op_type = "ScatterND", .since = 11,
             .contract = "data: rank 1..; indices: rank 1.. @index; updates: any")

}  // namespace
}  // namespace tenon::cuda
