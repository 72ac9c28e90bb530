#include "runtime/llm/llm_testing.h"

#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::llm {
namespace {

absl::StatusOr<TestProgram> OpenTest(const exir::ProgramImage& image) {
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, exir::SerializeProgram(image));
  auto bytes = std::make_shared<exir::Storage>(file.ToStorage());
  ABSL_ASSIGN_OR_RETURN(Program program, Program::OpenBytes(bytes, bytes->bytes, {}));
  TestProgram test;
  test.program = std::make_unique<Program>(std::move(program));
  ABSL_RETURN_IF_ERROR(AddStandardKernels(test.kernels));
  return test;
}

}  // namespace

absl::StatusOr<TestProgram> LowerZoo(
    const std::vector<std::pair<std::string, std::string>>& methods,
    exir::PipelineOptions options) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  std::vector<exir::MethodArchive> archives;
  for (const auto& [name, folder] : methods) {
    archives.push_back({name, "conformance/models/zoo/" + folder + "/model.pt2", ""});
  }
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::LowerFiles(archives, *ops, options));
  return OpenTest(image);
}

absl::StatusOr<TestProgram> LowerText(std::string_view text) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  ABSL_ASSIGN_OR_RETURN(exir::ExportedProgram program, exir::ParseProgram(text, *ops));
  exir::MethodPrograms methods;
  methods.emplace_back("forward", std::move(program));
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        exir::LowerPrograms(std::move(methods), {}));
  return OpenTest(image);
}

absl::StatusOr<TestProgram> LowerGguf(const std::string& name, const exir::GgufOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  ABSL_ASSIGN_OR_RETURN(
      exir::GgufModel model,
      exir::ImportGgufFile("exir/gguf/testdata/" + name + ".gguf", *ops, options));
  exir::PipelineOptions lowering;
  lowering.constant_methods = {{"get_max_seq_len", {exir::Argument(model.context_length)}},
                               {"use_positional_cache", {exir::Argument(int64_t{1})}}};
  lowering.emit.write_state_in_place = true;
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        exir::LowerPrograms(std::move(model.methods), lowering));
  return OpenTest(image);
}

}  // namespace belay::llm
