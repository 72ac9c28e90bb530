// A program ready for serialization: its metadata and the bytes of its segments.
#ifndef BELAY_EXIR_EMIT_PROGRAM_IMAGE_H_
#define BELAY_EXIR_EMIT_PROGRAM_IMAGE_H_

#include <string>
#include <vector>

#include "exir/ir/constant.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// metadata.segments is empty: the serializer lays out segments and fills in offsets, sizes and
// digests. Indices of segments in the metadata (constants', delegates', named data's) are indices
// into `segments`.
struct ProgramImage {
  struct Segment {
    schema::Segment::Kind kind = schema::Segment::UNKNOWN;
    // Written consecutively, each aligned to 64 bytes; `metadata.constants` has their offsets.
    std::vector<Storage> pieces;
    uint64_t alignment = 128;
    std::string companion;    // "": the program file
    std::string sha256 = {};  // digest of the bytes, if known
  };
  schema::Program metadata;
  std::vector<Segment> segments;
  schema::DebugInfo debug;  // not written if empty
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_PROGRAM_IMAGE_H_
