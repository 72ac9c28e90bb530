// What holds for every archive.
#ifndef BELAY_FUZZ_TARGETS_IMPORT_CHECK_H_
#define BELAY_FUZZ_TARGETS_IMPORT_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "exir/import/import_options.h"

namespace belay::fuzz {

// So small that archives that stay within them are read quickly. Checksums are not compared: a
// damaged entry would be refused for that alone.
exir::ImportOptions TightImportOptions();

// Inspecting and importing give a typed status; a program that is imported verifies and survives
// its text form, and the notes about it are lines for a terminal.
absl::Status CheckImport(std::string archive, exir::ImportOptions options);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_TARGETS_IMPORT_CHECK_H_
