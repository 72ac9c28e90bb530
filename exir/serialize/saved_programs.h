// Programs between two stages of lowering as a file (.bir): graphs in text form, weights, delegates.
// A vendor's tool can take one, change it and hand it on (docs/lowering.md row 52).
//
//   ABSL_RETURN_IF_ERROR(WriteSavedPrograms(methods, "model.bir"));
//   ABSL_ASSIGN_OR_RETURN(MethodPrograms methods, ReadSavedPrograms("model.bir", *ops));
//
// The file, all numbers little-endian:
//    0  "BIRBELAY"
//    8  u32 version, 1; u32 zero
//   16  u64 bytes of the SavedPrograms message that begins at 64
//   24  its SHA-256
//   56  u64 zero
//   64  the message, zeros up to a multiple of 4096, then the storages, each at a multiple of 64 and
//       none behind the last but zeros up to it
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
#include "exir/op/op_registry.h"

namespace belay::exir {

// Deterministic: equal programs give equal bytes, and a program that was read gives the bytes that
// it was read from. Bytes that several constants, methods or delegates share are there once and
// stay shared. The pieces are written one after the other and point into the programs' storages
// (which must outlive them) or into `owned`.
struct SavedProgramsImage {
  std::vector<std::string_view> pieces;
  std::vector<std::unique_ptr<std::string>> owned;
  std::vector<Storage> storages;  // keeps the bytes of constants alive
  std::string ToString() const;
};
SavedProgramsImage SavePrograms(const MethodPrograms& methods);

// The file is there as a whole or not at all. Errors of WriteFileAtomically.
absl::Status WriteSavedPrograms(const MethodPrograms& methods, const std::string& path);

// Whether the bytes begin like such a file.
bool IsSavedPrograms(absl::Span<const std::byte> bytes);

struct ReadSavedProgramsOptions {
  uint64_t max_text_bytes = uint64_t{256} << 20;  // of all methods together
};

// What is in such a file, without reading the programs.
struct SavedProgramsInfo {
  uint64_t file_bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> methods;  // name, bytes of its text
  std::vector<uint64_t> storages;                         // bytes
};
// Errors of ReadSavedPrograms, but for those of texts.
absl::StatusOr<SavedProgramsInfo> InspectSavedPrograms(
    const std::string& path, const ReadSavedProgramsOptions& options = {});

// The names of its methods, in its order. Errors as InspectSavedPrograms, but for those of storages,
// which are not read. O(text).
absl::StatusOr<std::vector<std::string>> SavedMethodNames(
    const std::string& path, const ReadSavedProgramsOptions& options = {});

// Verified programs (exir/ir/verifier.h), whose constants lie in `bytes`; `owner` keeps them alive.
// The file may come from anybody. O(bytes): everything is digested.
//   kInvalidArgument    no such file; a message, offset, name or text that is wrong (with its place)
//   kUnimplemented      a newer version
//   kDataLoss           truncated, or a digest is another
//   kResourceExhausted  more text than `max_text_bytes`
//   kFailedPrecondition a program that does not verify
absl::StatusOr<MethodPrograms> ParseSavedPrograms(std::shared_ptr<const void> owner,
                                                  absl::Span<const std::byte> bytes,
                                                  const OpRegistry& ops,
                                                  const ReadSavedProgramsOptions& options = {});
// The same of a file, which is mapped; also the errors of MappedFile::Open. Errors name the path.
absl::StatusOr<MethodPrograms> ReadSavedPrograms(const std::string& path, const OpRegistry& ops,
                                                 const ReadSavedProgramsOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_SERIALIZE_SAVED_PROGRAMS_H_
