// Program files of a zoo that another build made, for another machine perhaps: lowering gives the same
// bytes everywhere, and these compute the same everywhere.
#ifndef BELAY_CONFORMANCE_MODELS_PROGRAM_FILES_H_
#define BELAY_CONFORMANCE_MODELS_PROGRAM_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "conformance/models/manifest.h"
#include "conformance/models/model_runner.h"

namespace belay::conformance {

// Writes the program of an archive to the file `program`. Errors are those of LowerModel and of
// WriteProgramFile.
absl::Status WriteModel(const std::string& folder, const Manifest& manifest,
                        const std::string& archive, const Engine& engine,
                        const std::string& program);

// Lowers the archive, and executes its cases on the file `program`.
//   kFailedPrecondition  lowering gives other bytes than are in the file, or a case's result differs
//   anything else        lowering, reading, loading or executing failed
absl::Status RunSameProgram(const std::string& folder, const Manifest& manifest,
                            const std::string& archive, const Engine& engine,
                            const std::string& program);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_MODELS_PROGRAM_FILES_H_
