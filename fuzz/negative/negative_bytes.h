// A row of a table of broken input, and how it must be refused.
#ifndef BELAY_FUZZ_NEGATIVE_NEGATIVE_BYTES_H_
#define BELAY_FUZZ_NEGATIVE_NEGATIVE_BYTES_H_

#include <string>

#include "absl/status/status.h"

namespace belay::fuzz {

// Bytes that a function makes, for any reader.
struct NegativeBytes {
  const char* name;  // "D1_not_empty": the class of docs/hardening.md §3, what it is
  const char* what;  // what is wrong with it, in a few words
  absl::StatusCode code;
  const char* message;  // a piece of the error's
  std::string (*bytes)();
};

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_NEGATIVE_BYTES_H_
