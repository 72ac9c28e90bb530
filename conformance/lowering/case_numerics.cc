#include "conformance/lowering/case_numerics.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "conformance/models/model_runner.h"
#include "exir/compare/call.h"
#include "exir/decompositions/decompose.h"
#include "exir/emit/emitter.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/serialize/serializer.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/annotate.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"

namespace belay::conformance {
namespace {

using exir::CallOutcome;
using exir::ExportedProgram;
using exir::Interpreter;
using exir::LoweredBackendModule;
using exir::OwnedValue;

// Tolerances of the script that recorded the files.
constexpr exir::Closeness kCloseness = {.atol = 1e-4, .rtol = 1e-4};
constexpr size_t kCalls = 3;
constexpr std::string_view kModuleSpec = "conformance_module";

// --- Runtimes of the backends: a delegate interprets the program from which it was lowered. ---

class Handle final : public DelegateHandle {
 public:
  explicit Handle(Interpreter interpreter) : interpreter(std::move(interpreter)) {}

  absl::Status Execute(KernelContext& context) override {
    std::vector<EValue> inputs;
    for (int i = 0; i < context.num_arguments(); ++i) inputs.push_back(context.argument(i));
    ABSL_ASSIGN_OR_RETURN(const std::vector<exir::OwnedValue> results, interpreter.Run(inputs));
    if (static_cast<int>(results.size()) != context.num_outputs()) {
      return absl::InternalError(absl::StrCat("expected ", context.num_outputs(),
                                              " results of the program, got ", results.size()));
    }
    for (int i = 0; i < context.num_outputs(); ++i) {
      const TensorView* tensor = results[i].tensor();
      if (tensor == nullptr) {
        context.SetScalarOutput(i, results[i].value());
        continue;
      }
      ABSL_ASSIGN_OR_RETURN(const TensorView* output, context.Output(i, tensor->sizes));
      ABSL_RETURN_IF_ERROR(CopyElements(*tensor, *output));
    }
    return absl::OkStatus();
  }
  void ResetState() override { (void)interpreter.ResetState(); }

  Interpreter interpreter;
};

// Blobs of test backends do not contain an executable program. So each delegate gets one more
// compile spec, with the index of its module.
class CaseRuntimes {
 public:
  explicit CaseRuntimes(const KernelRegistry& kernels) : kernels_(kernels) {}

  // Returns the program with those specs, for emission.
  ExportedProgram Prepare(const ExportedProgram& lowered) {
    ExportedProgram program = lowered.Clone();
    for (std::shared_ptr<const LoweredBackendModule>& module : program.lowered_modules) {
      auto copy = std::make_shared<LoweredBackendModule>(module->Clone());
      copy->compile_specs.push_back({std::string(kModuleSpec), absl::StrCat(modules_.size())});
      if (registry_.Find(module->backend_id) == nullptr) {
        runtimes_.push_back(std::make_unique<Runtime>(module->backend_id, *this));
        ABSL_CHECK(registry_.Add(runtimes_.back().get()).ok());
      }
      modules_.push_back(module = std::move(copy));
    }
    return program;
  }
  // Has a runtime for each backend that the prepared programs name.
  const BackendRegistry& registry() const { return registry_; }
  // Delegates loaded since the last clear(), while they exist.
  std::vector<Interpreter*>& loaded() { return loaded_; }

 private:
  class Runtime final : public BackendRuntime {
   public:
    Runtime(std::string id, CaseRuntimes& owner) : id_(std::move(id)), owner_(owner) {}
    std::string_view id() const override { return id_; }
    absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
        const DelegateInitContext& context, absl::Span<const std::byte> blob) const override {
      size_t index = owner_.modules_.size();
      std::vector<exir::CompileSpec> specs;
      for (const CompileSpecView& spec : context.compile_specs) {
        specs.push_back({std::string(spec.key), std::string(spec.value)});
      }
      if (specs.empty() || !absl::SimpleAtoi(specs.back().value, &index) ||
          specs.back().key != kModuleSpec || index >= owner_.modules_.size()) {
        return absl::InternalError("expected a delegate that says which module it is");
      }
      const LoweredBackendModule& module = *owner_.modules_[index];
      if (specs != module.compile_specs) return absl::InternalError("expected the module's specs");
      if (blob != absl::MakeConstSpan(module.processed.bytes)) {
        return absl::InternalError("expected the blob that the backend compiled");
      }
      for (const auto& [key, entry] : module.named_data.program_data) {
        ABSL_ASSIGN_OR_RETURN(const auto data, context.named_data->Find(key));
        if (data != absl::MakeConstSpan(module.named_data.buffers[entry.buffer].bytes)) {
          return absl::InternalError(absl::StrCat("expected other named data '", key, "'"));
        }
      }
      ABSL_ASSIGN_OR_RETURN(Interpreter interpreter,
                            Interpreter::Create(module.original, owner_.kernels_));
      auto handle = std::make_unique<Handle>(std::move(interpreter));
      owner_.loaded_.push_back(&handle->interpreter);
      return handle;
    }

   private:
    const std::string id_;
    CaseRuntimes& owner_;
  };

  const KernelRegistry& kernels_;
  std::vector<std::shared_ptr<const LoweredBackendModule>> modules_;
  std::vector<std::unique_ptr<Runtime>> runtimes_;
  BackendRegistry registry_;
  std::vector<Interpreter*> loaded_;
};

// A method with delegates that own state.
struct MethodWithDelegates {
  Method& method;
  CaseRuntimes& runtimes;
};

CallOutcome RunCall(MethodWithDelegates& engine, absl::Span<const EValue> inputs) {
  CallOutcome outcome = exir::RunCall(engine.method, inputs);
  for (const Interpreter* delegate : engine.runtimes.loaded()) {
    for (const std::string& name : delegate->StateNames()) {
      const absl::StatusOr<TensorView> state = delegate->GetState(name);
      if (!outcome.status.ok() || !state.ok()) continue;
      absl::StatusOr<OwnedValue> copy = OwnedValue::Borrow(*state, true).Copy();
      outcome.status = copy.status();
      if (copy.ok()) outcome.state.emplace(name, *std::move(copy));
    }
  }
  return outcome;
}

// --- The files of one method; `prefix` begins their names ---

// NumPy has no bfloat16: files have its bits. Other files have the expected dtype.
template <class Tensor>
Leaf LeafOf(const Tensor* tensor, std::string file) {
  const bool bits = tensor != nullptr && tensor->dtype == DType::kBFloat16;
  return {.kind = bits ? "tensor" : "array",
          .dtype = DType::kBFloat16,
          .shape = {},
          .file = std::move(file)};
}
Leaf LeafOf(const OwnedValue* value, std::string file) {
  return LeafOf(value == nullptr ? nullptr : value->tensor(), std::move(file));
}

// Reads the inputs of one call.
absl::StatusOr<std::vector<OwnedValue>> ReadInputs(const std::string& directory,
                                                   const std::string& prefix,
                                                   const ExportedProgram& program) {
  ModelCase recorded;
  const auto file = [&] { return absl::StrCat(prefix, "input_", recorded.inputs.size(), ".npy"); };
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    if (!exir::IsProvidedByCaller(program.signature.inputs[i].kind)) continue;
    const exir::TensorMeta* meta = program.top().value(program.top().inputs()[i]).tensor();
    recorded.inputs.push_back(LeafOf(meta, file()));
    if (meta == nullptr) recorded.inputs.back().kind = "number";
  }
  if (std::filesystem::exists(absl::StrCat(directory, "/", file()))) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected more than ", recorded.inputs.size(), " inputs"));
  }
  return conformance::ReadInputs(directory, recorded);
}

// `knows_state`: all recorded state must be present.
absl::Status CheckRecorded(const std::string& directory, const std::string& prefix,
                           const Json& after, const CallOutcome& call, bool knows_state) {
  Manifest manifest;
  manifest.atol = kCloseness.atol;
  manifest.rtol = kCloseness.rtol;
  ModelCase recorded;
  for (size_t i = 0;; ++i) {
    const std::string file = absl::StrCat(prefix, "output_", i, ".npy");
    if (!std::filesystem::exists(absl::StrCat(directory, "/", file))) break;
    recorded.outputs.push_back(LeafOf(i < call.outputs.size() ? &call.outputs[i] : nullptr, file));
  }
  for (const auto& [what, file] : after.items()) {
    size_t i = 0;
    const auto state = call.state.find(what);
    if (what.starts_with("input ") && absl::SimpleAtoi(what.substr(6), &i)) {
      const OwnedValue* input = i < call.inputs.size() ? &call.inputs[i] : nullptr;
      recorded.inputs_after.emplace_back(i, LeafOf(input, Text(file)));
    } else if (const bool there = state != call.state.end(); there || knows_state) {
      recorded.buffers_after.emplace_back(what,
                                          LeafOf(there ? &state->second : nullptr, Text(file)));
    }
  }
  return CheckCase(directory, recorded, manifest, call);
}

// Returns the program in operators that have kernels: operators kept for a partitioner are
// decomposed, in the delegates' programs too.
absl::StatusOr<ExportedProgram> Executable(const ExportedProgram& program) {
  ExportedProgram copy = program.Clone();
  ABSL_RETURN_IF_ERROR(exir::Decompose().run(copy).status());
  for (auto& module : copy.lowered_modules) {
    auto executable = std::make_shared<LoweredBackendModule>(module->Clone());
    ABSL_ASSIGN_OR_RETURN(executable->original, Executable(module->original));
    module = std::move(executable);
  }
  return copy;
}

// Opens the program from files, as a runtime does. The files are deleted once it is open.
absl::StatusOr<Program> Open(const exir::ProgramImage& image) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string directory = (parent / "lowering_case_XXXXXX").string();
  if (error || ::mkdtemp(directory.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot make a directory ", directory));
  }
  const std::string path = directory + "/program";
  const absl::Status written =
      exir::WriteProgramFile(image, path, {.companions = true, .constants_companion = {}});
  absl::StatusOr<Program> program = written.ok() ? Program::Open(path) : written;
  std::filesystem::remove_all(directory, error);
  return program;
}

}  // namespace

absl::Status CheckNumerics(const std::string& directory, const Json& after,
                           const exir::MethodPrograms& source, const exir::MethodPrograms& lowered,
                           std::vector<std::string>& not_executed,
                           const BackendRegistry* backends) {
  KernelRegistry reference, standard;
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(reference));
  ABSL_RETURN_IF_ERROR(AddStandardKernels(standard));
  CaseRuntimes runtimes(reference);
  exir::MethodPrograms made, prepared;
  for (size_t m = 0; m < lowered.size(); ++m) {
    const std::string& name = lowered[m].first;
    ABSL_ASSIGN_OR_RETURN(ExportedProgram program, Executable(lowered[m].second));
    prepared.emplace_back(name, backends == nullptr ? runtimes.Prepare(program) : program.Clone());
    made.emplace_back(name, std::move(program));
  }
  std::optional<Program> program;
  const absl::StatusOr<exir::ProgramImage> image = exir::EmitProgram(prepared, {});
  if (image.ok()) {
    ABSL_ASSIGN_OR_RETURN(program, Open(*image));
  } else if (!absl::IsUnimplemented(image.status()) &&
             !absl::StrContains(image.status().message(), "cannot plan memory")) {
    return Annotate(image.status(), "emit");
  }
  for (size_t m = 0; m < made.size(); ++m) {
    const std::string& name = made[m].first;
    const bool only = made.size() == 1 && name == "forward";
    const std::string prefix = only ? "" : name + ".";
    ABSL_ASSIGN_OR_RETURN(const ExportedProgram before, Executable(source[m].second));
    ABSL_ASSIGN_OR_RETURN(const std::vector<OwnedValue> inputs,
                          ReadInputs(directory, prefix, before));
    const exir::CallSequence calls(kCalls, inputs);
    ABSL_ASSIGN_OR_RETURN(Interpreter oracle, Interpreter::Create(before, reference));
    const std::vector<CallOutcome> expected = exir::RunCalls(oracle, calls);
    const auto check = [&](const std::vector<CallOutcome>& actual,
                           bool knows_state) -> absl::Status {
      ABSL_RETURN_IF_ERROR(
          CheckRecorded(directory, prefix, Member(after, name), actual[0], knows_state));
      for (const auto& [state, value] : expected[0].state) {
        if (actual[0].state.contains(state) || !knows_state) continue;
        return absl::NotFoundError(absl::StrCat("unknown state '", state, "'"));
      }
      const std::string difference = exir::FirstDifference(expected, actual, kCloseness);
      return difference.empty() ? absl::OkStatus() : absl::FailedPreconditionError(difference);
    };
    ABSL_RETURN_IF_ERROR(Annotate(check(expected, true), name + ", before lowering"));
    ABSL_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Create(made[m].second, reference));
    ABSL_RETURN_IF_ERROR(
        Annotate(check(exir::RunCalls(interpreter, calls), true), name + ", interpreter"));
    if (!program.has_value()) {
      not_executed.push_back(absl::StrCat(name, ": ", image.status().message()));
      continue;
    }
    runtimes.loaded().clear();
    ABSL_ASSIGN_OR_RETURN(Method method,
                          Method::Load(*program, name, standard,
                                       backends == nullptr ? runtimes.registry() : *backends));
    MethodWithDelegates executed = {method, runtimes};
    // State owned by a delegate of a real backend has no name outside of it.
    ABSL_RETURN_IF_ERROR(
        Annotate(check(exir::RunCalls(executed, calls), backends == nullptr), name + ", runtime"));
  }
  return absl::OkStatus();
}

}  // namespace belay::conformance
