#include "tools/belay/verified_method.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/aot_backends.h"
#include "exir/compare/call.h"
#include "exir/pipeline.h"
#include "runtime/core/annotate.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/program.h"
#include "tools/belay/program_file.h"

namespace belay::tools {

namespace {

// Prints "f32 of rank 2".
std::string Shown(DType dtype, size_t rank) {
  return absl::StrCat(DTypeShortName(dtype), " of rank ", rank);
}

// Checks that the method has the inputs of the lowered program.
absl::Status CheckSameInputs(const exir::ExportedProgram& program, const MethodPlan& plan) {
  std::vector<const exir::Value*> wanted;
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    if (!exir::IsProvidedByCaller(program.signature.inputs[i].kind)) continue;
    wanted.push_back(&program.top().value(program.top().inputs()[i]));
  }
  std::vector<std::string> problems;
  if (plan.inputs.size() != wanted.size()) {
    problems.push_back(absl::StrCat("it has ", plan.inputs.size(),
                                    " inputs, the archive's program ", wanted.size()));
  }
  for (size_t i = 0; i < std::min(wanted.size(), plan.inputs.size()); ++i) {
    const auto* want = std::get_if<exir::TensorMeta>(&wanted[i]->type);
    const auto* have = std::get_if<TensorPlan>(&plan.values[plan.inputs[i].value]);
    const std::string wanted_type =
        want == nullptr ? "not a tensor" : Shown(want->dtype, want->sizes.size());
    const std::string type =
        have == nullptr ? "not a tensor" : Shown(have->dtype, have->sizes.size());
    if (type == wanted_type) continue;
    problems.push_back(absl::StrCat("its input ", i, " ", Quoted(plan.inputs[i].name), " is ", type,
                                    ", that of the archive's program ", Quoted(wanted[i]->name),
                                    " is ", wanted_type));
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the program was lowered from another archive: ",
                                                 ListFirst(problems, "; ", problems.size())));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> OpenVerifiedMethod(
    const VerifyOptions& options, const MaxSizes& max_sizes, const exir::ExportedProgram& program,
    const std::vector<const exir::Partitioner*>& partitioners) {
  if (!options.program.empty()) {
    ABSL_ASSIGN_OR_RETURN(auto opened, OpenSession(options.program, options.method, options.engine,
                                                   /*threads=*/1, {},
                                                   OpenOptionsFor(options.limits.ForPrograms(),
                                                                  options.data, options.payloads)));
    const absl::Status same = CheckSameInputs(program, opened->method->plan());
    if (!same.ok()) return Annotate(same, options.program);
    return opened;
  }
  auto session = std::make_unique<Session>();
  ABSL_RETURN_IF_ERROR(AddEngine(options.engine, session->kernels));
  exir::MethodPrograms methods;
  methods.emplace_back(options.method, program.Clone());
  exir::PipelineOptions pipeline;
  pipeline.limits = options.limits.ForLowering();
  pipeline.partitioners.all = partitioners;
  pipeline.backends = &AotBackends();
  max_sizes.SetIn(pipeline);
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        exir::LowerPrograms(std::move(methods), pipeline));
  ABSL_ASSIGN_OR_RETURN(Program opened, exir::OpenImage(image));
  session->program = std::make_unique<Program>(std::move(opened));
  ABSL_ASSIGN_OR_RETURN(session->method,
                        LoadMethod(*session->program, options.method, session->kernels));
  return session;
}

}  // namespace belay::tools
