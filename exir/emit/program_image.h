// A program that is ready to be written: the metadata, and the bytes that its segments will hold.
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
    // Written one after the other, each aligned to 64 bytes; `metadata.constants` has their
    // offsets.
    std::vector<Storage> pieces;
    uint64_t alignment = 128;
    std::string companion;    // "": the program file
    std::string sha256 = {};  // of the bytes, where it is known
  };
  schema::Program metadata;
  std::vector<Segment> segments;
  schema::DebugInfo debug;  // empty: none is written
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_PROGRAM_IMAGE_H_
