// Reads ExecuTorch's files of profiling events, .etdp (docs/profiling.md §6).
#ifndef BELAY_EXECUTORCH_READER_EVENT_DUMP_H_
#define BELAY_EXECUTORCH_READER_EVENT_DUMP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/program/limits.h"

namespace belay::pte {

// Returns whether the bytes have an ETDump's identifier. Checks nothing else.
bool IsEventDump(absl::Span<const std::byte> file);

struct DumpedEvent {
  std::string name;          // UTF-8
  int32_t instruction = -1;  // index in the method; -1: none
  std::string delegate_id;   // identifier of the event inside a delegate; "": outside
  uint64_t begin = 0, end = 0;
};

// A block of events, such as "Execute".
struct DumpedRun {
  std::string name;            // UTF-8
  int32_t bundled_input = -1;  // index of the test case; -1: none
  std::vector<DumpedEvent> events;
};

// Returns the profiling events of all blocks. Events of debugging and allocation are omitted.
// Reports all broken rules.
//   kDataLoss           not an ETDump, or damaged
//   kUnimplemented      another version of the format
//   kInvalidArgument    an event that ends before it begins, a name that is not UTF-8
//   kResourceExhausted  Limits::metadata_bytes, 2 GiB (a FlatBuffer), or not enough memory
absl::StatusOr<std::vector<DumpedRun>> ReadEventDump(absl::Span<const std::byte> file,
                                                     const Limits& limits);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_EVENT_DUMP_H_
