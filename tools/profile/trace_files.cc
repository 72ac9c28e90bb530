#include "tools/profile/trace_files.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/profile/perfetto_trace.pb.h"

namespace belay::tools {
namespace {

constexpr uint64_t kProcessTrack = 1, kThreadTrack = 2, kArenaTrack = 3;
constexpr int kProcess = 1, kThread = 1;
constexpr char kArena[] = "arena in use";

// Arena bytes of the outermost method that are in use from a time on: one entry per instruction,
// and 0 outside of its calls.
struct ArenaCount {
  int64_t time;
  uint64_t bytes;
};
std::vector<ArenaCount> ArenaCounts(absl::Span<const Event> events, CodeMap& code) {
  std::vector<ArenaCount> counts;
  std::optional<int64_t> end;  // of the enclosing call
  for (const Event& event : events) {
    if (end.has_value() && event.begin >= *end) {
      counts.push_back({*end, 0});
      end.reset();
    }
    if (code.log().owners()[event.owner].parent != EventOwner::kNone) continue;
    if (event.kind == EventKind::kExecute) {
      counts.push_back({event.begin, 0});
      end = event.end;
    }
    if (event.kind != EventKind::kInstruction && event.kind != EventKind::kDelegateCall) continue;
    const std::optional<size_t> site = code.SiteOf(event);
    if (site.has_value()) counts.push_back({event.begin, code.sites()[*site].arena_bytes});
  }
  if (end.has_value()) counts.push_back({*end, 0});
  return counts;
}

// Details of an event that a viewer shows next to its name: strings and numbers.
struct Details {
  std::vector<std::pair<std::string_view, std::string>> strings;
  std::vector<std::pair<std::string_view, double>> numbers;
};

Details DetailsOf(const Event& event, CodeMap& code) {
  Details details;
  const auto text = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) details.strings.emplace_back(name, value);
  };
  const auto number = [&](std::string_view name, double value) {
    if (value != 0) details.numbers.emplace_back(name, value);
  };
  number("cpu_us", static_cast<double>(event.cpu) / 1e3);
  const std::optional<size_t> index = code.SiteOf(event);
  if (!index.has_value()) return details;
  const CodeSite& site = code.sites()[*index];
  text("operator", site.op);
  text("kernel", site.kernel);
  text("engine", site.engine);
  text("backend", site.backend);
  text("declined",
       absl::StrJoin(site.declined, "; ", [](std::string* out, const DeclinedKernel& declined) {
         absl::StrAppend(out, declined.kernel, " ", declined.reason);
       }));
  text("operands", site.operands);
  text("source", site.source);
  text("module", site.module);
  text("nodes", absl::StrJoin(site.nodes, ", ", [](std::string* out, const ModelNode& node) {
         out->append(node.node);
       }));
  text("in", site.path);
  number("bytes_read", static_cast<double>(site.bytes_read));
  number("bytes_written", static_cast<double>(site.bytes_written));
  number("scratch_bytes", static_cast<double>(site.scratch_bytes));
  number("arena_bytes", static_cast<double>(site.arena_bytes));
  number("operations", site.operations);
  return details;
}

perfetto::TracePacket& AddPacket(perfetto::Trace& trace) {
  perfetto::TracePacket& packet = *trace.add_packet();
  packet.set_trusted_packet_sequence_id(1);
  return packet;
}

}  // namespace

std::string PerfettoTrace(absl::Span<const Event> events, CodeMap& code) {
  perfetto::Trace trace;
  perfetto::TrackDescriptor* process = AddPacket(trace).mutable_track_descriptor();
  process->set_uuid(kProcessTrack);
  process->mutable_process()->set_pid(kProcess);
  process->mutable_process()->set_process_name("belay");
  perfetto::TrackDescriptor* thread = AddPacket(trace).mutable_track_descriptor();
  thread->set_uuid(kThreadTrack);
  thread->set_parent_uuid(kProcessTrack);
  thread->mutable_thread()->set_pid(kProcess);
  thread->mutable_thread()->set_tid(kThread);
  thread->mutable_thread()->set_thread_name("method");

  perfetto::TrackDescriptor* arena = AddPacket(trace).mutable_track_descriptor();
  arena->set_uuid(kArenaTrack);
  arena->set_parent_uuid(kProcessTrack);
  arena->set_name(kArena);
  arena->mutable_counter()->set_unit(perfetto::CounterDescriptor::UNIT_SIZE_BYTES);
  for (const ArenaCount& count : ArenaCounts(events, code)) {
    perfetto::TracePacket& packet = AddPacket(trace);
    packet.set_timestamp(static_cast<uint64_t>(count.time));
    packet.mutable_track_event()->set_type(perfetto::TrackEvent::TYPE_COUNTER);
    packet.mutable_track_event()->set_track_uuid(kArenaTrack);
    packet.mutable_track_event()->set_counter_value(static_cast<int64_t>(count.bytes));
  }

  std::vector<int64_t> ends;  // of the open slices
  const auto end = [&] {
    perfetto::TracePacket& packet = AddPacket(trace);
    packet.set_timestamp(static_cast<uint64_t>(ends.back()));
    packet.mutable_track_event()->set_type(perfetto::TrackEvent::TYPE_SLICE_END);
    packet.mutable_track_event()->set_track_uuid(kThreadTrack);
    ends.pop_back();
  };
  for (const Event& event : events) {
    while (ends.size() > event.depth) end();
    perfetto::TracePacket& packet = AddPacket(trace);
    packet.set_timestamp(static_cast<uint64_t>(event.begin));
    perfetto::TrackEvent& slice = *packet.mutable_track_event();
    slice.set_type(perfetto::TrackEvent::TYPE_SLICE_BEGIN);
    slice.set_track_uuid(kThreadTrack);
    slice.add_categories(std::string(EventKindName(event.kind)));
    slice.set_name(code.NameOf(event));
    const Details details = DetailsOf(event, code);
    for (const auto& [name, value] : details.strings) {
      perfetto::DebugAnnotation& annotation = *slice.add_debug_annotations();
      annotation.set_name(std::string(name));
      annotation.set_string_value(value);
    }
    for (const auto& [name, value] : details.numbers) {
      perfetto::DebugAnnotation& annotation = *slice.add_debug_annotations();
      annotation.set_name(std::string(name));
      annotation.set_double_value(value);
    }
    ends.push_back(event.end);
  }
  while (!ends.empty()) end();
  return trace.SerializeAsString();
}

nlohmann::json JsonTrace(absl::Span<const Event> events, CodeMap& code) {
  nlohmann::json list = nlohmann::json::array();
  for (const Event& event : events) {
    nlohmann::json args = nlohmann::json::object();
    const Details details = DetailsOf(event, code);
    for (const auto& [name, value] : details.strings) args[std::string(name)] = value;
    for (const auto& [name, value] : details.numbers) args[std::string(name)] = value;
    list.push_back({{"name", code.NameOf(event)},
                    {"cat", std::string(EventKindName(event.kind))},
                    {"ph", "X"},
                    {"ts", static_cast<double>(event.begin) / 1e3},
                    {"dur", static_cast<double>(event.end - event.begin) / 1e3},
                    {"pid", kProcess},
                    {"tid", kThread},
                    {"args", std::move(args)}});
  }
  for (const ArenaCount& count : ArenaCounts(events, code)) {
    list.push_back({{"name", kArena},
                    {"ph", "C"},
                    {"ts", static_cast<double>(count.time) / 1e3},
                    {"pid", kProcess},
                    {"args", {{"bytes", count.bytes}}}});
  }
  return {{"traceEvents", std::move(list)}};
}

}  // namespace belay::tools
