// The order of steps: where values are copied from, and who waits for whom.
#include "host/exec/schedule.h"

#include <gmock/gmock.h>

#include "core/ops/ops.h"
#include "host/device/constant_pool.h"
#include "tests/unit/host/device/fake_provider.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::runtime {
namespace {

using tenon::test::GraphMaker;
using testing::ElementsAre;

/// A schedule in which the test is the planner. Values "a" and "b" have four floats.
class ScheduleTest : public testing::Test {
 protected:
  void SetUp() override {
    cpu_session_ = tenon::test::make_session(cpu_model());
    ASSERT_NE(cpu_session_, nullptr);
    cpu_ = cpu_session_->assembly()->selection.instances[0];
    first_ = *test::make_accelerator("npu:0");
    second_ = *test::make_accelerator("npu:1");
    ASSERT_FALSE(cpu_->has_streams());
    auto shared = std::make_shared<SharedState>();
    shared->constants = std::make_shared<ConstantPool>();
    executable_ = std::make_unique<Executable>(make_graph(), shared);
    knowledge_ = std::make_unique<Knowledge>(executable_->graph());
    schedule_ = std::make_unique<Schedule>(*executable_, *knowledge_, &plan_);
  }

  static std::string cpu_model() {
    GraphMaker m;
    m.output(m.node("Relu", {m.input("x", GraphMaker::f32({4}))}), "y");
    return m.bytes();
  }

  ir::Graph make_graph() {
    GraphMaker m;
    m.input("x", GraphMaker::f32({4}));
    a_ = m.graph.add_value("a", GraphMaker::f32({4}));
    b_ = m.graph.add_value("b", GraphMaker::f32({4}));
    known_ = m.constant("known", {2}, {1, 2});
    return std::move(m.graph);
  }

  /// A step of `instance` that reads `inputs` and writes `outputs`.
  void run(const std::shared_ptr<Instance>& instance, std::vector<SlotIndex> inputs,
           std::vector<SlotIndex> outputs) {
    auto part = std::make_unique<CompiledPart>();
    part->instance = instance;
    part->shape_inputs.resize(inputs.size());
    PlanStep step;
    step.part = part.get();
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    schedule_->add(std::move(step));
    parts_.push_back(std::move(part));
  }

  std::vector<StepKind> kinds() const {
    std::vector<StepKind> out;
    for (const PlanStep& step : plan_.steps) out.push_back(step.kind);
    return out;
  }
  const MemoryDomain* memory_of(const std::shared_ptr<Instance>& instance) const {
    return instance->device().domains()[0].get();
  }

  std::shared_ptr<session::Session> cpu_session_;
  std::shared_ptr<Instance> cpu_, first_, second_;
  ir::ValueId a_ = ir::kNone, b_ = ir::kNone, known_ = ir::kNone;
  Plan plan_;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<Knowledge> knowledge_;
  std::unique_ptr<Schedule> schedule_;
  std::vector<std::unique_ptr<CompiledPart>> parts_;
};

TEST_F(ScheduleTest, AHostClaimReadsMemoryWithAnAddressInPlace) {
  const MemoryDomain* shared = first_->device().staging();
  ASSERT_NE(shared, nullptr);
  const SlotIndex made = schedule_->make_slot(a_, shared, true);
  run(first_, {}, {made});
  const SlotIndex read = *schedule_->find_input(a_, &host_domain(), cpu_);
  EXPECT_EQ(read, made);
  run(cpu_, {read}, {schedule_->make_slot(b_, &host_domain(), true)});
  EXPECT_THAT(kinds(), ElementsAre(StepKind::kRun, StepKind::kSignal, StepKind::kWait, StepKind::kRun));
  // The host itself and a provider with streams get host memory.
  EXPECT_NE(*schedule_->find_slot(a_, &host_domain(), nullptr), made);
  EXPECT_NE(*schedule_->find_input(a_, &host_domain(), second_), made);
}

TEST_F(ScheduleTest, AHostClaimGetsACopyOfOtherMemory) {
  const SlotIndex made = schedule_->make_slot(a_, memory_of(first_), true);
  run(first_, {}, {made});
  const SlotIndex read = *schedule_->find_input(a_, &host_domain(), cpu_);
  EXPECT_NE(read, made);
  EXPECT_THAT(kinds(), ElementsAre(StepKind::kRun, StepKind::kCopy));
}

TEST_F(ScheduleTest, AValueComesFromTheNearestMemory) {
  const SlotIndex on_host = schedule_->make_slot(a_, &host_domain(), true);
  run(cpu_, {}, {on_host});
  const SlotIndex on_first = *schedule_->find_slot(a_, memory_of(first_), first_);
  run(first_, {on_first}, {});
  const SlotIndex on_second = *schedule_->find_slot(a_, memory_of(second_), second_);
  const PlanStep& copy = plan_.steps.back();
  EXPECT_THAT(copy.inputs, ElementsAre(on_first));
  EXPECT_THAT(copy.outputs, ElementsAre(on_second));
  EXPECT_EQ(plan_.streams[copy.stream], second_) << "the copy goes on the stream of its reader";
  EXPECT_EQ(*schedule_->find_slot(a_, memory_of(second_), second_), on_second);
}

TEST_F(ScheduleTest, WhatAProviderDoesNotCopyComesFromTheHost) {
  executable_->refused_peers().add(second_->device(), first_->device());
  const SlotIndex on_host = schedule_->make_slot(a_, &host_domain(), true);
  run(cpu_, {}, {on_host});
  ASSERT_TRUE(schedule_->find_slot(a_, memory_of(first_), first_).ok());
  ASSERT_TRUE(schedule_->find_slot(a_, memory_of(second_), second_).ok());
  EXPECT_THAT(plan_.steps.back().inputs, ElementsAre(on_host));
  // Without a copy on the host the two devices meet there, and no stream is used.
  const SlotIndex made = schedule_->make_slot(b_, memory_of(first_), true);
  run(first_, {}, {made});
  ASSERT_TRUE(schedule_->find_slot(b_, memory_of(second_), second_).ok());
  EXPECT_EQ(plan_.steps.back().stream, plan::kNone);
}

TEST_F(ScheduleTest, StreamsOfAProviderWaitOnTheDeviceAndTheHostAtTheEnd) {
  const SlotIndex made = schedule_->make_slot(a_, memory_of(first_), true);
  run(first_, {}, {made});
  const SlotIndex read = *schedule_->find_slot(a_, memory_of(second_), second_);
  run(second_, {read}, {schedule_->make_slot(b_, memory_of(second_), true)});
  run(second_, {read}, {});
  schedule_->finish();
  EXPECT_THAT(kinds(), ElementsAre(StepKind::kRun, StepKind::kSignal, StepKind::kStreamWait, StepKind::kCopy,
                                   StepKind::kRun, StepKind::kRun, StepKind::kSignal, StepKind::kWait,
                                   StepKind::kWait));
  const PlanStep& wait = plan_.steps[2];
  EXPECT_EQ(plan_.streams[wait.stream], second_);
  EXPECT_EQ(plan_.streams[plan_.points[wait.point]], first_);
  // What the first device made is in use until the host has waited for the second one.
  const std::vector<uint32_t> finished = finished_at(plan_);
  EXPECT_EQ(plan_.steps[finished[0]].stream, plan_.steps[0].stream);
  EXPECT_EQ(plan_.steps[finished[3]].stream, plan_.steps[3].stream);
  EXPECT_EQ(finished[3], finished[5]);
}

TEST_F(ScheduleTest, AKnownValueIsUploadedAndNotCopied) {
  const SlotIndex on_device = *schedule_->find_slot(known_, memory_of(first_), first_);
  const Slot& slot = plan_.slots[on_device];
  EXPECT_EQ(slot.kind, SlotKind::kConstant);
  ASSERT_NE(slot.upload, nullptr);
  EXPECT_EQ(slot.upload->buffer.domain(), memory_of(first_));
  EXPECT_EQ(slot.bytes, 8u);
  EXPECT_NE(slot.known, nullptr) << "for inference in dynamic steps";
  const SlotIndex on_host = *schedule_->find_slot(known_, &host_domain(), nullptr);
  EXPECT_NE(plan_.slots[on_host].constant, nullptr);
  EXPECT_TRUE(plan_.steps.empty());
}

}  // namespace
}  // namespace tenon::runtime
