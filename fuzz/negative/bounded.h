// Does something in little memory and time.
#ifndef BELAY_FUZZ_NEGATIVE_BOUNDED_H_
#define BELAY_FUZZ_NEGATIVE_BOUNDED_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace belay::fuzz {

// Code and message, as text.
std::string OutcomeText(const absl::Status& status);

// What `read` gives in a process of its own, which has 64 MB of memory, 256 KiB of stack and a
// second of processor time (docs/hardening.md §6.6 to §6.8); by which signal it ended, if it did.
// Under a sanitizer, which needs memory of its own and ends the process itself, it is called in
// this one.
std::string OutcomeInBounds(absl::FunctionRef<absl::Status()> read);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_BOUNDED_H_
