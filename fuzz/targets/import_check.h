// Properties that hold for every archive.
#ifndef BELAY_FUZZ_TARGETS_IMPORT_CHECK_H_
#define BELAY_FUZZ_TARGETS_IMPORT_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "exir/import/import_options.h"

namespace belay::fuzz {

// Limits small enough that archives within them are read quickly. Checksums are not verified, since
// otherwise nearly every mutated entry would be rejected.
exir::ImportOptions TightImportOptions();

// Checks that inspecting and importing return a typed status. An imported program must verify and
// survive a round trip through its text form; its notes must be printable lines.
absl::Status CheckImport(std::string archive, exir::ImportOptions options);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_TARGETS_IMPORT_CHECK_H_
