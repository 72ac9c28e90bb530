#include "executorch/reader/event_dump.h"

#include <memory>
#include <string>

#include "executorch/format/etdump_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/bytes.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<etdump::EventT> EventOf(const std::string& name, int32_t instruction,
                                        const std::string& delegate_id, uint64_t begin,
                                        uint64_t end) {
  auto event = std::make_unique<etdump::EventT>();
  event->profile_event = std::make_unique<etdump::ProfileEventT>();
  event->profile_event->name = name;
  event->profile_event->instruction_id = instruction;
  event->profile_event->delegate_debug_id_str = delegate_id;
  event->profile_event->start_time = begin;
  event->profile_event->end_time = end;
  return event;
}

std::string FileOf(const etdump::ETDumpT& dump) {
  flatbuffers::FlatBufferBuilder builder;
  etdump::FinishSizePrefixedETDumpBuffer(builder, etdump::CreateETDump(builder, &dump));
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

// A block with two profiling events, and one of another kind.
etdump::ETDumpT Sample() {
  etdump::ETDumpT dump;
  auto run = std::make_unique<etdump::RunDataT>();
  run->name = "Execute";
  run->bundled_input_index = 3;
  run->events.push_back(EventOf("native_call_add.out", 0, "", 100, 150));
  run->events.push_back(std::make_unique<etdump::EventT>());
  run->events.push_back(EventOf("DELEGATE_CALL", 1, "conv", 150, 400));
  dump.run_data.push_back(std::move(run));
  return dump;
}

absl::StatusOr<std::vector<DumpedRun>> Read(const std::string& file, const Limits& limits = {}) {
  return ReadEventDump(AsBytes(file), limits);
}

TEST(EventDumpTest, ReadsProfilingEvents) {
  const auto runs = Read(FileOf(Sample()));
  ASSERT_OK(runs.status());
  ASSERT_EQ(runs->size(), 1);
  const DumpedRun& run = runs->front();
  EXPECT_EQ(run.name, "Execute");
  EXPECT_EQ(run.bundled_input, 3);
  ASSERT_EQ(run.events.size(), 2);
  EXPECT_EQ(run.events[0].name, "native_call_add.out");
  EXPECT_EQ(run.events[0].instruction, 0);
  EXPECT_EQ(run.events[0].delegate_id, "");
  EXPECT_EQ(run.events[1].delegate_id, "conv");
  EXPECT_EQ(run.events[1].begin, 150);
  EXPECT_EQ(run.events[1].end, 400);
  EXPECT_THAT(*Read(FileOf(etdump::ETDumpT())), IsEmpty());
}

TEST(EventDumpTest, IntegerIdentifiersAreNames) {
  etdump::ETDumpT dump = Sample();
  etdump::ProfileEventT& event = *dump.run_data[0]->events[0]->profile_event;
  event.delegate_debug_id_int = 7;
  EXPECT_EQ((*Read(FileOf(dump)))[0].events[0].delegate_id, "7");
}

TEST(EventDumpTest, RejectsOtherFilesAndVersions) {
  EXPECT_THAT(Read("").status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not an ETDump")));
  EXPECT_THAT(Read(std::string(64, 'x')).status(), StatusIs(absl::StatusCode::kDataLoss));
  std::string newer = FileOf(Sample());
  newer[11] = '1';
  EXPECT_THAT(Read(newer).status(), StatusIs(absl::StatusCode::kUnimplemented,
                                             AllOf(HasSubstr("ED01"), HasSubstr("ED00"))));
  etdump::ETDumpT dump = Sample();
  dump.version = 1;
  EXPECT_THAT(Read(FileOf(dump)).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("version 1")));
}

TEST(EventDumpTest, RejectsDamagedTables) {
  const std::string file = FileOf(Sample());
  for (size_t size = 12; size < file.size(); ++size) {
    EXPECT_FALSE(Read(file.substr(0, size)).ok()) << size;
  }
  for (size_t i = 0; i < file.size(); ++i) {
    std::string edited = file;
    edited[i] = static_cast<char>(0xff);
    Read(edited).IgnoreError();  // does not read outside of the file
  }
}

TEST(EventDumpTest, ReportsAllBrokenRules) {
  etdump::ETDumpT dump = Sample();
  dump.run_data[0]->name = "\xff";
  dump.run_data[0]->events[0]->profile_event->end_time = 99;
  dump.run_data[0]->events[2]->profile_event->name = "\xfe";
  const absl::Status status = Read(FileOf(dump)).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("run_data[0]: its name is not UTF-8"));
  EXPECT_THAT(message, HasSubstr("run_data[0].events[0] ends at 99, before it begins at 100"));
  EXPECT_THAT(message, HasSubstr("run_data[0].events[2]: the string"));
}

TEST(EventDumpTest, EnforcesLimits) {
  Limits limits;
  limits.metadata_bytes = 64;
  EXPECT_THAT(Read(FileOf(Sample()), limits).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'metadata_bytes' is 64")));
}

}  // namespace
}  // namespace belay::pte
