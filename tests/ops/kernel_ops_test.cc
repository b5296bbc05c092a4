// What TENON_KERNEL makes of a kernel: the functions behind `run` and `record`.
#include <gtest/gtest.h>

#include "tenon/ep.hpp"

namespace tenon::test {
namespace {

using ep::Context;
using ep::KernelNode;
using ep::PrepareContext;

struct Recorder : Context {
  Recorder(const tenon_run_args& args, const ep::detail::NodeLayout& layout) : Context(args, layout) {}
  std::vector<int> listed;
};
struct OtherRecorder : Recorder {
  using Recorder::Recorder;
};

struct Runs {
  void run(const Context&) const {}
};
struct Records {
  void record(Recorder& recorder) const { recorder.listed.push_back(1); }
};
struct RecordsWithState {
  int prepare(PrepareContext&) const { return 7; }
  void record(Recorder& recorder, const int& state) const { recorder.listed.push_back(state); }
};

template <class K>
constexpr ep::KernelOps kOps = ep::detail::make_ops<K>();

TEST(KernelOps, AKernelHasEitherRunOrRecord) {
  EXPECT_NE(kOps<Runs>.run, nullptr);
  EXPECT_EQ(kOps<Runs>.record, nullptr);
  EXPECT_EQ(kOps<Runs>.recorder, nullptr);
  EXPECT_EQ(kOps<Records>.run, nullptr);
  EXPECT_NE(kOps<Records>.record, nullptr);
}

TEST(KernelOps, RecordGetsTheRecorderAndTheState) {
  const tenon_run_args args{};
  const ep::detail::NodeLayout layout;
  Recorder recorder(args, layout);
  const Records kernel;
  kOps<Records>.record(&kernel, nullptr, recorder);
  const int state = 7;
  const RecordsWithState other;
  kOps<RecordsWithState>.record(&other, &state, recorder);
  EXPECT_EQ(recorder.listed, (std::vector<int>{1, 7}));
}

TEST(KernelOps, EachClassOfRecordersHasAnId) {
  EXPECT_EQ(kOps<Records>.recorder, &ep::detail::kRecorderId<Recorder>);
  EXPECT_EQ(kOps<RecordsWithState>.recorder, &ep::detail::kRecorderId<Recorder>);
  EXPECT_NE(kOps<Records>.recorder, &ep::detail::kRecorderId<OtherRecorder>);
}

}  // namespace
}  // namespace tenon::test
