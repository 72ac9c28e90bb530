#include "conformance/differential/kernel_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "exir/interpreter/interpreter.h"
#include "exir/interpreter/operator_call.h"
#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::OwnedValue;
using exir::ValueId;

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

// Returns the largest finite absolute value; 0 if the value is not a floating-point tensor.
double Magnitude(const OwnedValue& value) {
  const TensorView* view = value.tensor();
  double largest = 0;
  if (view == nullptr) return largest;
  DispatchDType<kFloatTypes>(view->dtype, [&](auto tag) {
    for (StridedIterator<1> it(view->sizes, {view->strides}); !it.done(); it.Next()) {
      const auto element = ConvertElement<double>(view->as<CppType<tag.value>>()[it.offset(0)]);
      if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
    }
  });
  return largest;
}

// Observes an interpretation and repeats each operator of the top graph with the reference kernel.
class KernelCheck {
 public:
  KernelCheck(const ExportedProgram& program, const KernelRegistry& reference)
      : program_(program), reference_(reference) {}

  // Called before each call: the program reads the interpreter's state.
  absl::Status Start(const std::vector<OwnedValue>& user_inputs,
                     const exir::Interpreter& interpreter) {
    values_.clear();
    std::map<std::string, OwnedValue> state;
    for (const std::string& name : interpreter.StateNames()) {
      ABSL_ASSIGN_OR_RETURN(const TensorView view, interpreter.GetState(name));
      ABSL_ASSIGN_OR_RETURN(state[name], OwnedValue::Borrow(view, /*writable=*/false).Copy());
    }
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
            tensor == nullptr ? 0 : EpsilonOf(tensor->dtype) / EpsilonOf(DType::kFloat32);
        const exir::Tolerance& tolerance = op.def()->tolerance;
        // Terms of a sum may cancel: the error of a small result scales with its terms.
        const bool sums = !op.has_trait(exir::kPointwise) && !op.has_trait(exir::kDataMovement);
        // It is up to the kernel whether padding zeros are multiplied (0 * inf is NaN), and what
        // the mean of infinities is. In Fourier transforms of infinities, the order of the sums
        // decides between infinity and NaN. In attention, values of hidden keys may be multiplied by
        // weights of 0.
        const bool padded = op.op() == "convolution" || op.op().ends_with("_norm") ||
                            op.op().starts_with("_fft") ||
                            op.op().find("sdpa") != std::string_view::npos;
        const double around = sums ? std::max(magnitude, Magnitude(want)) : 0;
        const absl::Status status =
            exir::CompareValues(want.value(), got.value(),
                                {.atol = (tolerance.atol + tolerance.rtol * around) * scale,
                                 .rtol = tolerance.rtol * scale,
                                 .finite_only = padded});
        if (!status.ok()) {
          return absl::FailedPreconditionError(absl::StrCat(
              "the preferred kernel differs from the reference kernel: ", status.message(),
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

}  // namespace

absl::StatusOr<std::vector<exir::CallOutcome>> InterpretAndCheckKernels(
    const ExportedProgram& program, const KernelRegistry& kernels, const KernelRegistry& reference,
    const exir::CallSequence& calls) {
  KernelCheck check(program, reference);
  exir::InterpreterOptions options;
  options.engine = std::nullopt;
  options.observer = [&check](const exir::NodeEvent& event) { return check(event); };
  ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter,
                        exir::Interpreter::Create(program, kernels, options));
  std::vector<exir::CallOutcome> outcomes;
  for (const std::vector<OwnedValue>& inputs : calls) {
    ABSL_RETURN_IF_ERROR(check.Start(inputs, interpreter));
    outcomes.push_back(exir::RunCall(interpreter, exir::ValuesOf(inputs)));
    if (!outcomes.back().status.ok()) break;
  }
  return outcomes;
}

}  // namespace belay::conformance
