#include "tools/belay/etdump_file.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "executorch/format/etdump_generated.h"

namespace belay::tools {
namespace {

bool IsLoading(EventKind kind) {
  switch (kind) {
    case EventKind::kLoad:
    case EventKind::kResolve:
    case EventKind::kAllocate:
    case EventKind::kInit:
      return true;
    case EventKind::kExecute:
    case EventKind::kInstruction:
    case EventKind::kDelegateCall:
    case EventKind::kStep:
      return false;
  }
  return false;
}

// The names that ExecuTorch's runtime gives to such events, or those of the code map.
std::string NameOf(const Event& event, bool outermost, CodeMap& code) {
  const std::optional<size_t> site = code.SiteOf(event);
  if (site.has_value() && !code.sites()[*site].op.empty() &&
      event.kind != EventKind::kDelegateCall) {
    return code.sites()[*site].op;
  }
  if (event.kind == EventKind::kDelegateCall) return "DELEGATE_CALL";
  if (outermost && event.kind == EventKind::kLoad) return "Method::init";
  if (outermost && event.kind == EventKind::kExecute) return "Method::execute";
  return code.NameOf(event);
}

}  // namespace

std::string EtDump(absl::Span<const Event> events, CodeMap& code) {
  etdump::ETDumpT dump;
  auto init = std::make_unique<etdump::RunDataT>(), execute = std::make_unique<etdump::RunDataT>();
  init->name = "Init";
  execute->name = "Execute";
  int32_t delegate_call = -1;  // the last instruction of the outermost method
  for (const Event& event : events) {
    const EventOwner& owner = code.log().owners()[event.owner];
    const bool outermost = !owner.is_delegate && owner.parent == EventOwner::kNone;
    auto table = std::make_unique<etdump::EventT>();
    table->profile_event = std::make_unique<etdump::ProfileEventT>();
    etdump::ProfileEventT& profile = *table->profile_event;
    profile.name = NameOf(event, outermost, code);
    profile.start_time = static_cast<uint64_t>(event.begin);
    profile.end_time = static_cast<uint64_t>(event.end);
    if (outermost &&
        (event.kind == EventKind::kInstruction || event.kind == EventKind::kDelegateCall)) {
      delegate_call = static_cast<int32_t>(event.id);
      profile.instruction_id = delegate_call;
    } else if (!outermost && !IsLoading(event.kind)) {
      profile.instruction_id = delegate_call;
      profile.delegate_debug_id_str = code.NameOf(event);
    }
    (IsLoading(event.kind) ? init : execute)->events.push_back(std::move(table));
  }
  for (auto* run : {&init, &execute}) {
    if (!(*run)->events.empty()) dump.run_data.push_back(std::move(*run));
  }
  flatbuffers::FlatBufferBuilder builder;
  etdump::FinishSizePrefixedETDumpBuffer(builder, etdump::CreateETDump(builder, &dump));
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

}  // namespace belay::tools
