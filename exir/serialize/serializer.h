// A program image → the bytes of a program file and of its companion files
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
  // Whether segments may lie in other files. Off where a program must be one piece, as inside a
  // delegate's blob.
  bool companions = false;
  // Puts the constants and named data that are not external already into a companion file of this
  // tag; "": into the program file. Needs `companions`.
  std::string constants_companion;
};

// A companion file: its base name, TAG-DIGEST.data with the first 32 digits of the SHA-256 over the
// digests of its segments, so that other content has another name.
struct SerializedCompanion {
  std::string name;
  std::vector<std::string_view> pieces;
  uint64_t size = 0;
};

// A file as pieces that are written one after the other; big constants are not copied. The pieces
// point into `image` (which must outlive them) or into `owned`.
struct SerializedProgram {
  std::vector<std::string_view> pieces;
  std::vector<std::unique_ptr<std::string>> owned;
  uint64_t size = 0;
  std::vector<SerializedCompanion> companions;  // sorted by name
  std::string ToString() const;  // the program file in one string; for tests and small programs
  Storage ToStorage() const;     // the same as bytes of their own: a delegate's blob
};
// A segment's `companion` in the image is the tag of the file that it shall lie in.
//   kInvalidArgument  the image's indices do not fit together, or a tag can't be in a file's name
//   kUnimplemented    a segment of a companion file while `options` want one piece; names the tag
absl::StatusOr<SerializedProgram> SerializeProgram(const ProgramImage& image,
                                                   const SerializeOptions& options = {});

// Writes the companion files into the directory of `path`, then the program file. Each file is
// there as a whole or not at all, links at its place are replaced and not followed, and a companion
// file that is there already with these bytes is left alone. On error none of those that were added
// is left, and an existing program file is unchanged.
absl::Status WriteSerializedProgram(const SerializedProgram& program, const std::string& path);

// Both: companion files are written when the image or `options` ask for them.
absl::Status WriteProgramFile(const ProgramImage& image, const std::string& path,
                              SerializeOptions options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_SERIALIZE_SERIALIZER_H_
