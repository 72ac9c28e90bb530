// Converts programs of ExecuTorch to program files, as `belay lower` does: delegates are compiled
// once, so that opening the result compiles and packs nothing.
#ifndef BELAY_TOOLS_BELAY_CONVERTED_PROGRAM_H_
#define BELAY_TOOLS_BELAY_CONVERTED_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"
#include "exir/emit/program_image.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "tools/belay/command.h"

namespace belay::tools {

// Whether the file begins like a .pte or .bpte; false if it can't be read.
bool IsExecuTorchFile(const std::string& path);

struct ConvertedProgram {
  exir::ProgramImage image;
  exir::SerializedProgram file;  // refers to `image`
};

// Converts the program `options.input` with its data files; test cases of a .bpte are omitted.
// XNNPACK delegates become delegates of the CPU backend. Adds to `report` the phase, the delegates
// per method and backend, and a note for each delegate that stays as it is. `limits` apply unless
// the thread has a Budget. On error, sets `bad_usage` to whether it is in the options rather than
// in the file.
//   kInvalidArgument  options that only apply to archives, all listed
//   errors of pte::TranslateProgram, OpenTranslated and ImageOf
absl::StatusOr<ConvertedProgram> ConvertProgram(const LowerOptions& options,
                                                const exir::LoweringLimits& limits,
                                                exir::PipelineReport& report, bool& bad_usage);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CONVERTED_PROGRAM_H_
