#include "exir/compare/call.h"

#include <memory>
#include <string_view>
#include <utility>

#include "exir/serialize/serializer.h"
#include "runtime/core/bytes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

absl::StatusOr<OwnedValue> CopyOf(const EValue& value) {
  if (const auto* tensor = value.get_if<TensorView>()) {
    return OwnedValue::Borrow(*tensor, /*writable=*/true).Copy();
  }
  if (const auto* text = value.get_if<std::string_view>()) return OwnedValue::String(*text);
  return OwnedValue::Scalar(value);
}

absl::StatusOr<std::vector<OwnedValue>> CopyOf(absl::Span<const EValue> values) {
  std::vector<OwnedValue> copies;
  for (const EValue& value : values) {
    ABSL_ASSIGN_OR_RETURN(OwnedValue copy, CopyOf(value));
    copies.push_back(std::move(copy));
  }
  return copies;
}

absl::StatusOr<std::vector<OwnedValue>> Run(Interpreter& interpreter,
                                            const std::vector<OwnedValue>& inputs) {
  return interpreter.Run(ValuesOf(inputs));
}
std::vector<std::string> StateNames(const Interpreter& interpreter) {
  return interpreter.StateNames();
}

absl::StatusOr<std::vector<OwnedValue>> Run(Method& method, const std::vector<OwnedValue>& inputs) {
  if (inputs.size() != method.num_inputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", method.num_inputs(), " inputs, got ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    ABSL_RETURN_IF_ERROR(method.SetInput(i, inputs[i].value()));
  }
  ABSL_RETURN_IF_ERROR(method.Execute());
  std::vector<EValue> outputs;
  for (size_t i = 0; i < method.num_outputs(); ++i) outputs.push_back(method.GetOutput(i));
  return CopyOf(outputs);
}
std::vector<std::string> StateNames(const Method& method) {
  std::vector<std::string> names;
  for (const StatePlan& state : method.plan().state) names.emplace_back(state.name);
  return names;
}

template <class Engine>
absl::Status FillOutcome(Engine& engine, absl::Span<const EValue> inputs, CallOutcome& outcome) {
  ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> written, CopyOf(inputs));
  ABSL_ASSIGN_OR_RETURN(outcome.outputs, Run(engine, written));
  outcome.inputs = std::move(written);
  for (const std::string& name : StateNames(engine)) {
    ABSL_ASSIGN_OR_RETURN(const TensorView view, engine.GetState(name));
    ABSL_ASSIGN_OR_RETURN(outcome.state[name], CopyOf(EValue(view)));
  }
  return absl::OkStatus();
}

template <class Engine>
CallOutcome OutcomeOf(Engine& engine, absl::Span<const EValue> inputs) {
  CallOutcome outcome;
  const absl::Status status = FillOutcome(engine, inputs, outcome);
  if (status.ok()) return outcome;
  CallOutcome failed;
  failed.status = status;
  return failed;
}

}  // namespace

absl::StatusOr<Program> OpenImage(const ProgramImage& image) {
  ABSL_ASSIGN_OR_RETURN(const SerializedProgram serialized, SerializeProgram(image));
  const auto bytes = std::make_shared<const std::string>(serialized.ToString());
  return Program::OpenBytes(bytes, AsBytes(*bytes), Program::Options());
}

CallOutcome RunCall(Interpreter& interpreter, absl::Span<const EValue> inputs) {
  return OutcomeOf(interpreter, inputs);
}
CallOutcome RunCall(Method& method, absl::Span<const EValue> inputs) {
  return OutcomeOf(method, inputs);
}

std::vector<EValue> ValuesOf(const std::vector<OwnedValue>& owned) {
  std::vector<EValue> values;
  for (const OwnedValue& value : owned) values.push_back(value.value());
  return values;
}

std::vector<CallDifference> CompareCalls(const CallOutcome& want, const CallOutcome& got,
                                         const CallCloseness& closeness) {
  std::vector<CallDifference> differences;
  const auto compare = [&](std::string where, const OwnedValue& a, const OwnedValue& b,
                           const auto& rows, const auto& key) {
    const auto row = rows.find(key);
    const absl::Status status =
        CompareValues(a.value(), b.value(), row == rows.end() ? closeness.others : row->second);
    if (!status.ok()) differences.push_back({std::move(where), std::string(status.message())});
  };
  if (want.outputs.size() != got.outputs.size()) {
    differences.push_back(
        {"outputs", absl::StrCat("expected ", want.outputs.size(), ", got ", got.outputs.size())});
    return differences;
  }
  for (size_t i = 0; i < want.outputs.size(); ++i) {
    compare(absl::StrCat("output ", i), want.outputs[i], got.outputs[i], closeness.outputs, i);
  }
  for (size_t i = 0; i < want.inputs.size() && i < got.inputs.size(); ++i) {
    compare(absl::StrCat("input ", i, " afterwards"), want.inputs[i], got.inputs[i],
            closeness.inputs, i);
  }
  for (const auto& [name, value] : want.state) {
    const auto other = got.state.find(name);
    if (other == got.state.end()) continue;
    compare(absl::StrCat("state '", name, "'"), value, other->second, closeness.state, name);
  }
  return differences;
}

std::string FirstDifference(absl::Span<const CallOutcome> want, absl::Span<const CallOutcome> got,
                            const CallCloseness& closeness) {
  for (size_t k = 0; k < want.size() || k < got.size(); ++k) {
    const std::string call = absl::StrCat("call ", k, ": ");
    if (k >= want.size() || k >= got.size() || want[k].status.ok() != got[k].status.ok()) {
      const auto text = [&](absl::Span<const CallOutcome> side) {
        return k < side.size() ? side[k].status.ToString() : std::string("no call");
      };
      return absl::StrCat(call, "expected ", text(want), ", got ", text(got));
    }
    if (!want[k].status.ok()) return "";
    const std::vector<CallDifference> differences = CompareCalls(want[k], got[k], closeness);
    if (!differences.empty()) {
      return absl::StrCat(call, differences[0].where, ": ", differences[0].difference);
    }
  }
  return "";
}

}  // namespace belay::exir
