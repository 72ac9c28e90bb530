// Opens program files: validates everything, once, in every build, and returns a trusted plan.
//
// The wire contract is runtime/schema/file_format.md. One pass in linear time checks every index,
// offset, size, rank, shape, alignment, jump target and list entry. No content of a file causes a
// crash, an exception, an unbounded allocation or an endless loop (docs/hardening.md §6).
#ifndef BELAY_RUNTIME_PROGRAM_PROGRAM_H_
#define BELAY_RUNTIME_PROGRAM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/named_data_map.h"
#include "runtime/program/file_verifier.h"
#include "runtime/program/limits.h"
#include "runtime/program/named_tensors.h"
#include "runtime/program/plan.h"
#include "runtime/schema/file_format.h"

namespace belay {

struct ProgramParts;  // program_parts.h

struct SegmentPlan {
  enum class Kind : uint8_t { kConstants = 1, kDelegate = 2, kNamedData = 3, kDebug = 4 };
  Kind kind;
  uint64_t offset = 0;
  uint64_t alignment = 0;
  absl::Span<const std::byte> bytes;
  std::string sha256;
  std::string companion;  // "": the program file itself
};
struct NamedDataPlan {
  std::string key;
  absl::Span<const std::byte> bytes;
  uint64_t alignment = 1;
  bool replaceable = false;
};

// Immutable; all const methods are thread-safe. Move-only.
class Program {
 public:
  struct Options {
    Limits limits;
    // Directory of companion files, which are found by base name only. "": the directory of the
    // program file, or none if opened from bytes.
    std::string companion_root;
    // Called before any content of the file is used; nullptr: every file may be opened. See
    // signature.h.
    const FileVerifier* verifier = nullptr;
    // Use kCopy if untrusted processes could change or truncate the files while they are in use.
    // With kMap, the metadata is copied and the segments are used in place.
    FileAccess access = FileAccess::kMap;
    // Named data of the enclosing program, for constants stored there; nullptr for none. Its blobs
    // must outlive the program.
    const NamedDataMap* named_data = nullptr;
    // Called with each named tensor; replaces some (runtime/parameters). Kept alive by the program.
    // nullptr: all are used as stored. Not used by FromParts.
    std::shared_ptr<NamedTensors> named_tensors;
  };
  // Maps (or copies) the file and validates it.
  //   kNotFound, kPermissionDenied, kUnavailable  the file can't be read
  //   kDataLoss           not a program file, truncated, or damaged (wrong magic, checksum, sizes)
  //   kUnimplemented      a newer format or an unknown required feature (both versions are named)
  //   kInvalidArgument    a rule of runtime/schema/file_format.md is violated; the message names
  //                       the rule, the location and the values
  //   kResourceExhausted  a limit
  //   kNotFound           a constant's key is missing in Options::named_data; names the key
  //   errors of Options::verifier and Options::named_tensors
  static absl::StatusOr<Program> Open(const std::string& path, const Options& options);
  static absl::StatusOr<Program> Open(const std::string& path) { return Open(path, Options()); }
  // As Open, from memory aligned to kSegmentAlignment or less. Constants with misaligned elements
  // are copied. `owner` keeps `bytes` alive.
  static absl::StatusOr<Program> OpenBytes(std::shared_ptr<const void> owner,
                                           absl::Span<const std::byte> bytes,
                                           const Options& options);
  // Creates a program from the output of another format's reader, validated like Belay's own.
  //   kInvalidArgument    a rule of runtime/schema/file_format.md §5 is violated
  //   kResourceExhausted  a limit
  static absl::StatusOr<Program> FromParts(ProgramParts parts, const Limits& limits);

  absl::Span<const MethodPlan> methods() const { return methods_; }
  // kNotFound, listing the program's methods.
  absl::StatusOr<const MethodPlan*> FindMethod(std::string_view name) const;
  // Returns the blob of a key, in place. kNotFound. O(log n).
  absl::StatusOr<absl::Span<const std::byte>> FindNamedData(std::string_view key) const;
  absl::Span<const NamedDataPlan> named_data() const { return named_data_; }
  absl::Span<const SegmentPlan> segments() const { return segments_; }
  absl::Span<const std::byte> bytes() const { return bytes_; }
  uint64_t metadata_bytes() const { return metadata_bytes_; }
  // Upper bound of the memory of methods(), segments() and so on, as computed before their
  // creation.
  uint64_t plans_bytes() const { return plans_bytes_; }
  // Version of the file's format; the major version is kFormatMajor.
  uint32_t minor_version() const { return minor_version_; }
  const std::string& producer() const { return producer_; }
  // Name of the file's format; "" for Belay's own.
  const std::string& format() const { return format_; }
  // Serialized schema.DebugInfo; empty if the file has none.
  absl::Span<const std::byte> debug_info() const { return debug_info_; }
  const Limits& limits() const { return limits_; }

 private:
  Program() = default;
  std::shared_ptr<const void> owner_;
  absl::Span<const std::byte> bytes_;
  uint64_t metadata_bytes_ = 0;
  uint64_t plans_bytes_ = 0;
  uint32_t minor_version_ = 0;
  std::string producer_;
  std::string format_;
  std::vector<MethodPlan> methods_;
  std::vector<SegmentPlan> segments_;
  std::vector<NamedDataPlan> named_data_;
  absl::Span<const std::byte> debug_info_;
  Limits limits_;
  friend class ProgramValidator;
};

// Returns the entry of a key, or nullptr. `sorted` are in the order of their keys.
// O(log n).
const NamedDataPlan* FindNamedData(absl::Span<const NamedDataPlan> sorted, std::string_view key);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_PROGRAM_H_
