#include "runtime/trace/event_log.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Shown(const EventLog& log) {
  std::vector<std::string> shown;
  for (const Event& event : log.events()) {
    shown.push_back(absl::StrCat(std::string(event.depth, ' '), EventKindName(event.kind), " ",
                                 event.named ? log.names()[event.id] : absl::StrCat(event.id), " ",
                                 event.begin, "-", event.end));
  }
  return shown;
}

TEST(EventLogTest, EventsAreInOrderAndNested) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<EventLog> log, EventLog::Create(10));
  Event& outer = log->Begin(EventKind::kExecute, 0, 0, 100);
  Event& first = log->Begin(EventKind::kInstruction, 0, 0, 101);
  log->End(first, 103);
  Event& second = log->Begin(EventKind::kDelegateCall, 0, 1, 103);
  const EventSink delegate = {log.get(), 1};
  delegate.Step({.id = 7}, 104, 105);
  delegate.Step(delegate.Name("relu"), 105, 106);
  log->End(second, 109);
  log->End(outer, 110);
  EXPECT_THAT(Shown(*log),
              ElementsAre("execute 0 100-110", " instruction 0 101-103", " delegate_call 1 103-109",
                          "  step 7 104-105", "  step relu 105-106"));
  EXPECT_EQ(log->events()[3].owner, 1u);
  EXPECT_EQ(log->dropped(), 0u);
}

TEST(EventLogTest, FullLogKeepsFirstEventsAndCountsOthers) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<EventLog> log, EventLog::Create(2));
  Event& outer = log->Begin(EventKind::kExecute, 0, 0, 1);
  for (int64_t i = 0; i < 4; ++i) {
    Event& event = log->Begin(EventKind::kInstruction, 0, i, 2 + i);
    log->End(event, 3 + i);
  }
  log->End(outer, 9);
  EXPECT_THAT(Shown(*log), ElementsAre("execute 0 1-9", " instruction 0 2-3"));
  EXPECT_EQ(log->dropped(), 3u);
  const uint32_t owner = log->AddMethod(EventOwner::kNone, "forward");
  log->Clear();
  EXPECT_TRUE(log->events().empty());
  EXPECT_EQ(log->dropped(), 0u);
  EXPECT_EQ(log->owners()[owner].name, "forward");
  Event& next = log->Begin(EventKind::kExecute, owner, 0, 20);
  log->End(next, 21);
  EXPECT_THAT(Shown(*log), ElementsAre("execute 0 20-21"));
}

TEST(EventLogTest, RecordsOwnersOfEvents) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<EventLog> log, EventLog::Create(0));
  const uint32_t method = log->AddMethod(EventOwner::kNone, "forward");
  const uint32_t delegate = log->AddDelegate(method, 3, "cpu");
  const uint32_t inner = log->AddMethod(delegate, "inner");
  EXPECT_EQ(log->owners()[method].parent, EventOwner::kNone);
  EXPECT_FALSE(log->owners()[method].is_delegate);
  EXPECT_TRUE(log->owners()[delegate].is_delegate);
  EXPECT_EQ(log->owners()[delegate].delegate, 3u);
  EXPECT_EQ(log->owners()[delegate].name, "cpu");
  EXPECT_EQ(log->owners()[inner].parent, delegate);
}

TEST(EventLogTest, OutermostScopeMeasuresCpuTime) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<EventLog> log, EventLog::Create(10));
  const EventSink sink = {log.get(), 0};
  {
    const ScopedEvent load(sink, EventKind::kLoad);
    const ScopedEvent init(sink, EventKind::kInit, 4);
    volatile uint64_t work = 0;
    for (int i = 0; i < 1'000'000; ++i) work = work + 1;
  }
  ASSERT_EQ(log->events().size(), 2u);
  const Event &load = log->events()[0], &init = log->events()[1];
  EXPECT_EQ(init.id, 4);
  EXPECT_EQ(init.depth, 1);
  EXPECT_GT(load.cpu, 0);
  EXPECT_EQ(init.cpu, 0);
  EXPECT_LE(load.begin, init.begin);
  EXPECT_LE(init.end, load.end);
  EXPECT_LT(init.begin, init.end);
}

TEST(EventLogTest, OnlyMethodEventsMeasureCpuTime) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<EventLog> log, EventLog::Create(10));
  for (const EventKind kind : {EventKind::kExecute, EventKind::kInit}) {
    const ScopedEvent event(EventSink{log.get(), 0}, kind);
    volatile uint64_t work = 0;
    for (int i = 0; i < 1'000'000; ++i) work = work + 1;
  }
  ASSERT_EQ(log->events().size(), 2u);
  EXPECT_GT(log->events()[0].cpu, 0);
  EXPECT_EQ(log->events()[1].cpu, 0);
}

TEST(EventLogTest, StepsEndWhenTheyAreLogged) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<EventLog> log, EventLog::Create(10));
  const EventSink sink = {log.get(), 0};
  const int64_t begin = sink.Begin();
  EXPECT_GT(begin, 0);
  sink.Step({.id = 7}, begin);
  ASSERT_EQ(log->events().size(), 1u);
  EXPECT_EQ(log->events()[0].begin, begin);
  EXPECT_GE(log->events()[0].end, begin);
  EXPECT_LE(log->events()[0].end, EventLog::Now());
}

TEST(EventLogTest, WithoutALogNothingHappens) {
  const EventSink sink;
  const ScopedEvent event(sink, EventKind::kExecute);
  EXPECT_EQ(sink.Begin(), 0);
  const StepId step = sink.Name("conv");
  EXPECT_FALSE(step.named);
  sink.Step(step, 0);
  sink.Step(step, 0, 1);
}

TEST(EventLogTest, KindsHaveNames) {
  std::vector<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(EventKind::kStep); ++kind) {
    names.push_back(EventKindName(static_cast<EventKind>(kind)));
  }
  EXPECT_THAT(names, ElementsAre("load", "resolve", "allocate", "init", "execute", "instruction",
                                 "delegate_call", "step"));
}

TEST(EventLogTest, TooManyEventsAreAnError) {
  EXPECT_THAT(EventLog::Create(SIZE_MAX / 8),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the log of events")));
}

}  // namespace
}  // namespace belay
