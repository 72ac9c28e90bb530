// Gives a negative file to its reader.
#ifndef BELAY_FUZZ_NEGATIVE_READ_NEGATIVE_H_
#define BELAY_FUZZ_NEGATIVE_READ_NEGATIVE_H_

#include <string>

#include "absl/status/status.h"
#include "exir/import/import_options.h"
#include "fuzz/negative/negative_file.h"

namespace belay::fuzz {

// What a service would set that reads strangers' files in little memory, as TightLimits()
// (fuzz/negative/read_blob.h).
exir::ImportOptions TightImportOptions();

// What the reader says; OK when it accepts the file. `directory` exists, is empty, and is the
// caller's to remove. Programs are read from the file and from memory, with the same outcome.
absl::Status ReadNegative(const NegativeFile& file, const std::string& directory);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_READ_NEGATIVE_H_
