#include "examples/digits/digits.h"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "backends/cpu/aot/cpu_backend.h"
#include "backends/cpu/aot/cpu_partitioner.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/runtime/cpu_runtime.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/serializer.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/movement/movement.h"
#include "runtime/kernels/pool/pool.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/program/program.h"

namespace belay::examples {
namespace {

double MillisecondsSince(absl::Time start) {
  return absl::ToDoubleMilliseconds(absl::Now() - start);
}

// Step 1: from the archive to a program file.
absl::Status LowerToFile(const DigitsOptions& options, exir::PipelineReport* report) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  const cpu::CpuBackend backend;
  exir::BackendSet backends;
  ABSL_RETURN_IF_ERROR(backends.Add(&backend));
  const std::unique_ptr<exir::Partitioner> partitioner = cpu::CreateCpuPartitioner({});
  exir::PipelineOptions pipeline;
  pipeline.backends = &backends;
  if (options.delegate) pipeline.partitioners.all.push_back(partitioner.get());
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        exir::LowerFiles({{"forward", options.archive}}, *ops, pipeline, report));
  return exir::WriteProgramFile(image, options.program);
}

// Selects kernels for this network: CPU-backend kernels for its delegated operators, reference
// kernels for all others, and Highway's where those are too slow. Kernels that are not named are
// neither compiled nor linked. Applications for any model use AddStandardKernels and
// RuntimeBackends.
absl::Status AddKernels(KernelRegistry& kernels) {
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(kernels));
  for (const absl::Span<const Kernel> table :
       {MovementKernels(), PoolHighwayKernels(), cpu::LinearKernels(), cpu::Conv2dKernels(),
        cpu::MaxPool2dKernels()}) {
    ABSL_RETURN_IF_ERROR(kernels.Add(table));
  }
  return absl::OkStatus();
}

// Returns the class with the highest score.
int ArgMax(const float* scores) {
  return static_cast<int>(std::max_element(scores, scores + 10) - scores);
}

}  // namespace

absl::StatusOr<DigitsResult> RunDigits(const DigitsOptions& options) {
  DigitsResult result;
  absl::Time start = absl::Now();
  ABSL_RETURN_IF_ERROR(LowerToFile(options, &result.lowering));
  result.lower_ms = MillisecondsSince(start);

  // Step 2: on the device. It needs kernels, backends and the file, but not the compiler.
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddKernels(kernels));
  const cpu::CpuRuntime cpu_runtime(kernels);
  BackendRegistry backends;
  ABSL_RETURN_IF_ERROR(backends.Add(&cpu_runtime));
  start = absl::Now();
  ABSL_ASSIGN_OR_RETURN(const Program program, Program::Open(options.program));
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(program, "forward", kernels, backends));
  result.load_ms = MillisecondsSince(start);
  result.file_bytes = program.bytes().size();

  ABSL_ASSIGN_OR_RETURN(const NpyArray images, ReadNpyFile(options.images));
  ABSL_ASSIGN_OR_RETURN(const NpyArray labels, ReadNpyFile(options.labels));
  if (images.dtype != DType::kFloat32 || images.sizes.size() != 4 ||
      labels.dtype != DType::kInt64 || labels.sizes.size() != 1 ||
      labels.sizes[0] != images.sizes[0]) {
    return absl::InvalidArgumentError(absl::StrCat("images ", images.view().ToString(),
                                                   " and labels ", labels.view().ToString(),
                                                   " do not match"));
  }
  const int64_t count = images.sizes[0];

  // Step 3: all images in one call.
  ABSL_RETURN_IF_ERROR(method.SetInput(0, EValue(images.view())));
  start = absl::Now();
  ABSL_RETURN_IF_ERROR(method.Execute());
  result.batch_ms = MillisecondsSince(start);
  const TensorView* scores = method.GetOutput(0).get_if<TensorView>();
  if (scores == nullptr || scores->dtype != DType::kFloat32 || !scores->is_contiguous() ||
      !(scores->sizes == Sizes{count, 10})) {
    return absl::InternalError("the classifier's result is not f32[images, 10]");
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = labels.view().as<int64_t>()[i];
    if (label < 0 || label > 9)
      return absl::InvalidArgumentError(absl::StrCat("label ", label, " is not a digit"));
    result.predicted.push_back(ArgMax(scores->as<float>() + 10 * i));
    ++result.confusion[label][result.predicted.back()];
    result.correct += result.predicted.back() == label ? 1 : 0;
  }

  // Step 4: one image at a time, which measures a device's latency. The batch size is dynamic.
  std::vector<double> latencies;
  TensorView one = images.view();
  one.sizes[0] = 1;
  for (int64_t i = 0; i < count; ++i) {
    one.data = images.view().as<float>() + i * (images.view().numel() / count);
    start = absl::Now();
    ABSL_RETURN_IF_ERROR(method.SetInput(0, EValue(one)));
    ABSL_RETURN_IF_ERROR(method.Execute());
    latencies.push_back(MillisecondsSince(start));
    if (ArgMax(method.GetOutput(0).get_if<TensorView>()->as<float>()) != result.predicted[i]) {
      return absl::InternalError(
          absl::StrCat("image ", i, " is classified differently alone and in the batch"));
    }
  }
  std::nth_element(latencies.begin(), latencies.begin() + latencies.size() / 2, latencies.end());
  result.single_ms = latencies[latencies.size() / 2];
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  return result;
}

}  // namespace belay::examples
