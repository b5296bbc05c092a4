#include <map>

#include "kernels/common/lookup.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {
namespace {

/// The n-grams of the pool as a tree: a node and a word lead to the next node.
class GramTree {
 public:
  void add(std::span<const int64_t> words, int64_t gram) {
    int32_t at = 0;
    for (const int64_t word : words) {
      const auto [step, fresh] = steps_.try_emplace({at, word}, static_cast<int32_t>(grams_.size()));
      if (fresh) grams_.push_back(-1);
      at = step->second;
    }
    grams_[static_cast<size_t>(at)] = gram;
  }
  /// Returns -1 when no n-gram continues like this.
  int32_t next(int32_t at, int64_t word) const {
    const auto step = steps_.find({at, word});
    return step == steps_.end() ? -1 : step->second;
  }
  /// Returns -1 when no n-gram ends here.
  int64_t gram(int32_t at) const { return grams_[static_cast<size_t>(at)]; }

 private:
  std::map<std::pair<int32_t, int64_t>, int32_t> steps_;
  std::vector<int64_t> grams_{-1};
};

// Counts each n-gram of the pool in a row. Its words are adjacent, or up to max_skip_count words apart.
class TfIdfVectorizer {
 public:
  static constexpr int64_t kMostColumns = int64_t{1} << 40;
  static Support supports(const NodeView& n) {
    return Check(n)
        .that(n.input(0).dtype() == TENON_STRING || kIndexTypes.contains(n.input(0).dtype()),
              TENON_REJECT_TYPE, "input 0 must be strings, int32 or int64")
        .attr_is("mode", {"TF", "IDF", "TFIDF"});
  }

  explicit TfIdfVectorizer(const NodeView& n)
      : mode_(n.attr_s("mode")),
        shortest_(n.attr_i("min_gram_length")),
        longest_(n.attr_i("max_gram_length")),
        skips_(n.attr_i("max_skip_count")),
        indexes_(n.attr_ints("ngram_indexes")),
        weights_(n.attr_floats("weights")) {
    require(shortest_ > 0 && longest_ >= shortest_ && skips_ >= 0, TENON_INVALID_ARGUMENT, "min_gram_length ",
            shortest_, ", max_gram_length ", longest_, " or max_skip_count ", skips_, " is out of range");
    for (const int64_t index : indexes_) {
      require(index >= 0 && index < kMostColumns, TENON_INVALID_ARGUMENT, "ngram_indexes contains ", index,
              ", which is out of range");
      size_ = std::max(size_, index + 1);
    }
    require(weights_.empty() || weights_.size() == indexes_.size(), TENON_INVALID_ARGUMENT, weights_.size(),
            " weights for ", indexes_.size(), " n-grams");
    read_pool(n);
  }

  void prepare(PrepareContext& p) const {
    const DimsView in = p.input(0).dims();
    p.set_output(0, in.size() == 2 ? Dims{in[0], size_} : Dims{size_});
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const int64_t rows = in.rank() == 2 ? in.dim(0) : 1, columns = rows == 0 ? 0 : in.size() / rows;
    const std::span<const int64_t> words = known_words(ctx, in);
    const WorkerLists<int64_t> all_counts(ctx, static_cast<int64_t>(indexes_.size()));
    auto* out = ctx.output(0).data<float>();
    ctx.parallel_for(rows, std::max<int64_t>(1, kGrainCostly / (columns + 1)),
                     [&](uint32_t worker, int64_t begin, int64_t end) {
                       const std::span<int64_t> counts = all_counts.of(worker);
                       CancelPoint point(ctx);
                       for (int64_t r = begin; r < end; ++r) {
                         std::fill(counts.begin(), counts.end(), 0);
                         count({words.data() + r * columns, static_cast<size_t>(columns)}, counts, point);
                         write(counts, out + r * size_);
                       }
                     });
  }

 private:
  /// Replaces words by an index that equal words share.
  void read_pool(const NodeView& n) {
    const std::vector<std::string> strings = n.attr_strings("pool_strings");
    const std::vector<int64_t> ints = n.attr_ints("pool_int64s"), begins = n.attr_ints("ngram_counts");
    require(strings.empty() != ints.empty(), TENON_INVALID_ARGUMENT,
            "give either pool_strings or pool_int64s");
    by_string_ = StringIndex(strings);
    by_number_ = NumberIndex(std::span<const int64_t>(ints));
    std::vector<int64_t> pool;
    for (const std::string& word : strings) pool.push_back(by_string_.find(word));
    for (const int64_t word : ints) pool.push_back(by_number_.find(word));
    int64_t gram = 0;
    for (size_t i = 0; i < begins.size(); ++i) {
      const auto total = static_cast<int64_t>(pool.size()), length = static_cast<int64_t>(i) + 1;
      const int64_t end = i + 1 < begins.size() ? begins[i + 1] : total;
      require(begins[i] >= 0 && begins[i] <= end && end <= total && (end - begins[i]) % length == 0,
              TENON_INVALID_ARGUMENT, "ngram_counts does not fit the pool");
      for (int64_t at = begins[i]; at < end; at += length, ++gram)
        if (length >= shortest_ && length <= longest_)
          tree_.add({pool.data() + at, static_cast<size_t>(length)}, gram);
    }
    require(gram == static_cast<int64_t>(indexes_.size()), TENON_INVALID_ARGUMENT, gram, " n-grams and ",
            indexes_.size(), " indexes");
  }

  std::span<const int64_t> known_words(const Context& ctx, TensorView in) const {
    const std::span<int64_t> out = scratch_list<int64_t>(ctx, in.size());
    for (size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      out[i] = in.dtype() == TENON_STRING  ? by_string_.find(in.string(at))
               : in.dtype() == TENON_INT32 ? by_number_.find(in.data<int32_t>()[i])
                                           : by_number_.find(in.data<int64_t>()[i]);
    }
    return out;
  }

  void count(std::span<const int64_t> words, std::span<int64_t> counts, CancelPoint<Context>& point) const {
    // A single word is the same at every distance, so it counts only at the first. The row's length bounds
    // the distance.
    const int64_t furthest =
        std::min(skips_, std::max<int64_t>(0, static_cast<int64_t>(words.size()) - 2)) + 1;
    for (int64_t distance = 1; distance <= furthest; ++distance) {
      const int64_t least = distance == 1 ? shortest_ : std::max<int64_t>(shortest_, 2);
      if (least > longest_) return;
      for (size_t start = 0; start < words.size(); ++start) {
        point.pass();
        int32_t node = 0;
        int64_t length = 1;
        for (size_t at = start; at < words.size() && length <= longest_;
             at += static_cast<size_t>(distance), ++length) {
          node = tree_.next(node, words[at]);
          if (node < 0) break;
          const int64_t gram = tree_.gram(node);
          if (gram >= 0 && length >= least) ++counts[static_cast<size_t>(gram)];
        }
      }
    }
  }

  void write(std::span<const int64_t> counts, float* out) const {
    std::fill_n(out, size_, 0.0f);
    for (size_t gram = 0; gram < counts.size(); ++gram) {
      if (counts[gram] == 0) continue;
      const float weight = weights_.empty() ? 1.0f : weights_[gram];
      float& to = out[indexes_[gram]];
      if (mode_ == "TF")
        to += static_cast<float>(counts[gram]);
      else if (mode_ == "IDF")
        to = weight;
      else
        to += static_cast<float>(counts[gram]) * weight;
    }
  }

  std::string mode_;
  int64_t shortest_, longest_, skips_, size_ = 0;
  std::vector<int64_t> indexes_;
  std::vector<float> weights_;
  StringIndex by_string_;
  NumberIndex by_number_;
  GramTree tree_;
};
TENON_KERNEL(TfIdfVectorizer, .op_type = "TfIdfVectorizer", .contract = "X: rank 0..2")

}  // namespace
}  // namespace tenon::cpu
