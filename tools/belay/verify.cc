// `belay verify`: what a program file computes against what its archive means.
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/import/import.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "nlohmann/json.hpp"
#include "runtime/core/mapped_file.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/command.h"
#include "tools/belay/first_difference.h"
#include "tools/belay/session.h"

namespace belay::tools {
namespace {

using nlohmann::json;

absl::Status Annotate(const absl::Status& status, std::string_view what) {
  return absl::Status(status.code(), absl::StrCat(std::string(what), ": ", status.message()));
}

// The arrays of one call and the values that lie in them.
struct Inputs {
  std::vector<NpyArray> arrays;
  std::vector<EValue> values;
};

absl::StatusOr<Inputs> MakeInputs(const MethodPlan& plan, const VerifyOptions& options,
                                  uint64_t call) {
  Inputs inputs;
  inputs.arrays.resize(plan.inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    EValue value = ConstantInput(plan, i);
    if (InputTakesArray(plan, i) && value.is_none()) {
      if (options.inputs.empty()) {
        ABSL_ASSIGN_OR_RETURN(inputs.arrays[i],
                              RandomInput(plan, i, options.seed + call, /*dynamic_size=*/2));
      } else if (next < options.inputs.size()) {
        const std::string& path = options.inputs[next++];
        ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
        absl::StatusOr<NpyArray> array = ReadNpy(file->bytes());
        if (!array.ok()) return Annotate(array.status(), path);
        inputs.arrays[i] = *std::move(array);
      } else {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " '", plan.inputs[i].name,
                                                       "' is missing: ", options.inputs.size(),
                                                       " files were given"));
      }
      ABSL_ASSIGN_OR_RETURN(value, InputFromNpy(plan, i, inputs.arrays[i]));
    }
    inputs.values.push_back(value);
  }
  if (next < options.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.inputs.size(), " input files were given, the method takes ", next));
  }
  return inputs;
}

// Partitioners by the names of backends, or for the backends whose delegates a program has.
absl::StatusOr<std::vector<std::unique_ptr<exir::Partitioner>>> MakePartitioners(
    const VerifyOptions& options, const MethodPlan* plan, const exir::ExportedProgram& program) {
  std::vector<std::unique_ptr<exir::Partitioner>> partitioners;
  for (const std::string& names : options.backends) {
    for (const auto piece : absl::StrSplit(names, ',', absl::SkipEmpty())) {
      if (piece == "none") continue;
      ABSL_ASSIGN_OR_RETURN(auto partitioner,
                            CreatePartitioner(std::string_view(piece.data(), piece.size()), {}));
      partitioners.push_back(std::move(partitioner));
    }
  }
  if (!options.backends.empty() || plan == nullptr || plan->delegates.empty()) return partitioners;
  std::set<std::string_view> wanted;
  for (const DelegatePlan& delegate : plan->delegates) wanted.insert(delegate.backend_id);
  for (std::string_view name : AotBackendNames()) {
    ABSL_ASSIGN_OR_RETURN(auto partitioner, CreatePartitioner(name, {}));
    const absl::StatusOr<exir::PartitionResult> answer = partitioner->Partition(program);
    if (!answer.ok()) continue;
    for (const auto& [tag, spec] : answer->delegation) {
      if (!wanted.contains(spec.backend_id)) continue;
      partitioners.push_back(std::move(partitioner));
      break;
    }
  }
  return partitioners;
}

// A method of a program file, or of the archive lowered in memory.
struct Subject {
  KernelRegistry kernels;
  std::unique_ptr<Session> session;
  std::unique_ptr<Program> program;
  std::unique_ptr<Method> method;  // when there is no session
  Method& Get() { return session != nullptr ? *session->method : *method; }
};

absl::StatusOr<std::unique_ptr<Subject>> OpenSubject(
    const VerifyOptions& options, const exir::ExportedProgram& program,
    const std::vector<const exir::Partitioner*>& partitioners) {
  auto subject = std::make_unique<Subject>();
  if (!options.program.empty()) {
    ABSL_ASSIGN_OR_RETURN(subject->session,
                          OpenSession(options.program, options.method, options.engine));
    return subject;
  }
  if (options.engine == "reference") {
    ABSL_RETURN_IF_ERROR(AddReferenceKernels(subject->kernels));
  } else if (options.engine == "highway") {
    ABSL_RETURN_IF_ERROR(AddStandardKernels(subject->kernels));
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no engine '", options.engine, "'; there are: highway, reference"));
  }
  exir::MethodPrograms methods;
  methods.emplace_back(options.method, program.Clone());
  exir::PipelineOptions pipeline;
  pipeline.partitioners = partitioners;
  pipeline.backends = &AotBackends();
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        exir::LowerPrograms(std::move(methods), pipeline));
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram serialized, exir::SerializeProgram(image));
  const auto bytes = std::make_shared<const std::string>(serialized.ToString());
  ABSL_ASSIGN_OR_RETURN(
      Program opened,
      Program::OpenBytes(
          bytes,
          absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()),
          Program::Options()));
  subject->program = std::make_unique<Program>(std::move(opened));
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(*subject->program, options.method,
                                                    subject->kernels, RuntimeBackends()));
  subject->method = std::make_unique<Method>(std::move(method));
  return subject;
}

struct Finding {
  int call = 0;
  std::string where;  // "output 0", "state 'n'"
  std::string difference;
};

// Everything that differs in one call.
absl::StatusOr<std::vector<Finding>> CompareCall(Method& method, exir::Interpreter& interpreter,
                                                 const VerifyOptions& options, int call) {
  ABSL_ASSIGN_OR_RETURN(const Inputs given, MakeInputs(method.plan(), options, call));
  ABSL_ASSIGN_OR_RETURN(const Inputs expected_inputs, MakeInputs(method.plan(), options, call));
  absl::StatusOr<std::vector<exir::Datum>> expected = interpreter.Run(expected_inputs.values);
  if (!expected.ok()) return Annotate(expected.status(), "interpreter");
  for (size_t i = 0; i < given.values.size(); ++i) {
    ABSL_RETURN_IF_ERROR(method.SetInput(i, given.values[i]));
  }
  ABSL_RETURN_IF_ERROR(method.Execute());
  if (expected->size() != method.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("the archive's program gives ", expected->size(),
                                                   " results, the file's ", method.num_outputs(),
                                                   ": it was made from another archive"));
  }
  const Tolerances tolerances{.atol = options.atol, .rtol = options.rtol};
  std::vector<Finding> findings;
  const auto compare = [&](std::string where, const EValue& want, const EValue& got) {
    const absl::Status status = CompareValues(want, got, tolerances);
    if (!status.ok()) findings.push_back({call, std::move(where), std::string(status.message())});
  };
  for (size_t i = 0; i < expected->size(); ++i) {
    compare(absl::StrCat("output ", i), (*expected)[i].value(), method.GetOutput(i));
  }
  for (size_t i = 0; i < given.values.size(); ++i) {
    if (given.values[i].is_tensor()) {
      compare(absl::StrCat("input ", i, " afterwards"), expected_inputs.values[i], given.values[i]);
    }
  }
  for (const std::string& name : interpreter.StateNames()) {
    const absl::StatusOr<TensorView> state = method.GetState(name);
    if (!state.ok()) continue;  // a delegate's
    ABSL_ASSIGN_OR_RETURN(const TensorView want, interpreter.GetState(name));
    compare(absl::StrCat("state '", name, "'"), EValue(want), EValue(*state));
  }
  return findings;
}

absl::StatusOr<int> VerifyAll(const VerifyOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  absl::StatusOr<exir::ExportedProgram> archive = exir::ImportFile(options.archive, *ops, {});
  if (!archive.ok()) return Annotate(archive.status(), options.archive);
  ABSL_ASSIGN_OR_RETURN(const exir::ExportedProgram program, exir::ToEdge(*std::move(archive)));
  ABSL_ASSIGN_OR_RETURN(auto partitioners, MakePartitioners(options, nullptr, program));
  const auto pointers = [&] {
    std::vector<const exir::Partitioner*> list;
    for (const auto& partitioner : partitioners) list.push_back(partitioner.get());
    return list;
  };
  ABSL_ASSIGN_OR_RETURN(const auto subject, OpenSubject(options, program, pointers()));
  Method& method = subject->Get();
  KernelRegistry reference;
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(reference));
  absl::StatusOr<exir::Interpreter> interpreter = exir::Interpreter::Create(program, reference);
  if (!interpreter.ok()) return Annotate(interpreter.status(), "interpreter");

  std::vector<Finding> findings;
  for (int call = 0; call < options.calls && findings.empty(); ++call) {
    ABSL_ASSIGN_OR_RETURN(findings, CompareCall(method, *interpreter, options, call));
  }

  std::optional<NodeDifference> node;
  if (!findings.empty()) {
    KernelRegistry kernels;
    ABSL_RETURN_IF_ERROR(options.engine == "reference" ? AddReferenceKernels(kernels)
                                                       : AddStandardKernels(kernels));
    ABSL_ASSIGN_OR_RETURN(partitioners, MakePartitioners(options, &method.plan(), program));
    const Engine engine{.partitioners = pointers(),
                        .aot = &AotBackends(),
                        .runtime = &RuntimeBackends(),
                        .kernels = &kernels,
                        .reference = &reference};
    std::vector<Inputs> alive;
    const auto inputs = [&]() -> absl::StatusOr<std::vector<EValue>> {
      ABSL_ASSIGN_OR_RETURN(Inputs made, MakeInputs(method.plan(), options, 0));
      alive.push_back(std::move(made));
      return alive.back().values;
    };
    ABSL_ASSIGN_OR_RETURN(node, FindFirstDifference(program, inputs, engine,
                                                    {.atol = options.atol, .rtol = options.rtol}));
  }

  if (options.json) {
    json report{
        {"equal", findings.empty()}, {"calls", options.calls}, {"differences", json::array()}};
    for (const Finding& finding : findings) {
      report["differences"].push_back(
          {{"call", finding.call}, {"where", finding.where}, {"difference", finding.difference}});
    }
    if (node.has_value()) {
      report["first_node"] = {{"node", node->node},
                              {"backend", node->backend},
                              {"difference", node->difference},
                              {"alone", node->alone}};
    }
    std::cout << report.dump(2) << "\n";
    return findings.empty() ? kDone : kNegative;
  }
  if (findings.empty()) {
    std::cout << "equal: " << method.num_outputs() << " results in " << options.calls
              << (options.calls == 1 ? " call\n" : " calls\n");
    return kDone;
  }
  for (const Finding& finding : findings) {
    std::cout << "call " << finding.call << ", " << finding.where << ": " << finding.difference
              << "\n";
  }
  if (!node.has_value()) {
    std::cout << "every node of the archive's program gives what it should when it is lowered now: "
                 "the file was made from another archive, by another version, or is damaged (belay "
                 "inspect --verify), or the state of earlier calls matters\n";
    return kNegative;
  }
  std::cout << "the first node that differs" << (node->alone ? " when it alone is looked at" : "")
            << ": " << node->node << "\n  "
            << (node->backend.empty() ? std::string("computed by a kernel")
                                      : absl::StrCat("computed by a delegate of ", node->backend))
            << "\n  " << node->difference << "\n";
  return kNegative;
}

}  // namespace

int Verify(const VerifyOptions& options) {
  const absl::StatusOr<int> status = VerifyAll(options);
  return status.ok() ? *status : Report(status.status());
}

}  // namespace belay::tools
