#include "fuzz/oracles/agreement.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/backend/to_backend.h"
#include "exir/compare/call.h"
#include "exir/emit/emitter.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/testing/generator/random_program.h"
#include "runtime/core/random.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"

namespace belay::fuzz {
namespace {

using exir::ExportedProgram;
using exir::Interpreter;
using exir::OwnedValue;

constexpr int kCalls = 2;

struct Reference {
  std::vector<exir::CallOutcome> calls;
  double largest = 1;    // of all intermediate values
  bool decides = false;  // a rounding error may change the control flow or an index
};

void Observe(const exir::NodeEvent& event, Reference& reference) {
  if (event.graph != ExportedProgram::kTop) reference.decides = true;
  for (const OwnedValue* datum : event.results) {
    const TensorView* tensor = datum->tensor();
    if (tensor == nullptr) continue;
    if (tensor->dtype != DType::kFloat32) {
      reference.decides = true;
      continue;
    }
    for (StridedIterator<1> it(tensor->sizes, {tensor->strides}); !it.done(); it.Next()) {
      const double value = std::abs(static_cast<double>(tensor->as<float>()[it.offset(0)]));
      // Infinities and NaN make the bound infinite, since later results depend on rounding.
      reference.largest = std::isfinite(value) ? std::max(reference.largest, value) : INFINITY;
    }
  }
}

absl::StatusOr<Reference> Interpret(const ExportedProgram& program, const KernelRegistry& kernels,
                                    const exir::CallSequence& calls) {
  Reference reference;
  exir::InterpreterOptions options;
  options.observer = [&](const exir::NodeEvent& event) {
    Observe(event, reference);
    return absl::OkStatus();
  };
  ABSL_ASSIGN_OR_RETURN(Interpreter interpreter,
                        Interpreter::Create(program, kernels, std::move(options)));
  reference.calls = exir::RunCalls(interpreter, calls);
  ABSL_RETURN_IF_ERROR(reference.calls.back().status);
  return reference;
}

absl::StatusOr<std::vector<exir::CallOutcome>> RunLowered(const ExportedProgram& program,
                                                          const KernelRegistry& kernels,
                                                          const exir::Partitioner* partitioner,
                                                          const exir::CallSequence& calls) {
  exir::MethodPrograms methods;
  methods.emplace_back("forward", program.Clone());
  if (partitioner != nullptr) {
    ABSL_ASSIGN_OR_RETURN(methods,
                          exir::ToBackend(methods, {{"forward", partitioner}}, AotBackends(), {}));
  }
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods));
  ABSL_ASSIGN_OR_RETURN(const Program opened, exir::OpenImage(image));
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(opened, "forward", kernels, RuntimeBackends()));
  return exir::RunCalls(method, calls);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AgreementChecker>> AgreementChecker::Create() {
  std::unique_ptr<AgreementChecker> checker(new AgreementChecker);
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(checker->reference_));
  ABSL_RETURN_IF_ERROR(AddStandardKernels(checker->preferred_));
  return checker;
}

absl::Status AgreementChecker::Check(const ExportedProgram& program, uint64_t seed) const {
  const auto violated = [&](std::string_view engine, const absl::Status& status) {
    return absl::InternalError(absl::StrCat(engine, ": ", status.message(), "\nseed ", seed, "\n",
                                            exir::PrintProgram(program)));
  };
  Random random(seed);
  exir::CallSequence calls;
  for (int k = 0; k < kCalls; ++k) calls.push_back(exir::MakeInputs(program, random));
  const absl::StatusOr<Reference> want = Interpret(program, reference_, calls);
  if (!want.ok()) return violated("interpreter", want.status());
  // A rounding error of a few ULP in one factor is scaled by the others.
  const double largest = want->largest;
  exir::Closeness close = exir::kAnyElements;
  if (!want->decides && std::isfinite(largest)) close = {.atol = 1e-5 * largest * largest};
  const auto check = [&](std::string_view engine, const KernelRegistry& kernels,
                         const exir::Partitioner* partitioner,
                         const exir::Closeness& closeness) -> absl::Status {
    const absl::StatusOr<std::vector<exir::CallOutcome>> got =
        RunLowered(program, kernels, partitioner, calls);
    if (!got.ok()) return violated(engine, got.status());
    const std::string difference = exir::FirstDifference(want->calls, *got, closeness);
    return difference.empty() ? absl::OkStatus()
                              : violated(engine, absl::InternalError(difference));
  };
  ABSL_RETURN_IF_ERROR(check("runtime, reference kernels", reference_, nullptr, exir::kIdentical));
  ABSL_RETURN_IF_ERROR(check("runtime", preferred_, nullptr, close));
  for (const std::string_view backend : AotBackendNames()) {
    ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<exir::Partitioner> partitioner,
                          CreatePartitioner(backend, {}));
    ABSL_RETURN_IF_ERROR(
        check(absl::StrCat("backend ", backend), preferred_, partitioner.get(), close));
  }
  return absl::OkStatus();
}

}  // namespace belay::fuzz
