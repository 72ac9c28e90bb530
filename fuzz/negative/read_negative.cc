#include "fuzz/negative/read_negative.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "backends/runtime_backends.h"
#include "executorch/reader/data_file.h"
#include "executorch/reader/prim_kernels.h"
#include "executorch/reader/testing/pte_builder.h"
#include "exir/import/import.h"
#include "exir/import/testing/zip_writer.h"
#include "exir/import/torch_save.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "fuzz/negative/companion_program.h"
#include "fuzz/negative/read_blob.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/parameters/parameters.h"
#include "runtime/program/program.h"
#include "runtime/program/signature.h"

namespace belay::fuzz {
namespace {

const KernelRegistry& Kernels() {
  static const KernelRegistry* const kernels = [] {
    auto* registry = new KernelRegistry;
    ABSL_CHECK(AddStandardKernels(*registry).ok());
    ABSL_CHECK(registry->Add(pte::PrimKernels()).ok());
    return registry;
  }();
  return *kernels;
}

const exir::OpRegistry& Ops() {
  static const exir::OpRegistry* const ops = [] {
    absl::StatusOr<std::unique_ptr<exir::OpRegistry>> created = exir::CreateStandardOps();
    ABSL_CHECK(created.ok());
    return created->release();
  }();
  return *ops;
}

absl::Span<const std::byte> Bytes(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

std::string Write(const std::string& directory, const std::string& name, const std::string& bytes) {
  const std::string path = absl::StrCat(directory, "/", name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

Program::Options Tight() {
  Program::Options options;
  options.limits = TightLimits();
  return options;
}

absl::Status Run(const Program& program) {
  for (const MethodPlan& plan : program.methods()) {
    ABSL_ASSIGN_OR_RETURN(Method method,
                          Method::Load(program, plan.name, Kernels(), RuntimeBackends()));
    ABSL_RETURN_IF_ERROR(method.Execute());
  }
  return absl::OkStatus();
}

absl::Status ReadProgramFile(const NegativeFile& file, const std::string& directory) {
  const auto run = [](const absl::StatusOr<Program>& program) {
    return program.ok() ? Run(*program) : program.status();
  };
  const absl::Status mapped = run(Program::Open(Write(directory, file.name, file.bytes), Tight()));
  // Without a directory, companion files are missing as well.
  const absl::Status in_memory = run(OpenFileBytes(file.bytes, Tight()));
  if (mapped.code() != in_memory.code()) {
    return absl::InternalError(absl::StrCat("the file gives ", mapped.ToString(),
                                            ", its bytes give ", in_memory.ToString()));
  }
  return mapped;
}

absl::Status ReadCompanion(const NegativeFile& file, const std::string& directory) {
  const std::string program = Write(directory, "model.belay", CompanionProgram());
  const std::filesystem::path companion = directory + "/model.data";
  std::error_code error;
  switch (file.placement) {
    case NegativePlacement::kFile:
      Write(directory, "model.data", file.bytes);
      break;
    case NegativePlacement::kSymbolicLink:
      Write(directory, "elsewhere", file.bytes);
      std::filesystem::create_symlink("elsewhere", companion, error);
      break;
    case NegativePlacement::kHardLink:
      std::filesystem::create_hard_link(Write(directory, "elsewhere", file.bytes), companion,
                                        error);
      break;
    case NegativePlacement::kDirectory:
      std::filesystem::create_directory(companion, error);
      break;
  }
  if (error) return absl::InternalError(error.message());
  Program::Options options = Tight();
  options.limits.file_bytes = 10000;
  return Program::Open(program, options).status();
}

absl::Status ReadSignature(const NegativeFile& file, const std::string& directory) {
  const std::string program = Write(directory, "model.belay", SignedProgram());
  Write(directory, "model.belay.sig", file.bytes);
  const Ed25519Verifier verifier({.keys = {PublicKeyOf(SigningKey())}, .signature = ""});
  Program::Options options = Tight();
  options.verifier = &verifier;
  return Program::Open(program, options).status();
}

absl::Status ReadParameters(const NegativeFile& file, const std::string& directory) {
  const std::string program = Write(directory, "model.belay", ReplaceableProgram());
  const auto parameters = std::make_shared<Parameters>();
  ABSL_RETURN_IF_ERROR(parameters->AddFile(Write(directory, file.name, file.bytes), Tight()));
  return parameters->Open(program, Tight()).status();
}

absl::Status ReadArray(const NegativeFile& file) {
  TestProgram program;
  TestMethod forward = program.AddMethod("forward");
  forward.Output(forward.Input("x", DType::kFloat32, {4, 3}, {{.dim = 0, .min = 1, .max = 4}}));
  ABSL_ASSIGN_OR_RETURN(const Program opened, OpenFileBytes(program.Serialize()));
  ABSL_ASSIGN_OR_RETURN(Method method,
                        Method::Load(opened, "forward", Kernels(), RuntimeBackends()));
  ABSL_ASSIGN_OR_RETURN(const NpyArray array, ReadNpy(Bytes(file.bytes)));
  ABSL_ASSIGN_OR_RETURN(const EValue value, InputFromNpy(method.plan(), 0, array));
  return method.SetInput(0, value);
}

// Its output is the tensor "w" of two floats.
absl::Status ReadExecuTorchData(const NegativeFile& file) {
  pte::PteBuilder builder;
  builder.Output(builder.External({2}, "w"));
  pte::DataFiles data;
  ABSL_RETURN_IF_ERROR(data.Add(nullptr, Bytes(file.bytes), TightLimits()));
  return pte::OpenPte(builder.Serialize(), Tight(), data).status();
}

}  // namespace

exir::ImportOptions TightImportOptions() {
  exir::ImportOptions options;
  options.max_file_bytes = 16 << 20;
  options.max_json_bytes = 1 << 20;
  options.max_inflated_bytes = 8 << 20;
  options.max_zero_filled_bytes = 8 << 20;
  return options;
}

absl::Status ReadNegative(const NegativeFile& file, const std::string& directory) {
  switch (file.reader) {
    case NegativeReader::kProgram:
      return ReadProgramFile(file, directory);
    case NegativeReader::kCompanion:
      return ReadCompanion(file, directory);
    case NegativeReader::kSignature:
      return ReadSignature(file, directory);
    case NegativeReader::kParameters:
      return ReadParameters(file, directory);
    case NegativeReader::kArchive:
      return exir::ImportFile(Write(directory, file.name, file.bytes), Ops(), TightImportOptions())
          .status();
    case NegativeReader::kSavedTensors: {
      exir::ByteBudget budget("max_inflated_bytes", 8 << 20);
      ABSL_ASSIGN_OR_RETURN(const std::vector<exir::SavedTensor> tensors,
                            exir::ReadTorchSave(exir::ToStorage(file.bytes), "weights.pt",
                                                TightImportOptions(), budget));
      for (const exir::SavedTensor& tensor : tensors) ABSL_RETURN_IF_ERROR(tensor.tensor.status());
      return absl::OkStatus();
    }
    case NegativeReader::kArray:
      return ReadArray(file);
    case NegativeReader::kText:
      return exir::ParseProgram(file.bytes, Ops()).status();
    case NegativeReader::kBlob:
      return ReadBlob(file.extension(), file.bytes, Kernels(), RuntimeBackends());
    case NegativeReader::kExecuTorchProgram: {
      ABSL_ASSIGN_OR_RETURN(const Program program, pte::OpenPte(file.bytes, Tight()));
      return Run(program);
    }
    case NegativeReader::kExecuTorchData:
      return ReadExecuTorchData(file);
  }
  return absl::InternalError("no such reader");
}

}  // namespace belay::fuzz
