// Negative program files as edits of the sample program, in table rows.
#ifndef BELAY_FUZZ_NEGATIVE_PROGRAM_EDITS_H_
#define BELAY_FUZZ_NEGATIVE_PROGRAM_EDITS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "fuzz/negative/negative_bytes.h"
#include "fuzz/negative/negative_file.h"
#include "runtime/executor/testing/sample_program.h"

namespace belay::fuzz {

// Edits the sample's metadata. Sizes, offsets and checksums of the file are recomputed.
struct ProgramEdit {
  const char* name;  // without ".belay"
  const char* what;
  absl::StatusCode code;
  const char* message;
  void (*edit)(schema::Program& program, schema::Method& method, const SampleIndices& v);
};

std::vector<NegativeFile> FilesOf(absl::Span<const ProgramEdit> edits);
// For any reader; `extension` includes the dot.
std::vector<NegativeFile> FilesOf(absl::Span<const NegativeBytes> rows, NegativeReader reader,
                                  const std::string& extension);
void Append(std::vector<NegativeFile>& files, std::vector<NegativeFile> more);

// Returns a program file with a valid header, these bytes as metadata, and no segments.
std::string FileOfMetadata(const std::string& metadata);

// Recomputes only the header's own checksum, so that header fields can have any values.
void FixHeaderChecksum(std::string& file);

#define BELAY_EDIT(...) \
  [](schema::Program& program, schema::Method& method, const SampleIndices& v) { __VA_ARGS__; }

inline schema::Tensor& TensorAt(schema::Method& method, uint32_t value) {
  return *method.mutable_values(static_cast<int>(value))->mutable_tensor();
}
inline schema::Instruction& InstructionAt(schema::Method& method, uint32_t instruction) {
  return *method.mutable_instructions(static_cast<int>(instruction));
}

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_PROGRAM_EDITS_H_
