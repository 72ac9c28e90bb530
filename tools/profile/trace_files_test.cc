#include "tools/profile/trace_files.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "tools/profile/perfetto_trace.pb.h"
#include "tools/profile/testing/logged_method.h"

namespace belay::tools {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kProgram = R"(program edge {
  graph(%x: f32[2,2] user_input) {
    %a: f32[2,2] = edge.aten.neg.default(%x)  @"m.py":1 handle=1
    %b: f32[2,2] = edge.aten.mm.default(%a, %x)  @"m.py":2 module="body" handle=2
    return (%b user_output)
  }
})";

class TraceFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(logged_, LoggedMethod::Create(kProgram, {{"demo", {"aten.mm.default"}}}));
    const auto load = logged_->log().events();
    events_.assign(load.begin(), load.end());
    ASSERT_OK(logged_->Execute());
    const auto call = logged_->log().events();
    events_.insert(events_.end(), call.begin(), call.end());
  }
  std::unique_ptr<LoggedMethod> logged_;
  std::vector<Event> events_;
};

TEST_F(TraceFilesTest, PerfettoHasNestedSlices) {
  CodeMap code(logged_->method());
  perfetto::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(PerfettoTrace(events_, code)));
  std::vector<std::string> slices;
  std::vector<std::string> open;
  std::map<std::string, std::string> of_step;
  uint64_t last = 0;
  for (const perfetto::TracePacket& packet : trace.packet()) {
    EXPECT_EQ(packet.trusted_packet_sequence_id(), 1u);
    if (!packet.has_track_event()) continue;
    if (packet.track_event().type() == perfetto::TrackEvent::TYPE_COUNTER) continue;  // below
    EXPECT_GE(packet.timestamp(), last);
    last = packet.timestamp();
    const perfetto::TrackEvent& event = packet.track_event();
    EXPECT_EQ(event.track_uuid(), 2u);
    if (event.type() == perfetto::TrackEvent::TYPE_SLICE_END) {
      ASSERT_FALSE(open.empty());
      open.pop_back();
      continue;
    }
    slices.push_back(absl::StrCat(std::string(open.size(), ' '), event.name()));
    open.push_back(event.name());
    if (event.name() != "step 0") continue;
    for (const auto& note : event.debug_annotations()) of_step[note.name()] = note.string_value();
  }
  EXPECT_TRUE(open.empty());
  EXPECT_THAT(slices, ElementsAre("load forward", " resolve", " allocate", " init delegate 0",
                                  "execute forward", " a", " delegate 0 (demo)", "  step 0"));
  EXPECT_EQ(of_step["nodes"], "b");
  EXPECT_EQ(of_step["source"], "m.py:2");
  EXPECT_EQ(of_step["module"], "body");
  EXPECT_EQ(of_step["operator"], "aten.mm.default");
}

// The bytes of one event, by the field numbers of Perfetto's definition.
TEST_F(TraceFilesTest, PerfettoFieldNumbers) {
  CodeMap code(logged_->method());
  const Event event = {.begin = 300, .end = 301, .owner = 0, .kind = EventKind::kResolve};
  const std::string bytes = PerfettoTrace(absl::MakeConstSpan(&event, 1), code);
  const std::string process =
      "\x0a\x12\x50\x01\xe2\x03\x0d\x08\x01\x1a\x09\x08\x01\x32\x05"
      "belay";
  const std::string begin =
      "\x0a\x1f\x40\xac\x02\x50\x01\x5a\x18\x48\x01\x58\x02\xb2\x01\x07"
      "resolve"
      "\xba\x01\x07"
      "resolve";
  const std::string end = std::string("\x0a\x0b\x40\xad\x02\x50\x01\x5a\x04\x48\x02\x58\x02", 13);
  EXPECT_TRUE(bytes.starts_with(process));
  EXPECT_NE(bytes.find(begin), std::string::npos);
  EXPECT_TRUE(bytes.ends_with(end));
}

TEST_F(TraceFilesTest, JsonMatchesPerfetto) {
  CodeMap code(logged_->method());
  const nlohmann::json trace = JsonTrace(events_, code);
  std::vector<std::string> names;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["name"] == "arena in use") continue;  // below
    names.push_back(event["name"]);
    EXPECT_EQ(event["ph"], "X");
    EXPECT_GE(event["dur"].get<double>(), 0);
  }
  EXPECT_THAT(names, ElementsAre("load forward", "resolve", "allocate", "init delegate 0",
                                 "execute forward", "a", "delegate 0 (demo)", "step 0"));
  const nlohmann::json& step = trace["traceEvents"][7];
  EXPECT_EQ(step["cat"], "step");
  EXPECT_EQ(step["args"]["nodes"], "b");
  EXPECT_EQ(step["args"]["source"], "m.py:2");
}

TEST_F(TraceFilesTest, ArenaCounterStartsAndEndsAtZero) {
  CodeMap code(logged_->method());
  std::vector<int64_t> of_json, of_perfetto;
  const nlohmann::json json = JsonTrace(events_, code);
  for (const nlohmann::json& event : json["traceEvents"]) {
    if (event["ph"] == "C") of_json.push_back(event["args"]["bytes"]);
  }
  perfetto::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(PerfettoTrace(events_, code)));
  uint64_t track = 0;
  for (const perfetto::TracePacket& packet : trace.packet()) {
    if (packet.track_descriptor().has_counter()) track = packet.track_descriptor().uuid();
    if (packet.track_event().type() != perfetto::TrackEvent::TYPE_COUNTER) continue;
    EXPECT_EQ(packet.track_event().track_uuid(), track);
    of_perfetto.push_back(packet.track_event().counter_value());
  }
  ASSERT_EQ(of_json.size(), 4u);  // the call, its two instructions, its end
  EXPECT_EQ(of_json[0], 0);
  EXPECT_GT(of_json[1], 0);
  EXPECT_GT(of_json[2], 0);
  EXPECT_EQ(of_json[3], 0);
  EXPECT_EQ(of_perfetto, of_json);
}

}  // namespace
}  // namespace belay::tools
