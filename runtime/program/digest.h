// Digests of a program's segments. A separate target, since it needs a hash library.
#ifndef BELAY_RUNTIME_PROGRAM_DIGEST_H_
#define BELAY_RUNTIME_PROGRAM_DIGEST_H_

#include "absl/status/status.h"
#include "runtime/program/program.h"

namespace belay {

// Checks the digest of every segment, including those in companion files. Reads the whole program.
//   kDataLoss       names every segment that differs
//   kUnimplemented  the file's format has no digests
absl::Status VerifyDigests(const Program& program);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_DIGEST_H_
