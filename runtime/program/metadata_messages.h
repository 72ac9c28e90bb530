// Parsed messages of runtime/schema/program.proto. Scalars are copied; strings, lists and nested
// messages refer to the file. Parsing a message only reads its own fields and checks that they are
// well-formed. The validators check all rules about values.
//
// metadata_messages.inc lists the fields. Each message X has a struct XMessage with one member per
// field. The members of a oneof share a WireOneof, and XMessage::kY is the field number of y.
#ifndef BELAY_RUNTIME_PROGRAM_METADATA_MESSAGES_H_
#define BELAY_RUNTIME_PROGRAM_METADATA_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/wire_reader.h"

namespace belay {

// C++ types of the field kinds.
namespace wire {
using Bool = bool;
using Uint32 = uint32_t;
using Uint64 = uint64_t;
using Int64 = int64_t;
using Double = double;
using Enum = uint32_t;
using Text = std::string_view;
using Bytes = absl::Span<const std::byte>;
using Message = WireMessage;
using Uint32s = WireNumbers<uint32_t>;
using Int64s = WireNumbers<int64_t>;
using Texts = WireStrings;
using Messages = WireMessages;
}  // namespace wire

// Read fills in `read`, which must be default-constructed, from the message at `path`. Errors are
// WireReader's.
#define BELAY_MESSAGE(message) struct message##Message {
#define BELAY_FIELD(number, kind, name) wire::kind name{};
#define BELAY_ONEOF(oneof) WireOneof oneof;
#define BELAY_MEMBER(number, kind, name, oneof, constant) \
  static constexpr uint32_t constant = number;
#define BELAY_UNREAD(number, kind, name)
#define BELAY_END(message) \
  }                        \
  ;                        \
  absl::Status Read(const WireMessage& bytes, const MetadataPath& path, message##Message& read);
#include "runtime/program/metadata_messages.inc"

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_METADATA_MESSAGES_H_
