#include "conformance/differential/engines.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "exir/emit/emitter.h"
#include "exir/interpreter/operator_call.h"
#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "exir/serialize/serializer.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/executor/method.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::OwnedValue;
using exir::ValueId;

absl::StatusOr<OwnedValue> CopyOf(const EValue& value) {
  if (const TensorView* tensor = value.get_if<TensorView>()) {
    return OwnedValue::Borrow(*tensor, /*writable=*/false).Copy();
  }
  return OwnedValue::Scalar(value);
}

// Writable copies of the inputs.
absl::StatusOr<std::vector<OwnedValue>> Own(const std::vector<SampleTensor>& inputs) {
  std::vector<OwnedValue> owned;
  for (const SampleTensor& input : inputs) {
    ABSL_ASSIGN_OR_RETURN(OwnedValue datum,
                          OwnedValue::Borrow(input.view(), /*writable=*/true).Copy());
    owned.push_back(std::move(datum));
  }
  return owned;
}

// --- Per-node comparison ---

template <class T>
double Number(T value) {
  return static_cast<double>(static_cast<float>(value));
}
double Number(double value) { return value; }

double EpsilonOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBFloat16:
      return 0x1p-7;
    case DType::kFloat64:
    case DType::kComplex128:
      return 0x1p-52;
    default:
      return 0x1p-23;
  }
}

// The largest finite absolute value; 0 of what is no tensor of floats.
double Magnitude(const OwnedValue& datum) {
  const TensorView* view = datum.tensor();
  if (view == nullptr) return 0;
  double largest = 0;
  const auto note = [&](double value) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  };
  const int64_t size = static_cast<int64_t>(DTypeSize(view->dtype));
  for (StridedIterator<1> it(view->sizes, {view->strides}); !it.done(); it.Next()) {
    const std::byte* element = static_cast<const std::byte*>(view->data) + it.offset(0) * size;
    switch (view->dtype) {
      case DType::kFloat16:
        note(Number(*reinterpret_cast<const Half*>(element)));
        break;
      case DType::kBFloat16:
        note(Number(*reinterpret_cast<const BFloat16*>(element)));
        break;
      case DType::kFloat32:
        note(*reinterpret_cast<const float*>(element));
        break;
      case DType::kFloat64:
        note(*reinterpret_cast<const double*>(element));
        break;
      default:
        break;
    }
  }
  return largest;
}

// Follows an interpretation and calls each operator of the top graph once more.
class KernelCheck {
 public:
  KernelCheck(const ExportedProgram& program, const KernelRegistry& reference)
      : program_(program), reference_(reference) {}

  // `state`: what buffers and parameters that the program writes hold.
  absl::Status Start(const std::vector<OwnedValue>& user_inputs,
                     const std::map<std::string, OwnedValue>& state) {
    values_.clear();
    size_t next = 0;
    for (size_t i = 0; i < program_.signature.inputs.size(); ++i) {
      const exir::InputSpec& spec = program_.signature.inputs[i];
      OwnedValue& datum = values_[program_.top().inputs()[i].index()];
      if (spec.kind == exir::InputKind::kUserInput) {
        datum = user_inputs[next++];
      } else if (const auto it = state.find(spec.target); it != state.end()) {
        datum = it->second;
      } else if (const exir::ConstantTensor* constant = program_.FindConstant(spec)) {
        ABSL_ASSIGN_OR_RETURN(datum, OwnedValue::Constant(*constant));
      }
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const exir::NodeEvent& event) {
    if (!event.callers.empty() || !(event.graph == ExportedProgram::kTop)) return absl::OkStatus();
    const exir::Node& node = program_.top().node(event.node);
    const std::vector<ValueId> results = node.results();
    for (size_t i = 0; i < results.size(); ++i) values_[results[i].index()] = *event.results[i];
    const exir::OpOverload& op = *node.target->aten();
    if (op.schema() == nullptr || op.has_trait(exir::kNondeterministic) ||
        op.op().starts_with("empty") || op.op() == "_empty_dim_order") {
      return absl::OkStatus();
    }
    std::vector<exir::Operand> operands;
    double magnitude = 0;
    for (const Argument& argument : node.arguments) {
      ForEachValue(argument, [&](ValueId id) {
        magnitude = std::max(magnitude, Magnitude(values_[id.index()]));
      });
      ABSL_ASSIGN_OR_RETURN(exir::Operand operand, ToOperand(argument));
      operands.push_back(std::move(operand));
    }
    ABSL_ASSIGN_OR_RETURN(
        const std::vector<exir::CallResult> returns,
        CallOperator(op, absl::MakeSpan(operands), reference_,
                     {.engine = KernelEngine::kReference, .max_tensor_bytes = uint64_t{1} << 30}));
    size_t k = 0;
    for (size_t i = 0; i < returns.size(); ++i) {
      if (node.outputs[i].kind == exir::NodeOutput::Kind::kNone) continue;
      for (const OwnedValue& want : returns[i].values) {
        const OwnedValue& got = *event.results[k++];
        const TensorView* tensor = want.tensor();
        const double scale =
            tensor == nullptr ? 1 : EpsilonOf(tensor->dtype) / EpsilonOf(DType::kFloat32);
        const exir::Tolerance& tolerance = op.def()->tolerance;
        // What is summed may cancel out: a small result is as exact as its summands are large.
        const bool sums = !op.has_trait(exir::kPointwise) && !op.has_trait(exir::kDataMovement);
        // Whether zeros of the padding meet what they are multiplied with is the kernel's choice,
        // and so is what the mean of infinities is.
        const bool padded = op.op() == "convolution" || op.op().ends_with("_norm");
        const double around = sums ? std::max(magnitude, Magnitude(want)) : 0;
        const std::string difference =
            OwnedValueDifference(want, got,
                                 {.rtol = tolerance.rtol * scale,
                                  .atol = (tolerance.atol + tolerance.rtol * around) * scale,
                                  .bits = false,
                                  .finite_only = padded});
        if (!difference.empty()) {
          return absl::FailedPreconditionError(
              absl::StrCat("the preferred kernel differs from the reference kernel: ", difference,
                           "\n  at ", exir::DescribeNode(program_.top(), event.node)));
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<exir::Operand> ToOperand(const Argument& argument) {
    if (const ValueId* id = argument.get_if<ValueId>()) {
      return exir::Operand::Of(&values_[id->index()]);
    }
    if (const Argument::List* list = argument.get_if<Argument::List>()) {
      std::vector<exir::Operand> elements;
      for (const Argument& element : *list) {
        ABSL_ASSIGN_OR_RETURN(exir::Operand operand, ToOperand(element));
        elements.push_back(std::move(operand));
      }
      return exir::Operand::List(std::move(elements));
    }
    ABSL_ASSIGN_OR_RETURN(exir::MetaValue literal, ToMetaValue(program_.top(), argument));
    return exir::Operand::Literal(std::move(literal));
  }

  const ExportedProgram& program_;
  const KernelRegistry& reference_;
  std::map<uint32_t, OwnedValue> values_;
};

absl::Status CopyState(const exir::Interpreter& interpreter,
                       std::map<std::string, OwnedValue>& state) {
  for (const std::string& name : interpreter.StateNames()) {
    ABSL_ASSIGN_OR_RETURN(const TensorView view, interpreter.GetState(name));
    ABSL_ASSIGN_OR_RETURN(state[name], CopyOf(EValue(view)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RunOutcome>> InterpretWith(const ExportedProgram& program,
                                                      const KernelRegistry& kernels,
                                                      exir::InterpreterOptions options,
                                                      const Runs& runs, KernelCheck* check) {
  if (check != nullptr) {
    options.observer = [check](const exir::NodeEvent& event) { return (*check)(event); };
  }
  ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter,
                        exir::Interpreter::Create(program, kernels, options));
  std::vector<RunOutcome> outcomes;
  for (const std::vector<SampleTensor>& run : runs) {
    ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> inputs, Own(run));
    if (check != nullptr) {
      std::map<std::string, OwnedValue> state;
      ABSL_RETURN_IF_ERROR(CopyState(interpreter, state));
      ABSL_RETURN_IF_ERROR(check->Start(inputs, state));
    }
    std::vector<EValue> values;
    for (const OwnedValue& input : inputs) values.push_back(input.value());
    RunOutcome& outcome = outcomes.emplace_back();
    absl::StatusOr<std::vector<OwnedValue>> outputs = interpreter.Run(values);
    outcome.status = outputs.status();
    if (!outputs.ok()) break;
    outcome.outputs = *std::move(outputs);
    outcome.inputs = std::move(inputs);
    for (const std::string& name : interpreter.StateNames()) {
      ABSL_ASSIGN_OR_RETURN(const TensorView view, interpreter.GetState(name));
      ABSL_ASSIGN_OR_RETURN(outcome.state[name], CopyOf(EValue(view)));
    }
  }
  return outcomes;
}

// --- Comparison ---

template <class T>
bool Close(const T* want, const T* got, Closeness closeness) {
  if (std::memcmp(want, got, sizeof(T)) == 0) return true;
  const double w = Number(*want), g = Number(*got);
  if (closeness.finite_only && !(std::isfinite(w) && std::isfinite(g))) return true;
  if (std::isnan(w) || std::isnan(g)) return std::isnan(w) && std::isnan(g);
  if (closeness.bits) return false;
  return w == g ||
         (std::isfinite(w) && std::abs(w - g) <= closeness.atol + closeness.rtol * std::abs(w));
}

bool CloseElements(DType dtype, const std::byte* want, const std::byte* got, Closeness closeness) {
  const auto as = [&]<class T>(T*) {
    return Close(reinterpret_cast<const T*>(want), reinterpret_cast<const T*>(got), closeness);
  };
  switch (dtype) {
    case DType::kFloat16:
      return as(static_cast<Half*>(nullptr));
    case DType::kBFloat16:
      return as(static_cast<BFloat16*>(nullptr));
    case DType::kFloat32:
      return as(static_cast<float*>(nullptr));
    case DType::kFloat64:
      return as(static_cast<double*>(nullptr));
    case DType::kComplex64:
      return CloseElements(DType::kFloat32, want, got, closeness) &&
             CloseElements(DType::kFloat32, want + 4, got + 4, closeness);
    case DType::kComplex128:
      return CloseElements(DType::kFloat64, want, got, closeness) &&
             CloseElements(DType::kFloat64, want + 8, got + 8, closeness);
    default:
      return std::memcmp(want, got, DTypeSize(dtype)) == 0;
  }
}

std::string ElementText(DType dtype, const std::byte* element) {
  switch (dtype) {
    case DType::kFloat16:
      return absl::StrCat(Number(*reinterpret_cast<const Half*>(element)));
    case DType::kBFloat16:
      return absl::StrCat(Number(*reinterpret_cast<const BFloat16*>(element)));
    case DType::kFloat32:
      return absl::StrCat(*reinterpret_cast<const float*>(element));
    case DType::kFloat64:
      return absl::StrCat(*reinterpret_cast<const double*>(element));
    case DType::kInt64:
      return absl::StrCat(*reinterpret_cast<const int64_t*>(element));
    case DType::kInt32:
      return absl::StrCat(*reinterpret_cast<const int32_t*>(element));
    default: {
      std::string text = "0x";
      for (size_t i = DTypeSize(dtype); i-- > 0;) {
        absl::StrAppend(&text, absl::Hex(std::to_integer<uint8_t>(element[i]), absl::kZeroPad2));
      }
      return text;
    }
  }
}

std::string Differences(const std::vector<OwnedValue>& want, const std::vector<OwnedValue>& got,
                        const std::vector<bool>& unspecified, std::string_view what,
                        Closeness closeness) {
  if (want.size() != got.size()) {
    return absl::StrCat("expected ", want.size(), " ", what, "s, got ", got.size());
  }
  for (size_t i = 0; i < want.size(); ++i) {
    std::string difference;
    if (i < unspecified.size() && unspecified[i]) {
      const TensorView* a = want[i].tensor();
      const TensorView* b = got[i].tensor();
      if (a != nullptr && (b == nullptr || a->dtype != b->dtype || !(a->sizes == b->sizes))) {
        difference = absl::StrCat("expected ", want[i].value().KindName(), ", got ",
                                  got[i].value().KindName());
      }
    } else {
      difference = OwnedValueDifference(want[i], got[i], closeness);
    }
    if (!difference.empty()) return absl::StrCat(what, " ", i, ": ", difference);
  }
  return "";
}

}  // namespace

absl::StatusOr<std::vector<RunOutcome>> Interpret(const ExportedProgram& program,
                                                  const KernelRegistry& kernels,
                                                  const exir::InterpreterOptions& options,
                                                  const Runs& runs) {
  return InterpretWith(program, kernels, options, runs, nullptr);
}

absl::StatusOr<std::vector<RunOutcome>> InterpretAndCheckKernels(const ExportedProgram& program,
                                                                 const KernelRegistry& kernels,
                                                                 const KernelRegistry& reference,
                                                                 const Runs& runs) {
  KernelCheck check(program, reference);
  exir::InterpreterOptions options;
  options.engine = std::nullopt;
  return InterpretWith(program, kernels, std::move(options), runs, &check);
}

absl::StatusOr<Program> LowerEdgeProgram(const ExportedProgram& edge) {
  exir::MethodPrograms methods;
  methods.emplace_back("forward", edge.Clone());
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods, {}));
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram serialized, exir::SerializeProgram(image));
  const auto bytes = std::make_shared<const std::string>(serialized.ToString());
  return Program::OpenBytes(
      bytes, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()),
      Program::Options());
}

absl::StatusOr<std::vector<RunOutcome>> Execute(const Program& program,
                                                const KernelRegistry& kernels, const Runs& runs) {
  const BackendRegistry backends;
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(program, "forward", kernels, backends));
  std::vector<RunOutcome> outcomes;
  for (const std::vector<SampleTensor>& run : runs) {
    ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> inputs, Own(run));
    RunOutcome& outcome = outcomes.emplace_back();
    for (size_t i = 0; i < inputs.size() && outcome.status.ok(); ++i) {
      outcome.status = method.SetInput(i, inputs[i].value());
    }
    if (outcome.status.ok()) outcome.status = method.Execute();
    if (!outcome.status.ok()) break;
    for (size_t i = 0; i < method.num_outputs(); ++i) {
      ABSL_ASSIGN_OR_RETURN(OwnedValue output, CopyOf(method.GetOutput(i)));
      outcome.outputs.push_back(std::move(output));
    }
    outcome.inputs = std::move(inputs);
    for (const StatePlan& state : method.plan().state) {
      ABSL_ASSIGN_OR_RETURN(const TensorView view, method.GetState(state.name));
      ABSL_ASSIGN_OR_RETURN(outcome.state[state.name], CopyOf(EValue(view)));
    }
  }
  return outcomes;
}

std::string OwnedValueDifference(const OwnedValue& want, const OwnedValue& got,
                                 Closeness closeness) {
  const TensorView* a = want.tensor();
  const TensorView* b = got.tensor();
  const std::string kinds =
      absl::StrCat("expected ", want.value().KindName(), ", got ", got.value().KindName());
  if (a == nullptr || b == nullptr) {
    if (a != nullptr || b != nullptr) return kinds;
    const EValue& v = want.value();
    const EValue& w = got.value();
    const auto same = [](const auto* x, const auto* y) {
      return x != nullptr && y != nullptr && (*x == *y || (*x != *x && *y != *y));
    };
    if ((v.is_none() && w.is_none()) || same(v.get_if<int64_t>(), w.get_if<int64_t>()) ||
        same(v.get_if<bool>(), w.get_if<bool>()) || same(v.get_if<double>(), w.get_if<double>()) ||
        same(v.get_if<std::complex<double>>(), w.get_if<std::complex<double>>())) {
      return "";
    }
    return absl::StrCat(kinds, " of another value");
  }
  if (a->dtype != b->dtype || !(a->sizes == b->sizes)) return kinds;
  const int64_t size = static_cast<int64_t>(DTypeSize(a->dtype));
  int64_t index = 0;
  for (StridedIterator<2> it(a->sizes, {a->strides, b->strides}); !it.done(); it.Next(), ++index) {
    const std::byte* x = static_cast<const std::byte*>(a->data) + it.offset(0) * size;
    const std::byte* y = static_cast<const std::byte*>(b->data) + it.offset(1) * size;
    if (CloseElements(a->dtype, x, y, closeness)) continue;
    return absl::StrCat(a->ToString(), ", element ", index, ": expected ", ElementText(a->dtype, x),
                        ", got ", ElementText(a->dtype, y));
  }
  return "";
}

std::string FirstDifference(absl::Span<const RunOutcome> want, absl::Span<const RunOutcome> got,
                            const std::vector<bool>& unspecified, Closeness closeness) {
  for (size_t k = 0; k < want.size() || k < got.size(); ++k) {
    const std::string call = absl::StrCat("call ", k, ": ");
    if (k >= want.size() || k >= got.size() || want[k].status.ok() != got[k].status.ok()) {
      const auto text = [&](absl::Span<const RunOutcome> side) {
        return k < side.size() ? side[k].status.ToString() : std::string("no call");
      };
      return absl::StrCat(call, "expected ", text(want), ", got ", text(got));
    }
    if (!want[k].status.ok()) return "";
    std::string difference =
        Differences(want[k].outputs, got[k].outputs, unspecified, "output", closeness);
    if (difference.empty()) {
      difference = Differences(want[k].inputs, got[k].inputs, {}, "input", closeness);
    }
    for (const auto& [name, datum] : want[k].state) {
      if (!difference.empty()) break;
      const auto it = got[k].state.find(name);
      if (it == got[k].state.end()) continue;
      difference = OwnedValueDifference(datum, it->second, closeness);
      if (!difference.empty()) difference = absl::StrCat("state ", name, ": ", difference);
    }
    if (!difference.empty()) return call + difference;
  }
  return "";
}

}  // namespace belay::conformance
