// Runs a function with little memory and time.
#ifndef BELAY_FUZZ_NEGATIVE_BOUNDED_H_
#define BELAY_FUZZ_NEGATIVE_BOUNDED_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace belay::fuzz {

// Returns code and message as a string.
std::string OutcomeText(const absl::Status& status);

// Returns the outcome of `read` in a child process with 64 MB of memory, 256 KiB of stack and one
// second of processor time (docs/hardening.md §6.6 to §6.8), or the signal that ended the process.
// Sanitizers need more memory and end the process themselves, so under a sanitizer `read` runs in
// this process.
std::string OutcomeInBounds(absl::FunctionRef<absl::Status()> read);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_BOUNDED_H_
