// Runs the reader of a negative file on it.
#ifndef BELAY_FUZZ_NEGATIVE_READ_NEGATIVE_H_
#define BELAY_FUZZ_NEGATIVE_READ_NEGATIVE_H_

#include <string>

#include "absl/status/status.h"
#include "exir/import/import_options.h"
#include "fuzz/negative/negative_file.h"

namespace belay::fuzz {

// Limits for a service that imports untrusted files with little memory; matches TightLimits()
// (fuzz/negative/read_blob.h).
exir::ImportOptions TightImportOptions();

// Returns the reader's status; OK if it accepts the file. `directory` exists and is empty; the
// caller removes it. Programs are read from the file and from memory, with the same outcome.
absl::Status ReadNegative(const NegativeFile& file, const std::string& directory);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_READ_NEGATIVE_H_
