// Whether a file may be opened, decided from its bytes alone.
#ifndef BELAY_RUNTIME_PROGRAM_FILE_VERIFIER_H_
#define BELAY_RUNTIME_PROGRAM_FILE_VERIFIER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace belay {

// An interface, so that programs that check no signatures link no cryptography (signature.h is an
// implementation). Thread-safe.
class FileVerifier {
 public:
  virtual ~FileVerifier() = default;
  // Called before anything of a program file is read but for its size. `path` is "" when the
  // program is opened from memory. Any error refuses the file.
  virtual absl::Status VerifyFile(const std::string& path,
                                  absl::Span<const std::byte> file) const = 0;
  // Called for every segment that lies in a companion file. `sha256` is what the verified program
  // file says; `bytes` may be anything.
  virtual absl::Status VerifyDigest(absl::Span<const std::byte> bytes,
                                    std::string_view sha256) const = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_FILE_VERIFIER_H_
