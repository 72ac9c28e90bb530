// Serializes programs between two stages of lowering (.bir): graphs in text form, weights,
// delegates. Vendor tools can read, transform and write them (docs/lowering.md row 52).
//
//   ABSL_RETURN_IF_ERROR(WriteSavedPrograms(methods, "model.bir"));
//   ABSL_ASSIGN_OR_RETURN(MethodPrograms methods, ReadSavedPrograms("model.bir", *ops));
//
// File format, all numbers little-endian:
//    0  "BIRBELAY"
//    8  u32 version, 1; u32 zero
//   16  u64 bytes of the SavedPrograms message that begins at 64
//   24  its SHA-256
//   56  u64 zero
//   64  the message, zeros up to a multiple of 4096, then the storages, each at a multiple of 64,
//       with zeros in the gaps; the file ends with the last storage (with the message if there are
//       no storages)
#ifndef BELAY_EXIR_SERIALIZE_SAVED_PROGRAMS_H_
#define BELAY_EXIR_SERIALIZE_SAVED_PROGRAMS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/constant.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

// Options of lowering that an importer stores with the programs, such as the tokenizer of a language
// model.
struct SavedLoweringOptions {
  std::vector<std::pair<std::string, Storage>> named_data;  // EmitOptions::named_data, by key
  std::vector<std::pair<std::string, int64_t>> constant_methods;
  bool write_state_in_place = false;
};

// Deterministic: equal programs give equal bytes, and a program that was read is written back to
// the same bytes. Bytes shared by several constants, methods or delegates are stored once and stay
// shared. The consecutive pieces point into the programs' storages (which must outlive them) or
// into `owned`.
struct SavedProgramsImage {
  std::vector<std::string_view> pieces;
  std::vector<std::unique_ptr<std::string>> owned;
  std::vector<Storage> storages;  // keeps the bytes of constants alive
  std::string ToString() const;
};
SavedProgramsImage SavePrograms(const MethodPrograms& methods,
                                const SavedLoweringOptions& options = {});

// Writes the file atomically. Errors of WriteFileAtomically.
absl::Status WriteSavedPrograms(const MethodPrograms& methods, const std::string& path,
                                const SavedLoweringOptions& options = {});

// Whether the bytes begin with the magic of this format.
bool IsSavedPrograms(absl::Span<const std::byte> bytes);

struct ReadSavedProgramsOptions {
  uint64_t max_text_bytes = uint64_t{256} << 20;  // sum over all methods
};

// Contents of such a file, available without parsing the programs.
struct SavedProgramsInfo {
  uint64_t file_bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> methods;  // name, bytes of its text
  std::vector<uint64_t> storages;                         // bytes
};
// Errors of ReadSavedPrograms, except those of parsing programs.
absl::StatusOr<SavedProgramsInfo> InspectSavedPrograms(
    const std::string& path, const ReadSavedProgramsOptions& options = {});

// Returns the method names in file order. Errors of InspectSavedPrograms, except those of storages,
// which are not read. O(text).
absl::StatusOr<std::vector<std::string>> SavedMethodNames(
    const std::string& path, const ReadSavedProgramsOptions& options = {});

// Returns the options of a file. Errors of InspectSavedPrograms, except digests of other storages.
// O(text and named data).
absl::StatusOr<SavedLoweringOptions> ReadSavedLoweringOptions(
    const std::string& path, const ReadSavedProgramsOptions& options = {});

// Returns verified programs (exir/ir/verifier.h) whose constants point into `bytes`; `owner` keeps
// them alive. The file may be untrusted. O(bytes): all bytes are hashed.
//   kInvalidArgument    no such file; an invalid message, offset, name or text (with its position)
//   kUnimplemented      a newer version
//   kDataLoss           truncated, or a digest mismatch
//   kResourceExhausted  more text than `max_text_bytes`
//   kFailedPrecondition a program does not verify
absl::StatusOr<MethodPrograms> ParseSavedPrograms(std::shared_ptr<const void> owner,
                                                  absl::Span<const std::byte> bytes,
                                                  const OpRegistry& ops,
                                                  const ReadSavedProgramsOptions& options = {});
// Same, for a file, which is mapped; also errors of MappedFile::Open. Errors name the path.
absl::StatusOr<MethodPrograms> ReadSavedPrograms(const std::string& path, const OpRegistry& ops,
                                                 const ReadSavedProgramsOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_SERIALIZE_SAVED_PROGRAMS_H_
