// Checks program files that another build wrote, possibly on another machine: lowering gives the
// same bytes on every machine, and the files compute the same results.
#ifndef BELAY_CONFORMANCE_MODELS_PROGRAM_FILES_H_
#define BELAY_CONFORMANCE_MODELS_PROGRAM_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "conformance/models/manifest.h"
#include "conformance/models/model_runner.h"

namespace belay::conformance {

// Lowers an archive and writes the program to the file `program`. Errors of LowerModel and
// WriteProgramFile.
absl::Status WriteModel(const std::string& folder, const Manifest& manifest,
                        const std::string& archive, const Engine& engine,
                        const std::string& program);

// Lowers the archive, and executes its cases on the file `program`.
//   kFailedPrecondition  the lowered bytes differ from the file, or a case's result differs
//   other codes          lowering, reading, loading or executing failed
absl::Status RunSameProgram(const std::string& folder, const Manifest& manifest,
                            const std::string& archive, const Engine& engine,
                            const std::string& program);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_MODELS_PROGRAM_FILES_H_
