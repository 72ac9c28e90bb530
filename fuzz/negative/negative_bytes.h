// A row of a table of malformed input, with the expected error.
#ifndef BELAY_FUZZ_NEGATIVE_NEGATIVE_BYTES_H_
#define BELAY_FUZZ_NEGATIVE_NEGATIVE_BYTES_H_

#include <string>

#include "absl/status/status.h"

namespace belay::fuzz {

// Bytes created by a function, for any reader.
struct NegativeBytes {
  const char* name;  // "D1_not_empty": the class of docs/hardening.md §3, what it is
  const char* what;  // short description of the defect
  absl::StatusCode code;
  const char* message;  // substring of the error message
  std::string (*bytes)();
};

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_NEGATIVE_BYTES_H_
