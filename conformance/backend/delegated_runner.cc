#include "conformance/backend/delegated_runner.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/runtime_backends.h"
#include "conformance/backend/call_program.h"
#include "conformance/ops/op_compare.h"
#include "exir/compare/call.h"
#include "exir/pipeline.h"
#include "runtime/core/str_cat.h"
#include "runtime/executor/method.h"

namespace belay::conformance {
namespace {

constexpr int64_t kUnboundedSize = 4096;  // for results with data-dependent sizes

CaseResult Fail(std::string check, std::string detail) {
  return {CaseOutcome::kFailed, std::move(check), std::move(detail)};
}
CaseResult Fail(std::string check, const absl::Status& status) {
  return Fail(std::move(check), status.ToString());
}

// Returns the expected tensors, single and in lists, in order; null if unspecified.
std::vector<const CaseTensor*> Expected(const OpCase& op_case) {
  std::vector<const CaseTensor*> tensors;
  for (const CaseValue& value : *op_case.expect) {
    if (const auto* list = std::get_if<std::vector<std::optional<CaseTensor>>>(&value)) {
      for (const std::optional<CaseTensor>& tensor : *list) {
        tensors.push_back(tensor.has_value() ? &*tensor : nullptr);
      }
    } else {
      tensors.push_back(std::get_if<CaseTensor>(&value));
    }
  }
  return tensors;
}

CaseResult Compare(const OpCase& op_case, const std::vector<exir::OwnedValue>& outputs) {
  const std::vector<const CaseTensor*> expected = Expected(op_case);
  if (expected.size() != outputs.size()) {
    return Fail("values",
                absl::StrCat("expected ", expected.size(), " results, got ", outputs.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (expected[i] == nullptr) continue;
    if (outputs[i].tensor() == nullptr) {
      return Fail("values", absl::StrCat("result ", i, ": expected a tensor, got ",
                                         outputs[i].value().KindName()));
    }
    const Difference difference = CompareTensor(*expected[i], *outputs[i].tensor(), op_case);
    if (!difference.empty()) return Fail("values", absl::StrCat("result ", i, ": ", difference));
  }
  return {};
}

}  // namespace

CaseResult DelegatedRunner::Run(const OpCaseFile& file, const OpCase& op_case) {
  const exir::OpOverload* op = ops_.Find(file.op);
  if (op == nullptr || op->schema() == nullptr) {
    return {CaseOutcome::kSkipped, "", "the operator is not declared"};
  }
  std::string reason = "no backend supports a node";
  for (const OnlyInput& only_input : kOnlyInputs) {
    absl::StatusOr<CallProgram> call =
        MakeCallProgram(*op, op_case, only_input, ops_, backends_.partitioners());
    if (!call.ok()) {
      if (!only_input.has_value()) reason = std::string(call.status().message());
      continue;
    }
    size_t taken = 0;
    for (const exir::Partitioner* partitioner : backends_.partitioners()) {
      const absl::StatusOr<Offer> offer = OfferTo(*partitioner, call->program);
      if (!offer.ok()) return Fail("lower", offer.status());
      taken += offer->taken;
    }
    if (taken == 0) continue;
    exir::PipelineOptions options;
    options.unbounded_size = kUnboundedSize;
    backends_.AddTo(options);
    exir::MethodPrograms methods;
    methods.emplace_back("forward", std::move(call->program));
    const absl::StatusOr<exir::ProgramImage> image =
        exir::LowerPrograms(std::move(methods), options);
    if (!image.ok()) return Fail("lower", image.status());
    const absl::StatusOr<Program> program = exir::OpenImage(*image);
    if (!program.ok()) return Fail("load", program.status());
    absl::StatusOr<Method> method = Method::Load(*program, "forward", kernels_, RuntimeBackends());
    if (!method.ok()) return Fail("load", method.status());
    const exir::CallOutcome outcome = exir::RunCall(*method, exir::ValuesOf(call->inputs));
    if (!outcome.status.ok()) return Fail("execute", outcome.status);
    return Compare(op_case, outcome.outputs);
  }
  return {CaseOutcome::kSkipped, "", reason};
}

}  // namespace belay::conformance
