#include "runtime/program/metadata_messages.h"

namespace belay {

#define BELAY_MESSAGE(message)                                                                    \
  absl::Status Read(const WireMessage& bytes, const MetadataPath& path, message##Message& read) { \
    WireReader fields(bytes);                                                                     \
    while (fields.Next()) {                                                                       \
      switch (fields.number()) {
#define BELAY_FIELD(number, kind, name) \
  case number:                          \
    fields.Read(read.name);             \
    break;
#define BELAY_ONEOF(oneof)
#define BELAY_MEMBER(number, kind, name, oneof, constant) \
  case number:                                            \
    fields.ReadMember<wire::kind>(read.oneof);            \
    break;
#define BELAY_UNREAD(number, kind, name)
#define BELAY_END(message)    \
  }                           \
  }                           \
  return fields.Finish(path); \
  }
#include "runtime/program/metadata_messages.inc"

}  // namespace belay
