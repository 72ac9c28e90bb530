// Lowers archives as `belay lower` does, without output: for the command and for bindings.
#ifndef BELAY_TOOLS_BELAY_LOWERING_H_
#define BELAY_TOOLS_BELAY_LOWERING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/emit/program_image.h"
#include "exir/op/op_registry.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "tools/belay/chosen_backends.h"
#include "tools/belay/command.h"

namespace belay::tools {

struct MethodSource {
  std::string name;
  std::string archive;  // FILE or FILE:MODEL
};

// A lowering whose options are parsed. `pipeline` refers to the other members.
struct Lowering {
  std::vector<MethodSource> methods;
  Partitioners partitioners;
  std::unique_ptr<exir::OpRegistry> ops;
  exir::PipelineOptions pipeline;
  std::vector<std::string> files;  // of the archives
};

// Parses the input, the methods and the options of lowering. Does not check output files.
// `bad_usage` becomes whether the error is in the options, not in a file.
//   kInvalidArgument  an option that is malformed or contradicts another; an unknown backend
//   errors of reading the names in a file of saved programs
absl::StatusOr<std::unique_ptr<Lowering>> PrepareLowering(const LowerOptions& options,
                                                          bool& bad_usage);

// Imports the methods. Errors of ChooseModel and ImportMethods.
absl::StatusOr<exir::MethodPrograms> ImportForLowering(const Lowering& lowering,
                                                       exir::PipelineReport& report);

// Serializes to the format of the options. The result refers to `image`.
absl::StatusOr<exir::SerializedProgram> SerializeLowered(const LowerOptions& options,
                                                         const exir::ProgramImage& image,
                                                         const exir::OpRegistry& ops);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_LOWERING_H_
