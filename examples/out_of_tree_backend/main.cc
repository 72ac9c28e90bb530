// Lowers an exported program to the npu, runs it, and compares the results with those without the
// npu.
//
//   tools/bazel run //examples/out_of_tree_backend -- [archive.pt2]
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "npu_backend.h"
#include "npu_runtime.h"
#include "runtime/core/arena.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"

namespace {

using belay::EValue;
using belay::TensorView;

// Returns the bytes of all outputs for inputs with a simple pattern.
absl::StatusOr<std::string> Execute(const belay::exir::ProgramImage& image,
                                    const belay::BackendRegistry& backends) {
  ABSL_ASSIGN_OR_RETURN(const belay::exir::SerializedProgram file,
                        belay::exir::SerializeProgram(image));
  const auto bytes = std::make_shared<const std::string>(file.ToString());
  ABSL_ASSIGN_OR_RETURN(
      const belay::Program program,
      belay::Program::OpenBytes(
          bytes, {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()}, {}));
  belay::KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(belay::AddStandardKernels(kernels));
  ABSL_ASSIGN_OR_RETURN(belay::Method method,
                        belay::Method::Load(program, "forward", kernels, backends));
  std::vector<belay::AlignedBuffer> memory;
  for (size_t i = 0; i < method.num_inputs(); ++i) {
    const auto* planned =
        std::get_if<belay::TensorPlan>(&method.plan().values[method.plan().inputs[i].value]);
    if (planned == nullptr || planned->dtype != belay::DType::kFloat32) {
      return absl::UnimplementedError("this example only fills f32 tensors");
    }
    TensorView tensor = TensorView::Contiguous(planned->dtype, planned->sizes, nullptr);
    ABSL_ASSIGN_OR_RETURN(memory.emplace_back(), belay::AlignedBuffer::Create(tensor.nbytes()));
    tensor.data = memory.back().data();
    for (int64_t k = 0; k < tensor.numel(); ++k) {
      tensor.as<float>()[k] = static_cast<float>(k % 17) / 8 - 1;
    }
    ABSL_RETURN_IF_ERROR(method.SetInput(i, EValue(tensor)));
  }
  ABSL_RETURN_IF_ERROR(method.Execute());
  std::string outputs;
  for (size_t i = 0; i < method.num_outputs(); ++i) {
    const TensorView* tensor = method.GetOutput(i).get_if<TensorView>();
    if (tensor == nullptr) return absl::UnimplementedError("an output is not a tensor");
    outputs.append(static_cast<const char*>(tensor->data), tensor->nbytes());
  }
  return outputs;
}

absl::Status Run(const std::string& archive) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, belay::exir::CreateStandardOps());
  const npu::NpuBackend backend;
  const npu::NpuRuntime runtime;
  belay::exir::BackendSet compile_backends;
  ABSL_RETURN_IF_ERROR(compile_backends.Add(&backend));
  belay::BackendRegistry run_backends;
  ABSL_RETURN_IF_ERROR(run_backends.Add(&runtime));

  const auto partitioner = npu::CreateNpuPartitioner();
  belay::exir::PipelineOptions options;
  options.backends = &compile_backends;
  options.partitioners.all = {partitioner.get()};
  belay::exir::PipelineReport report;
  ABSL_ASSIGN_OR_RETURN(const belay::exir::ProgramImage lowered,
                        belay::exir::LowerFiles({{"forward", archive}}, *ops, options, &report));
  ABSL_ASSIGN_OR_RETURN(const belay::exir::ProgramImage plain,
                        belay::exir::LowerFiles({{"forward", archive}}, *ops, {}));
  size_t nodes = 0;
  for (const auto& row : report.delegation) {
    const std::string where = row.backend_id.empty() ? "kernels" : row.backend_id;
    std::printf("%-8s %zu nodes in %zu calls\n", where.c_str(), row.nodes, row.delegate_calls);
    if (row.backend_id == "npu") nodes = row.nodes;
  }
  for (const auto& left : report.left_over) {
    std::printf("  not delegated: %s (%s)\n", left.node.c_str(), left.reason.c_str());
  }
  if (nodes == 0)
    return absl::FailedPreconditionError("no node of this program was delegated to the npu");
  ABSL_ASSIGN_OR_RETURN(const std::string with, Execute(lowered, run_backends));
  ABSL_ASSIGN_OR_RETURN(const std::string without, Execute(plain, run_backends));
  if (with != without) return absl::InternalError("outputs differ with the npu");
  std::printf("outputs are equal, bit by bit\n");
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: out_of_tree_backend archive.pt2\n");
    return 2;
  }
  // `bazel run` changes the working directory; the last argument, if any, is a path of the user.
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  std::string archive = argv[argc - 1];
  if (argc > 2 && directory != nullptr && archive[0] != '/') {
    archive = absl::StrCat(directory, "/", archive);
  }
  const absl::Status status = Run(archive);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
