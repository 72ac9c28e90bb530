// Lowers models of the zoo and executes them with random inputs. Reports the time of each part, and
// the speedup of Highway kernels over reference kernels, from one interleaved run.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "backends/runtime_backends.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"

ABSL_FLAG(std::string, zoo, "conformance/models/zoo", "directory with one folder per model");
ABSL_FLAG(std::vector<std::string>, only, (std::vector<std::string>{"tiny_vit", "mobilenet_tiny"}),
          "models");
ABSL_FLAG(int, runs, 200, "timed executions of each");

namespace belay::conformance {
namespace {

double Since(absl::Time start) { return absl::ToDoubleMilliseconds(absl::Now() - start); }

// A method on one set of kernels, with inputs.
struct Runner {
  std::unique_ptr<Method> method;
  std::vector<NpyArray> inputs;
  std::vector<double> ms;
  double load_ms = 0, first_ms = 0;

  absl::Status Load(const Program& program, const KernelRegistry& kernels) {
    const absl::Time start = absl::Now();
    ABSL_ASSIGN_OR_RETURN(Method loaded,
                          Method::Load(program, "forward", kernels, RuntimeBackends()));
    load_ms = Since(start);
    method = std::make_unique<Method>(std::move(loaded));
    inputs.resize(method->num_inputs());
    for (size_t i = 0; i < inputs.size(); ++i) {
      EValue value = ConstantInput(method->plan(), i);
      if (InputTakesArray(method->plan(), i)) {
        ABSL_ASSIGN_OR_RETURN(inputs[i], RandomInput(method->plan(), i, 1, 2));
        ABSL_ASSIGN_OR_RETURN(value, InputFromNpy(method->plan(), i, inputs[i]));
      }
      ABSL_RETURN_IF_ERROR(method->SetInput(i, value));
    }
    const absl::Time first = absl::Now();
    ABSL_RETURN_IF_ERROR(method->Execute());
    first_ms = Since(first);
    return absl::OkStatus();
  }
  absl::Status Once() {
    const absl::Time start = absl::Now();
    ABSL_RETURN_IF_ERROR(method->Execute());
    ms.push_back(Since(start));
    return absl::OkStatus();
  }
  double Median() {
    std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
    return ms[ms.size() / 2];
  }
};

absl::Status Measure(const std::string& name, const exir::OpRegistry& ops) {
  exir::PipelineReport report;
  ABSL_ASSIGN_OR_RETURN(
      const exir::ProgramImage image,
      exir::LowerFiles({{"forward", absl::GetFlag(FLAGS_zoo) + "/" + name + "/model.pt2"}}, ops, {},
                       &report));
  absl::Time start = absl::Now();
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram serialized, exir::SerializeProgram(image));
  const auto bytes = std::make_shared<const std::string>(serialized.ToString());
  const double serialize_ms = Since(start);
  start = absl::Now();
  ABSL_ASSIGN_OR_RETURN(
      const Program program,
      Program::OpenBytes(
          bytes,
          absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()),
          Program::Options()));
  const double open_ms = Since(start);
  KernelRegistry reference, highway;
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(reference));
  ABSL_RETURN_IF_ERROR(AddStandardKernels(highway));
  Runner slow, fast;
  ABSL_RETURN_IF_ERROR(slow.Load(program, reference));
  ABSL_RETURN_IF_ERROR(fast.Load(program, highway));
  for (int i = 0; i < absl::GetFlag(FLAGS_runs); ++i) {
    ABSL_RETURN_IF_ERROR(slow.Once());
    ABSL_RETURN_IF_ERROR(fast.Once());
  }
  std::printf("%s\n  lowering:", name.c_str());
  for (const auto& phase : report.phases)
    std::printf(" %s %.2f ms,", phase.name.c_str(), 1e3 * phase.seconds);
  std::printf(" serialize %.2f ms\n", serialize_ms);
  std::printf("  open %.3f ms, load %.3f ms, first inference %.3f ms\n", open_ms, fast.load_ms,
              fast.first_ms);
  const double reference_ms = slow.Median(), highway_ms = fast.Median();
  std::printf("  latency (median of %d): highway %.4f ms, reference %.4f ms, ratio %.1f\n",
              absl::GetFlag(FLAGS_runs), highway_ms, reference_ms, reference_ms / highway_ms);
  return absl::OkStatus();
}

int Run() {
#ifndef NDEBUG
  std::fprintf(stderr, "warning: built with assertions; measure with --config=opt\n");
#endif
  const auto ops = exir::CreateStandardOps();
  if (!ops.ok()) return 2;
  for (const std::string& name : absl::GetFlag(FLAGS_only)) {
    if (const absl::Status status = Measure(name, **ops); !status.ok()) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace belay::conformance

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return belay::conformance::Run();
}
