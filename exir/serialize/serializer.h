// A program image → the bytes of a program file (runtime/schema/file_format.md). Deterministic.
#ifndef BELAY_EXIR_SERIALIZE_SERIALIZER_H_
#define BELAY_EXIR_SERIALIZE_SERIALIZER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/emit/program_image.h"

namespace belay::exir {

// A file as pieces that are written one after the other; big constants are not copied. The pieces
// point into `image` (which must outlive them) or into `owned`.
struct SerializedProgram {
  std::vector<std::string_view> pieces;
  std::vector<std::unique_ptr<std::string>> owned;
  uint64_t size = 0;
  std::string ToString() const;  // all bytes in one string; for tests and small programs
};
// kInvalidArgument when the image's indices do not fit together.
absl::StatusOr<SerializedProgram> SerializeProgram(const ProgramImage& image);

// Writes the file atomically: on error no file is left, and an existing one is unchanged.
absl::Status WriteProgramFile(const ProgramImage& image, const std::string& path);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SERIALIZE_SERIALIZER_H_
