// Serializes a program image to a program file and its companion files
// (runtime/schema/file_format.md). Deterministic.
#ifndef BELAY_EXIR_SERIALIZE_SERIALIZER_H_
#define BELAY_EXIR_SERIALIZE_SERIALIZER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/emit/program_image.h"
#include "exir/ir/constant.h"

namespace belay::exir {

struct SerializeOptions {
  // Whether segments may be stored in other files. False if a program must be one piece, as inside
  // a delegate's blob.
  bool companions = false;
  // Stores the constants and named data that are not external already in a companion file of this
  // tag; "": in the program file. Requires `companions`.
  std::string constants_companion;
};

// A companion file. Its base name is TAG-DIGEST.data, with the first 32 digits of the SHA-256 over
// the digests of its segments, so that different contents have different names.
struct SerializedCompanion {
  std::string name;
  std::vector<std::string_view> pieces;
  uint64_t size = 0;
};

// Consecutive pieces of a file; big constants are not copied. The pieces point into `image` (which
// must outlive them) or into `owned`.
struct SerializedProgram {
  std::vector<std::string_view> pieces;
  std::vector<std::unique_ptr<std::string>> owned;
  uint64_t size = 0;
  std::vector<SerializedCompanion> companions;  // sorted by name
  std::string ToString() const;  // the program file in one string; for tests and small programs
  Storage ToStorage() const;     // the same as owned bytes: a delegate's blob
};
// A segment's `companion` in the image is the tag of the file in which to store it.
//   kInvalidArgument  inconsistent indices in the image, or a tag that is invalid in a file name
//   kUnimplemented    a segment of a companion file although `options` require one piece; names
//                     the tag
absl::StatusOr<SerializedProgram> SerializeProgram(const ProgramImage& image,
                                                   const SerializeOptions& options = {});

// Writes the companion files into the directory of `path`, then the program file. Each file is
// written atomically. Links at its path are replaced, not followed. Existing companion files with
// the same bytes are kept. On error, all added files are removed, and an existing program file is
// unchanged.
absl::Status WriteSerializedProgram(const SerializedProgram& program, const std::string& path);

// Serializes and writes; companion files are written if the image or `options` require them.
absl::Status WriteProgramFile(const ProgramImage& image, const std::string& path,
                              SerializeOptions options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_SERIALIZE_SERIALIZER_H_
