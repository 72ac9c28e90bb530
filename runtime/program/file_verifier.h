// Decides from a file's bytes whether it may be opened.
#ifndef BELAY_RUNTIME_PROGRAM_FILE_VERIFIER_H_
#define BELAY_RUNTIME_PROGRAM_FILE_VERIFIER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace belay {

// An interface, so that binaries that check no signatures do not link cryptography (signature.h
// implements it). Thread-safe.
class FileVerifier {
 public:
  virtual ~FileVerifier() = default;
  // Called before any content of a program file is used, except its size. `path` is "" if the
  // program is opened from memory. Any error rejects the file.
  virtual absl::Status VerifyFile(const std::string& path,
                                  absl::Span<const std::byte> file) const = 0;
  // Called for every segment in a companion file. `sha256` comes from the verified program file;
  // `bytes` may be anything.
  virtual absl::Status VerifyDigest(absl::Span<const std::byte> bytes,
                                    std::string_view sha256) const = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_FILE_VERIFIER_H_
