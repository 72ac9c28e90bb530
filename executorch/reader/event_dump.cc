#include "executorch/reader/event_dump.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "executorch/format/etdump_generated.h"
#include "executorch/reader/problems.h"
#include "flatbuffers/flatbuffers.h"
#include "runtime/core/arena.h"
#include "runtime/core/bytes.h"
#include "runtime/core/first_bytes.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

// After the size of the buffer and the root's offset.
constexpr size_t kIdentifierOffset = 8, kIdentifierSize = 4;
constexpr int kMostNesting = 16;

std::string_view Identifier(absl::Span<const std::byte> file) {
  if (file.size() < kIdentifierOffset + kIdentifierSize) return "";
  return AsString(file.subspan(kIdentifierOffset, kIdentifierSize));
}

std::string_view StringOf(const flatbuffers::String* string) {
  return string == nullptr ? std::string_view() : string->string_view();
}

// Upper bound for the memory of the events and of the messages about them. Tables and strings may
// be shared, so that they may exceed the file.
MemoryBound MemoryOf(const etdump::ETDump& root) {
  constexpr uint64_t kRun = 256, kEvent = 512;
  MemoryBound bound;
  if (root.run_data() == nullptr) return bound;
  for (const etdump::RunData* run : *root.run_data()) {
    bound.Add(1, kRun);
    bound.Add(1, StringOf(run->name()).size());
    if (run->events() == nullptr) continue;
    bound.Add(run->events()->size(), kEvent);
    for (const etdump::Event* event : *run->events()) {
      const etdump::ProfileEvent* profile = event->profile_event();
      if (profile == nullptr) continue;
      bound.Add(2, StringOf(profile->name()).size());
      bound.Add(1, StringOf(profile->delegate_debug_id_str()).size());
    }
  }
  return bound;
}

DumpedEvent ReadEvent(const etdump::ProfileEvent& profile, std::string_view place,
                      Problems& problems) {
  DumpedEvent event;
  event.name = std::string(StringOf(profile.name()));
  event.instruction = profile.instruction_id();
  event.delegate_id = std::string(StringOf(profile.delegate_debug_id_str()));
  if (event.delegate_id.empty() && profile.delegate_debug_id_int() >= 0) {
    event.delegate_id = absl::StrCat(profile.delegate_debug_id_int());
  }
  event.begin = profile.start_time();
  event.end = profile.end_time();
  if (event.end < event.begin) {
    problems.Add(absl::InvalidArgumentError(
        absl::StrCat(place, " ends at ", event.end, ", before it begins at ", event.begin)));
  }
  for (const std::string& string : {event.name, event.delegate_id}) {
    if (IsUtf8(string)) continue;
    problems.Add(absl::InvalidArgumentError(
        absl::StrCat(place, ": the string ", Quoted(string), " is not UTF-8")));
  }
  return event;
}

}  // namespace

bool IsEventDump(absl::Span<const std::byte> file) { return Identifier(file).substr(0, 2) == "ED"; }

absl::StatusOr<std::vector<DumpedRun>> ReadEventDump(absl::Span<const std::byte> file,
                                                     const Limits& limits) {
  const std::string_view expected = etdump::ETDumpIdentifier(), got = Identifier(file);
  if (!IsEventDump(file)) {
    return absl::DataLossError(absl::StrCat("not an ETDump (.etdp): ", DescribeFirstBytes(file)));
  }
  if (got != expected) {
    return absl::UnimplementedError(absl::StrCat("the ETDump has the schema ", Quoted(got),
                                                 ", this reader reads ", Quoted(expected)));
  }
  const uint64_t most = std::min<uint64_t>(limits.metadata_bytes, FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  if (file.size() > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an ETDump of ", file.size(), " bytes, the limit 'metadata_bytes' is ", most));
  }
  // A copy that no other process changes.
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer copy, AlignedBuffer::Create(file.size()));
  std::copy_n(file.data(), file.size(), copy.data());
  const auto* bytes = reinterpret_cast<const uint8_t*>(copy.data());
  flatbuffers::Verifier::Options options;
  options.max_depth = kMostNesting;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(file.size() / 4);
  flatbuffers::Verifier verifier(bytes, file.size(), options);
  if (!etdump::VerifySizePrefixedETDumpBuffer(verifier)) {
    return absl::DataLossError(
        absl::StrCat("the tables of the ETDump are damaged: they do not fit its ", file.size(),
                     " bytes, or are nested or shared too much"));
  }
  const etdump::ETDump& root = *etdump::GetSizePrefixedETDump(bytes);
  if (root.version() != 0) {
    return absl::UnimplementedError(
        absl::StrCat("the ETDump has version ", root.version(), ", this reader reads 0"));
  }
  ABSL_RETURN_IF_ERROR(CheckMemory(MemoryOf(root).bytes(), "the events of an ETDump"));
  Problems problems;
  std::vector<DumpedRun> runs;
  if (root.run_data() == nullptr) return runs;
  for (const etdump::RunData* table : *root.run_data()) {
    DumpedRun run;
    run.name = std::string(StringOf(table->name()));
    run.bundled_input = table->bundled_input_index();
    const std::string place = absl::StrCat("run_data[", runs.size(), "]");
    if (!IsUtf8(run.name)) {
      problems.Add(absl::InvalidArgumentError(absl::StrCat(place, ": its name is not UTF-8")));
    }
    if (table->events() != nullptr) {
      for (flatbuffers::uoffset_t i = 0; i < table->events()->size(); ++i) {
        const etdump::ProfileEvent* profile = table->events()->Get(i)->profile_event();
        if (profile == nullptr) continue;
        run.events.push_back(
            ReadEvent(*profile, absl::StrCat(place, ".events[", i, "]"), problems));
      }
    }
    runs.push_back(std::move(run));
  }
  ABSL_RETURN_IF_ERROR(problems.ToStatus());
  return runs;
}

}  // namespace belay::pte
