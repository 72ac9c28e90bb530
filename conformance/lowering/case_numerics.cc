#include "conformance/lowering/case_numerics.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "conformance/lowering/case_runtimes.h"
#include "conformance/models/compare.h"
#include "exir/decompositions/decompose.h"
#include "exir/emit/emitter.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/annotate.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"

namespace belay::conformance {
namespace {

using exir::ExportedProgram;
using exir::Interpreter;
using exir::OwnedValue;

// Those of the program that made the files.
constexpr double kTolerance = 1e-4;
constexpr int kCalls = 3;

// The array as an input of this type: NumPy has no bfloat16, and numbers are arrays of rank 0.
EValue InputValue(const exir::ValueType& type, const NpyArray& array) {
  TensorView view = array.view();
  if (const auto* meta = std::get_if<exir::TensorMeta>(&type)) {
    if (DTypeSize(meta->dtype) == DTypeSize(view.dtype)) view.dtype = meta->dtype;
    return EValue(view);
  }
  if (view.numel() != 1) return EValue(view);
  switch (view.dtype) {
    case DType::kInt64:
      return EValue(*view.as<int64_t>());
    case DType::kFloat64:
      return EValue(*view.as<double>());
    case DType::kBool:
      return EValue(*view.as<bool>());
    default:
      return EValue(view);
  }
}

absl::Status CompareValues(const EValue& want, const EValue& got, double tolerance) {
  const TensorView* tensor = want.get_if<TensorView>();
  if (tensor != nullptr) {
    const TensorView* came = got.get_if<TensorView>();
    if (came == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("expected ", want.KindName(), ", came ", got.KindName()));
    }
    return CompareTensors(*tensor, *came, tolerance, tolerance);
  }
  const auto same = [&](const auto* a, const auto* b) { return a != nullptr && b && *a == *b; };
  const bool equal = (want.is_none() && got.is_none()) ||
                     same(want.get_if<int64_t>(), got.get_if<int64_t>()) ||
                     same(want.get_if<double>(), got.get_if<double>()) ||
                     same(want.get_if<bool>(), got.get_if<bool>()) ||
                     same(want.get_if<std::string_view>(), got.get_if<std::string_view>());
  if (equal) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("expected ", want.KindName(), ", came another ", got.KindName()));
}

// A recorded number may be the value of a number or of a tensor of rank 0.
EValue AsRecorded(const NpyArray& array, const EValue& got) {
  TensorView view = array.view();
  if (const TensorView* tensor = got.get_if<TensorView>()) {
    if (DTypeSize(view.dtype) == DTypeSize(tensor->dtype) && IsFloatingPoint(tensor->dtype) &&
        !IsFloatingPoint(view.dtype)) {
      view.dtype = tensor->dtype;  // bfloat16 as its bits
    }
    return EValue(view);
  }
  if (view.numel() == 1 && view.dtype == DType::kInt64) return EValue(*view.as<int64_t>());
  if (view.numel() == 1 && view.dtype == DType::kFloat64) return EValue(*view.as<double>());
  if (view.numel() == 1 && view.dtype == DType::kBool) return EValue(*view.as<bool>());
  return EValue(view);
}

// One method of one engine: takes inputs, gives results that stay valid until the next call.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual absl::StatusOr<std::vector<EValue>> Call(const std::vector<EValue>& inputs) = 0;
  virtual absl::StatusOr<TensorView> State(const std::string& name) = 0;
};

class InterpreterEngine final : public Engine {
 public:
  explicit InterpreterEngine(Interpreter interpreter) : interpreter_(std::move(interpreter)) {}
  absl::StatusOr<std::vector<EValue>> Call(const std::vector<EValue>& inputs) override {
    ABSL_ASSIGN_OR_RETURN(results_, interpreter_.Run(inputs));
    std::vector<EValue> values;
    for (const OwnedValue& result : results_) values.push_back(result.value());
    return values;
  }
  absl::StatusOr<TensorView> State(const std::string& name) override {
    return interpreter_.GetState(name);
  }
  std::vector<std::string> StateNames() const { return interpreter_.StateNames(); }

 private:
  Interpreter interpreter_;
  std::vector<OwnedValue> results_;
};

class RuntimeEngine final : public Engine {
 public:
  RuntimeEngine(Method method, const CaseRuntimes* delegates)
      : method_(std::move(method)), delegates_(delegates) {}
  absl::StatusOr<std::vector<EValue>> Call(const std::vector<EValue>& inputs) override {
    if (inputs.size() != method_.num_inputs()) {
      return absl::FailedPreconditionError(absl::StrCat("the program takes ", method_.num_inputs(),
                                                        " inputs, the case has ", inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      ABSL_RETURN_IF_ERROR(method_.SetInput(i, inputs[i]));
    }
    ABSL_RETURN_IF_ERROR(method_.Execute());
    std::vector<EValue> values;
    for (size_t i = 0; i < method_.num_outputs(); ++i) values.push_back(method_.GetOutput(i));
    return values;
  }
  absl::StatusOr<TensorView> State(const std::string& name) override {
    absl::StatusOr<TensorView> own = method_.GetState(name);
    return own.ok() ? own : delegates_->GetState(name);
  }

 private:
  Method method_;
  const CaseRuntimes* delegates_;
};

// The files of one method.
class Recording {
 public:
  static absl::StatusOr<Recording> Read(const std::string& directory, const std::string& prefix,
                                        const Json& after) {
    Recording recording;
    for (const auto& [kind, arrays] :
         {std::pair{"input_", &recording.inputs_}, std::pair{"output_", &recording.outputs_}}) {
      while (true) {
        const std::string path = absl::StrCat(directory, "/", prefix, kind, arrays->size(), ".npy");
        if (!std::filesystem::exists(path)) break;
        ABSL_ASSIGN_OR_RETURN(NpyArray array, ReadNpyFile(path));
        arrays->push_back(std::move(array));
      }
    }
    for (const auto& [what, file] : after.object()) {
      ABSL_ASSIGN_OR_RETURN(NpyArray array, ReadNpyFile(directory + "/" + file.text()));
      recording.after_.emplace_back(what, std::move(array));
    }
    return recording;
  }

  // Copies of the inputs, which a call may write to.
  absl::StatusOr<std::vector<NpyArray>> CopyInputs() const {
    std::vector<NpyArray> copies;
    for (const NpyArray& input : inputs_) {
      NpyArray copy{.dtype = input.dtype, .sizes = input.sizes, .data = {}};
      ABSL_ASSIGN_OR_RETURN(copy.data, AlignedBuffer::Create(input.data.size()));
      ABSL_RETURN_IF_ERROR(CopyElements(input.view(), copy.view()));
      copies.push_back(std::move(copy));
    }
    return copies;
  }

  absl::Status Check(const std::vector<EValue>& results, const std::vector<EValue>& inputs,
                     Engine& engine) const {
    if (results.size() != outputs_.size()) {
      return absl::FailedPreconditionError(
          absl::StrCat("expected ", outputs_.size(), " results, came ", results.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const absl::Status status =
          CompareValues(AsRecorded(outputs_[i], results[i]), results[i], kTolerance);
      if (!status.ok()) return Annotate(status, absl::StrCat("output ", i));
    }
    for (const auto& [what, array] : after_) {
      absl::StatusOr<EValue> value;
      if (what.starts_with("input ")) {
        const size_t index = std::stoul(what.substr(6));
        if (index >= inputs.size()) return absl::NotFoundError(absl::StrCat("no ", what));
        value = inputs[index];
      } else {
        const absl::StatusOr<TensorView> state = engine.State(what);
        if (!state.ok()) return state.status();
        value = EValue(*state);
      }
      const absl::Status status = CompareValues(AsRecorded(array, *value), *value, kTolerance);
      if (!status.ok()) return Annotate(status, absl::StrCat(what, " after the call"));
    }
    return absl::OkStatus();
  }

 private:
  std::vector<NpyArray> inputs_, outputs_;
  std::vector<std::pair<std::string, NpyArray>> after_;
};

std::vector<exir::ValueType> InputTypes(const ExportedProgram& program) {
  std::vector<exir::ValueType> types;
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    const exir::InputKind kind = program.signature.inputs[i].kind;
    if (kind == exir::InputKind::kUserInput || kind == exir::InputKind::kConstantInput) {
      types.push_back(program.top().value(program.top().inputs()[i]).type);
    }
  }
  return types;
}

// The program in operators that have kernels: those that were kept for a partitioner are
// decomposed, in the delegates' programs too.
absl::StatusOr<ExportedProgram> Executable(const ExportedProgram& program) {
  ExportedProgram copy = program.Clone();
  for (exir::Graph& graph : copy.graphs) {
    exir::GraphEditor editor(graph);
    for (exir::NodeId node : graph.NodeList()) {
      // Decompositions are those of ATen operators.
      const exir::OpOverload* target = graph.node(node).target;
      if (target->has_trait(exir::kComposite)) editor.SetTarget(node, target->aten());
    }
  }
  ABSL_RETURN_IF_ERROR(exir::Decompose().run(copy).status());
  for (auto& module : copy.lowered_modules) {
    ABSL_ASSIGN_OR_RETURN(ExportedProgram original, Executable(module->original));
    auto executable =
        std::make_shared<exir::LoweredBackendModule>(module->backend_id, std::move(original));
    executable->processed = module->processed;
    executable->compile_specs = module->compile_specs;
    executable->named_data = module->named_data;
    executable->debug_handle_map = module->debug_handle_map;
    executable->delegate_info = module->delegate_info;
    module = std::move(executable);
  }
  return copy;
}

// Calls both engines and compares; the oracle's first call is also compared with the files.
absl::Status CompareEngines(const Recording& recording, const std::vector<exir::ValueType>& types,
                            InterpreterEngine& oracle, Engine& engine) {
  for (int call = 0; call < kCalls; ++call) {
    const std::string when = absl::StrCat("call ", call);
    std::vector<NpyArray> arrays[2];
    std::vector<EValue> inputs[2];
    for (int k = 0; k < 2; ++k) {
      ABSL_ASSIGN_OR_RETURN(arrays[k], recording.CopyInputs());
      if (arrays[k].size() != types.size()) {
        return absl::FailedPreconditionError(absl::StrCat(
            "the program takes ", types.size(), " inputs, the case has ", arrays[k].size()));
      }
      for (size_t i = 0; i < types.size(); ++i) {
        inputs[k].push_back(InputValue(types[i], arrays[k][i]));
      }
    }
    absl::StatusOr<std::vector<EValue>> want = oracle.Call(inputs[0]);
    if (!want.ok()) return Annotate(want.status(), absl::StrCat(when, ", before lowering"));
    absl::StatusOr<std::vector<EValue>> got = engine.Call(inputs[1]);
    if (!got.ok()) return Annotate(got.status(), when);
    if (call == 0) {
      absl::Status status = recording.Check(*want, inputs[0], oracle);
      if (!status.ok()) return Annotate(status, "before lowering");
      ABSL_RETURN_IF_ERROR(recording.Check(*got, inputs[1], engine));
    }
    if (want->size() != got->size()) return absl::FailedPreconditionError("number of results");
    for (size_t i = 0; i < want->size(); ++i) {
      const absl::Status status = CompareValues((*want)[i], (*got)[i], kTolerance);
      if (!status.ok()) return Annotate(status, absl::StrCat(when, ", output ", i));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const absl::Status status = CompareValues(inputs[0][i], inputs[1][i], kTolerance);
      if (!status.ok()) return Annotate(status, absl::StrCat("input ", i, " after ", when));
    }
    for (const std::string& name : oracle.StateNames()) {
      ABSL_ASSIGN_OR_RETURN(const TensorView expected, oracle.State(name));
      ABSL_ASSIGN_OR_RETURN(const TensorView came, engine.State(name));
      const absl::Status status = CompareValues(EValue(expected), EValue(came), kTolerance);
      if (!status.ok()) return Annotate(status, absl::StrCat("state '", name, "' after ", when));
    }
  }
  return absl::OkStatus();
}

// The program as a runtime gets it: from memory, or from files when it has companions.
absl::StatusOr<Program> Open(const exir::ProgramImage& image) {
  ABSL_ASSIGN_OR_RETURN(
      const exir::SerializedProgram serialized,
      exir::SerializeProgram(image, {.companions = true, .constants_companion = {}}));
  if (serialized.companions.empty()) {
    const auto bytes = std::make_shared<const std::string>(serialized.ToString());
    return Program::OpenBytes(
        bytes,
        absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()), {});
  }
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string directory = (parent / "lowering_case_XXXXXX").string();
  if (error || ::mkdtemp(directory.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot make a directory ", directory));
  }
  const std::string path = directory + "/program";
  const absl::Status written = exir::WriteSerializedProgram(serialized, path);
  absl::StatusOr<Program> program = written.ok() ? Program::Open(path) : written;
  // What is mapped stays.
  std::filesystem::remove_all(directory, error);
  return program;
}

absl::Status Check(const std::string& directory, const Json& after,
                   const exir::MethodPrograms& given, const exir::MethodPrograms& made,
                   std::vector<std::string>& notes) {
  exir::MethodPrograms source, lowered;
  for (size_t m = 0; m < made.size(); ++m) {
    ABSL_ASSIGN_OR_RETURN(ExportedProgram before, Executable(given[m].second));
    ABSL_ASSIGN_OR_RETURN(ExportedProgram after_lowering, Executable(made[m].second));
    source.emplace_back(given[m].first, std::move(before));
    lowered.emplace_back(made[m].first, std::move(after_lowering));
  }
  KernelRegistry reference, standard;
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(reference));
  ABSL_RETURN_IF_ERROR(AddStandardKernels(standard));

  CaseRuntimes runtimes(reference);
  exir::MethodPrograms prepared;
  for (const auto& [name, program] : lowered) {
    prepared.emplace_back(name, runtimes.Prepare(program));
  }
  std::optional<Program> program;
  const absl::StatusOr<exir::ProgramImage> image = exir::EmitProgram(prepared, {});
  if (image.ok()) {
    ABSL_ASSIGN_OR_RETURN(program, Open(*image));
  } else if (absl::IsUnimplemented(image.status()) ||
             absl::StrContains(image.status().message(), "no memory can be planned")) {
    notes.push_back(absl::StrCat("not executed in the runtime: ", image.status().message()));
  } else {
    return Annotate(image.status(), "emit");
  }

  for (size_t m = 0; m < lowered.size(); ++m) {
    const std::string& name = lowered[m].first;
    const std::string prefix =
        lowered.size() == 1 && name == "forward" ? "" : absl::StrCat(name, ".");
    absl::StatusOr<Recording> recording = Recording::Read(directory, prefix, after[name]);
    if (!recording.ok()) return Annotate(recording.status(), name);
    const std::vector<exir::ValueType> types = InputTypes(source[m].second);
    const auto run = [&](Engine& engine) -> absl::Status {
      absl::StatusOr<Interpreter> oracle = Interpreter::Create(source[m].second, reference);
      if (!oracle.ok()) return Annotate(oracle.status(), "before lowering");
      InterpreterEngine expected(*std::move(oracle));
      return CompareEngines(*recording, types, expected, engine);
    };
    absl::StatusOr<Interpreter> interpreter = Interpreter::Create(lowered[m].second, reference);
    if (!interpreter.ok())
      return Annotate(interpreter.status(), absl::StrCat(name, ", interpreter"));
    InterpreterEngine interpreted(*std::move(interpreter));
    if (const absl::Status status = run(interpreted); !status.ok()) {
      return Annotate(status, absl::StrCat(name, ", interpreter"));
    }
    if (!program.has_value()) continue;
    runtimes.ForgetLoaded();
    absl::StatusOr<Method> method = Method::Load(*program, name, standard, runtimes.registry());
    if (!method.ok()) return Annotate(method.status(), absl::StrCat(name, ", runtime"));
    RuntimeEngine executed(*std::move(method), &runtimes);
    if (const absl::Status status = run(executed); !status.ok()) {
      return Annotate(status, absl::StrCat(name, ", runtime"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string CheckNumerics(const std::string& directory, const Json& after,
                          const exir::MethodPrograms& source, const exir::MethodPrograms& lowered,
                          std::vector<std::string>& notes) {
  const absl::Status status = Check(directory, after, source, lowered, notes);
  return status.ok() ? "" : absl::StrCat("numerics: ", status.ToString());
}

}  // namespace belay::conformance
