#include "fuzz/oracles/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/random.h"
#include "runtime/core/arena.h"
#include "runtime/core/element.h"
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
constexpr uint64_t kMaxBytes = 1 << 20;

absl::Status Annotate(const absl::Status& status, std::string_view what) {
  if (status.ok()) return status;
  return absl::Status(absl::StatusCode::kInternal, absl::StrCat(what, ": ", status.ToString()));
}

// The same for every engine, in memory of its own, since programs may write to inputs.
absl::StatusOr<std::vector<OwnedValue>> MakeInputs(const ExportedProgram& program, uint64_t seed) {
  Random random(seed);
  const auto rows = static_cast<int64_t>(1 + random.Below(5));
  std::vector<OwnedValue> inputs;
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    if (program.signature.inputs[i].kind != exir::InputKind::kUserInput) continue;
    const exir::TensorMeta* meta = program.top().value(program.top().inputs()[i]).tensor();
    if (meta == nullptr) return absl::InvalidArgumentError("an input that is no tensor");
    Sizes sizes;
    for (const exir::SymInt& size : meta->sizes) sizes.push_back(size.AsInt().value_or(rows));
    ABSL_ASSIGN_OR_RETURN(
        OwnedValue datum,
        OwnedValue::Allocate(meta->dtype, sizes, ContiguousStrides(sizes), kMaxBytes));
    for (int64_t k = 0; k < datum.tensor()->numel(); ++k) {
      const auto number = static_cast<double>(random.Below(33)) / 8 - 2;
      DispatchDType<kRealTypes>(meta->dtype, [&](auto tag) {
        datum.tensor()->as<CppType<tag.value>>()[k] = ConvertElement<CppType<tag.value>>(number);
      });
    }
    inputs.push_back(std::move(datum));
  }
  return inputs;
}

std::vector<EValue> Values(const std::vector<OwnedValue>& data) {
  std::vector<EValue> values;
  for (const OwnedValue& datum : data) values.push_back(datum.value());
  return values;
}

// What one call left behind.
struct Outcome {
  std::vector<OwnedValue> results;
  std::vector<OwnedValue> inputs;
  std::vector<std::pair<std::string, OwnedValue>> state;
};

absl::StatusOr<OwnedValue> CopyOf(const EValue& value) {
  const auto* tensor = value.get_if<TensorView>();
  return tensor == nullptr ? OwnedValue::Scalar(value) : OwnedValue::Borrow(*tensor, false).Copy();
}

struct Reference {
  std::vector<Outcome> calls;
  std::vector<std::string> state_names;
  double largest = 1;    // of all intermediate values
  bool decides = false;  // somewhere a rounding error may change what is computed
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
      // Infinities and NaN make the bound infinite: what comes of them later depends on rounding.
      reference.largest = std::isfinite(value) ? std::max(reference.largest, value) : INFINITY;
    }
  }
}

absl::StatusOr<Reference> Interpret(const ExportedProgram& program, const KernelRegistry& kernels,
                                    uint64_t seed) {
  Reference reference;
  exir::InterpreterOptions options;
  options.observer = [&](const exir::NodeEvent& event) {
    Observe(event, reference);
    return absl::OkStatus();
  };
  ABSL_ASSIGN_OR_RETURN(Interpreter interpreter,
                        Interpreter::Create(program, kernels, std::move(options)));
  reference.state_names = interpreter.StateNames();
  for (int call = 0; call < kCalls; ++call) {
    Outcome outcome;
    ABSL_ASSIGN_OR_RETURN(outcome.inputs, MakeInputs(program, seed + static_cast<uint64_t>(call)));
    ABSL_ASSIGN_OR_RETURN(outcome.results, interpreter.Run(Values(outcome.inputs)));
    for (const std::string& name : reference.state_names) {
      ABSL_ASSIGN_OR_RETURN(const TensorView view, interpreter.GetState(name));
      ABSL_ASSIGN_OR_RETURN(OwnedValue copy, CopyOf(view));
      outcome.state.emplace_back(name, std::move(copy));
    }
    reference.calls.push_back(std::move(outcome));
  }
  return reference;
}

absl::StatusOr<std::vector<Outcome>> RunLowered(const ExportedProgram& program,
                                                const KernelRegistry& kernels,
                                                const exir::Partitioner* partitioner,
                                                const Reference& reference, uint64_t seed) {
  exir::MethodPrograms methods;
  methods.emplace_back("forward", program.Clone());
  if (partitioner != nullptr) {
    ABSL_ASSIGN_OR_RETURN(methods,
                          exir::ToBackend(methods, {{"forward", partitioner}}, AotBackends(), {}));
  }
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods));
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram serialized, exir::SerializeProgram(image));
  const std::string file = serialized.ToString();
  ABSL_ASSIGN_OR_RETURN(const AlignedBuffer bytes, AlignedBuffer::Create(file.size()));
  std::memcpy(bytes.data(), file.data(), file.size());
  ABSL_ASSIGN_OR_RETURN(const Program opened,
                        Program::OpenBytes(nullptr, bytes.span(), Program::Options()));
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(opened, "forward", kernels, RuntimeBackends()));
  std::vector<Outcome> calls;
  for (int call = 0; call < kCalls; ++call) {
    Outcome outcome;
    ABSL_ASSIGN_OR_RETURN(outcome.inputs, MakeInputs(program, seed + static_cast<uint64_t>(call)));
    if (outcome.inputs.size() != method.num_inputs()) {
      return absl::InternalError(absl::StrCat("the method has ", method.num_inputs(),
                                              " inputs, the program ", outcome.inputs.size()));
    }
    for (size_t i = 0; i < outcome.inputs.size(); ++i) {
      ABSL_RETURN_IF_ERROR(method.SetInput(i, outcome.inputs[i].value()));
    }
    ABSL_RETURN_IF_ERROR(method.Execute());
    for (size_t i = 0; i < method.num_outputs(); ++i) {
      ABSL_ASSIGN_OR_RETURN(OwnedValue copy, CopyOf(method.GetOutput(i)));
      outcome.results.push_back(std::move(copy));
    }
    for (const std::string& name : reference.state_names) {
      const absl::StatusOr<TensorView> view = method.GetState(name);
      if (!view.ok()) continue;  // a delegate owns it
      ABSL_ASSIGN_OR_RETURN(OwnedValue copy, CopyOf(*view));
      outcome.state.emplace_back(name, std::move(copy));
    }
    calls.push_back(std::move(outcome));
  }
  return calls;
}

bool SameBits(const TensorView& a, const TensorView& b) {
  const auto size = static_cast<int64_t>(DTypeSize(a.dtype));
  for (StridedIterator<2> it(a.sizes, {a.strides, b.strides}); !it.done(); it.Next()) {
    if (std::memcmp(a.as<std::byte>() + it.offset(0) * size,
                    b.as<std::byte>() + it.offset(1) * size, static_cast<size_t>(size)) != 0) {
      return false;
    }
  }
  return true;
}

// `bound`: how far floats may be apart; 0: not at all; nullopt: dtype and sizes matter only.
absl::Status Compare(const EValue& want, const EValue& got, std::optional<double> bound) {
  const auto *a = want.get_if<TensorView>(), *b = got.get_if<TensorView>();
  if (a == nullptr || b == nullptr) {
    const auto *i = want.get_if<int64_t>(), *k = got.get_if<int64_t>();
    const bool equal = i != nullptr && k != nullptr ? *i == *k : want.KindName() == got.KindName();
    if (equal) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("expected ", want.KindName(), ", got ", got.KindName()));
  }
  if (a->dtype != b->dtype || !(a->sizes == b->sizes)) {
    return absl::InternalError(absl::StrCat("expected ", a->ToString(), ", got ", b->ToString()));
  }
  if (!bound.has_value()) return absl::OkStatus();
  if (*bound == 0) {
    return SameBits(*a, *b) ? absl::OkStatus() : absl::InternalError("other elements");
  }
  if (a->dtype != DType::kFloat32) return absl::OkStatus();
  for (StridedIterator<2> it(a->sizes, {a->strides, b->strides}); !it.done(); it.Next()) {
    const float x = a->as<float>()[it.offset(0)], y = b->as<float>()[it.offset(1)];
    if (std::abs(static_cast<double>(x) - y) > *bound || std::isnan(x) != std::isnan(y)) {
      return absl::InternalError(absl::StrCat("expected ", x, ", got ", y, ", allowed ", *bound));
    }
  }
  return absl::OkStatus();
}

absl::Status CompareCalls(const Reference& want, const std::vector<Outcome>& got,
                          std::optional<double> bound) {
  for (size_t call = 0; call < got.size(); ++call) {
    const Outcome &a = want.calls[call], &b = got[call];
    if (a.results.size() != b.results.size()) {
      return absl::InternalError(
          absl::StrCat("expected ", a.results.size(), " results, got ", b.results.size()));
    }
    const auto compare = [&](std::string_view what, const OwnedValue& x, const OwnedValue& y) {
      return Annotate(Compare(x.value(), y.value(), bound),
                      absl::StrCat("call ", call, ": ", what));
    };
    for (size_t i = 0; i < a.results.size(); ++i) {
      ABSL_RETURN_IF_ERROR(compare(absl::StrCat("result ", i), a.results[i], b.results[i]));
    }
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      ABSL_RETURN_IF_ERROR(compare(absl::StrCat("input ", i), a.inputs[i], b.inputs[i]));
    }
    for (const auto& [name, value] : b.state) {
      const auto found = std::find_if(a.state.begin(), a.state.end(),
                                      [&](const auto& s) { return s.first == name; });
      if (found == a.state.end()) continue;
      ABSL_RETURN_IF_ERROR(compare(absl::StrCat("state '", name, "'"), found->second, value));
    }
  }
  return absl::OkStatus();
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
  const absl::StatusOr<Reference> want = Interpret(program, reference_, seed);
  if (!want.ok()) return violated("interpreter", want.status());
  // A rounding error of a few ULP in one factor is multiplied by the others.
  const double largest = want->largest;
  std::optional<double> bound;
  if (!want->decides && std::isfinite(largest)) bound = 1e-5 * largest * largest;
  const auto check = [&](std::string_view engine, const KernelRegistry& kernels,
                         const exir::Partitioner* partitioner,
                         std::optional<double> allowed) -> absl::Status {
    const absl::StatusOr<std::vector<Outcome>> got =
        RunLowered(program, kernels, partitioner, *want, seed);
    if (!got.ok()) return violated(engine, got.status());
    const absl::Status same = CompareCalls(*want, *got, allowed);
    return same.ok() ? same : violated(engine, same);
  };
  ABSL_RETURN_IF_ERROR(check("runtime, reference kernels", reference_, nullptr, 0.0));
  ABSL_RETURN_IF_ERROR(check("runtime", preferred_, nullptr, bound));
  for (const std::string_view backend : AotBackendNames()) {
    ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<exir::Partitioner> partitioner,
                          CreatePartitioner(backend, {}));
    ABSL_RETURN_IF_ERROR(
        check(absl::StrCat("backend ", backend), preferred_, partitioner.get(), bound));
  }
  return absl::OkStatus();
}

}  // namespace belay::fuzz
