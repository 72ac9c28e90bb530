// Cache of converted ExecuTorch programs in a folder that the caller names. Opening an entry
// compiles and packs nothing. An entry has two files:
//
//   NAME-PATHS.belay  the program file that `belay lower NAME` writes
//   NAME-PATHS.key    what it was converted from, 168 bytes:
//       0   8  magic "BELAYKEY"
//       8  32  SHA-256 of the converter: version of this format, release
//      40  32  SHA-256 of the sources' SHA-256s: the program, then its data files
//      72  32  SHA-256 of the .belay file
//     104  32  SHA-256 of the identities of these files, or zeros
//     136  32  SHA-256 of bytes 0 to 135
//
// PATHS: the first 16 digits of the SHA-256 of the sources' absolute paths, so that a program has
// one entry, which a conversion by another release replaces.
//
// The digests decide whether an entry is used. The identity of a file has its device, inode, size
// and times. If those of the key are unchanged, the digests are not computed again: opening does
// not read the weights. An identity is stored by an Open that computed the digests, if no file
// changed in the last two seconds.
//
// Packed weights do not depend on the CPU. Files of the folder are untrusted: they are validated
// like all program files. Users that can write to the folder can replace programs.
#ifndef BELAY_EXECUTORCH_READER_CONVERSION_CACHE_H_
#define BELAY_EXECUTORCH_READER_CONVERSION_CACHE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/reader/translated_program.h"
#include "runtime/program/program.h"

namespace belay::pte {

// The entry of a program and its data files. Processes may use an entry concurrently.
class ConversionCache {
 public:
  // The entry in `options.weight_cache` of the program at `path` with `options.data_files`.
  //   kNotFound         the folder or a source does not exist
  //   kInvalidArgument  not a folder, not a regular file; options with a verifier, since entries
  //                     have no signature
  //   other errors of the operating system
  static absl::StatusOr<ConversionCache> Create(const std::string& path,
                                                const OpenOptions& options);

  // Opens the entry within the limits of the options.
  //   kNotFound            the entry is missing
  //   kFailedPrecondition  an entry of other sources, or of another release
  //   kDataLoss            a damaged entry
  //   errors of Program::OpenBytes and of reading files
  absl::StatusOr<belay::Program> Open() const;

  // Writes the program file that the sources were converted to since Create, and its key. Both are
  // written atomically. Errors of WriteFileAtomically; kFailedPrecondition if a source changed
  // since Create.
  absl::Status Store(absl::Span<const std::string_view> program) const;

  const std::string& program_path() const { return program_path_; }
  const std::string& key_path() const { return key_path_; }

 private:
  ConversionCache() = default;
  absl::StatusOr<std::string> DigestOfSources() const;
  // The files' identities in one digest; "" if a file changed too recently.
  static std::string Stamp(absl::Span<const std::string> identities, int64_t newest);

  OpenOptions options_;
  std::vector<std::string> sources_;     // paths
  std::vector<std::string> identities_;  // of the sources at Create
  int64_t newest_ = 0;                   // change of a source, in seconds since 1970
  std::string program_path_, key_path_;
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_CONVERSION_CACHE_H_
