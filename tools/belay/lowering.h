// Lowers archives as `belay lower` does, without output: for the command and for bindings.
#ifndef BELAY_TOOLS_BELAY_LOWERING_H_
#define BELAY_TOOLS_BELAY_LOWERING_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/backend/named_data_store.h"
#include "exir/emit/program_image.h"
#include "exir/op_definition/op_registry.h"
#include "exir/pipeline.h"
#include "exir/quantize/recipe.h"
#include "exir/serialize/saved_programs.h"
#include "exir/serialize/serializer.h"
#include "tools/belay/chosen_backends.h"
#include "tools/belay/command.h"
#include "tools/belay/max_sizes.h"
#include "tools/belay/method_options.h"
#include "tools/belay/quantized_methods.h"

namespace belay::tools {

// A lowering whose options are parsed. `pipeline` refers to the other members.
struct Lowering {
  std::vector<MethodOption> methods;
  Partitioners partitioners;
  MaxSizes max_sizes;
  std::optional<exir::Recipe> recipe;  // of quantization
  CalibrationPaths calibration;
  std::optional<exir::MaxLoss> max_loss;
  bool node_losses = false;
  std::unique_ptr<exir::OpRegistry> ops;
  exir::PipelineOptions pipeline;
  // File of constants without a rule in pipeline.constants; "": the program file.
  std::string external_constants;
  std::vector<std::string> files;   // paths of the archives
  exir::NamedDataStore named_data;  // the tokenizer and the chat template
  // Those of the input, if it is a file of saved programs, replaced by the command's options.
  exir::SavedLoweringOptions saved;
};

// Parses the input, the methods and the options of lowering for the command `command`, which
// messages name. Does not check output files.
// On error, sets `bad_usage` to whether it is in the options rather than in a file.
//   kInvalidArgument  an option that is malformed or contradicts another; an unknown backend or recipe
//   errors of reading the names in a file of saved programs, the tokenizer and the chat template
absl::StatusOr<std::unique_ptr<Lowering>> PrepareLowering(const LowerOptions& options,
                                                          bool& bad_usage,
                                                          const std::string& command = "lower");

// Imports the methods. Errors of ChooseModel and ImportMethods.
absl::StatusOr<exir::MethodPrograms> ImportForLowering(const Lowering& lowering,
                                                       exir::PipelineReport& report);

// Replaces the programs by quantized edge programs, if there is a recipe. Returns the losses;
// nullopt without a recipe. On error the programs may be edge programs. `end` is the completed
// fraction of the whole command after quantization, for its progress. Errors of LowerToStage and
// QuantizeMethods.
absl::StatusOr<std::optional<QuantizeReport>> QuantizeForLowering(Lowering& lowering,
                                                                  exir::MethodPrograms& programs,
                                                                  exir::PipelineReport& report,
                                                                  double end = 0.3);

// Serializes to the format of the options. The result refers to `image`.
absl::StatusOr<exir::SerializedProgram> SerializeLowered(const LowerOptions& options,
                                                         const Lowering& lowering,
                                                         const exir::ProgramImage& image);

// Writes the replaceable tensors of imported programs to the output: to a parameter file, or for a
// name that ends in .ptd to a data file of ExecuTorch. Errors of ApplyConstantRules,
// ReplaceableTensors and writing.
absl::Status WriteParameters(const LowerOptions& options, const Lowering& lowering,
                             exir::MethodPrograms programs);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_LOWERING_H_
