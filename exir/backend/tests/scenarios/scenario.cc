#include "exir/backend/tests/scenarios/scenario.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

const OpRegistry& StandardOps() {
  static const OpRegistry* const ops = [] {
    auto created = CreateStandardOps();
    ABSL_CHECK(created.ok());
    return created->release();
  }();
  return *ops;
}

std::string OpName(const OpOverload& op) { return op.name(); }

// Returns the operators of all graphs, in order of their ids.
std::vector<std::string> OpNames(const ExportedProgram& program) {
  std::vector<std::string> names;
  for (const Graph& graph : program.graphs) {
    for (NodeId node : graph.nodes()) names.push_back(OpName(*graph.node(node).target));
  }
  return names;
}

std::string Join(const std::vector<std::string>& strings) {
  std::string joined;
  for (const std::string& text : strings) {
    absl::StrAppend(&joined, joined.empty() ? "" : ",", text);
  }
  return joined;
}

class OpsBackend final : public Backend {
 public:
  std::string_view id() const override { return "recorder"; }
  absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram program,
                                              absl::Span<const CompileSpec>) const override {
    return PreprocessResult{.processed = TextStorage(Join(OpNames(program)))};
  }
};

class TotalBackend final : public Backend {
 public:
  explicit TotalBackend(std::string id) : id_(std::move(id)) {}
  std::string_view id() const override { return id_; }
  absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram,
                                              absl::Span<const CompileSpec>) const override {
    return absl::UnimplementedError("only all methods together");
  }
  absl::StatusOr<MethodResults> PreprocessMultimethod(MethodPartitions methods,
                                                      int) const override {
    size_t total = 0;
    for (const auto& [name, partitions] : methods) {
      for (const PartitionInput& partition : partitions) total += OpNames(partition.program).size();
    }
    MethodResults results;
    for (const auto& [name, partitions] : methods) {
      std::vector<PreprocessResult> done;
      for (const PartitionInput& partition : partitions) {
        std::string text;
        const Graph& graph = partition.program.top();
        for (size_t i = 0; i < graph.inputs().size(); ++i) {
          if (!NamesTensor(partition.program.signature.inputs[i].kind)) continue;
          absl::StrAppend(&text, "CONST", graph.value(graph.inputs()[i]).name, ":");
        }
        absl::StrAppend(&text, id_, "#", total, "#", Join(OpNames(partition.program)), "#");
        for (const CompileSpec& spec : partition.compile_specs) {
          absl::StrAppend(&text, spec.key, "=", spec.value, ";");
        }
        done.push_back({.processed = TextStorage(text)});
      }
      results.emplace_back(name, std::move(done));
    }
    return results;
  }

 private:
  std::string id_;
};

// Replaces the zeros that the parser gives constants, with which many wrong programs compute the
// right result. Fills each storage with nonzero distinct numbers; tensors that share a storage
// still share it.
void FillConstants(ExportedProgram& program) {
  std::map<const std::byte*, Storage> filled;  // by the zeros' address
  int number = 0;
  for (ConstantMap* constants : {&program.state_dict, &program.constants}) {
    for (auto& [name, tensor] : *constants) {
      ASSERT_EQ(tensor.dtype(), DType::kFloat32) << name;
      Storage& storage = filled[tensor.storage().bytes.data()];
      if (storage.owner == nullptr) {
        std::vector<float> numbers(tensor.storage().bytes.size() / sizeof(float));
        for (float& x : numbers) {
          ++number;
          x = 0.125f * static_cast<float>(number % 2 == 0 ? -number : number);
        }
        std::vector<std::byte> bytes(numbers.size() * sizeof(float));
        if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
        storage = Storage::Own(std::move(bytes));
      }
      ASSERT_OK_AND_ASSIGN(tensor,
                           ConstantTensor::Create(tensor.dtype(), tensor.sizes(), tensor.strides(),
                                                  tensor.storage_offset(), storage));
    }
  }
}

// Creates an input value, different for each input and call.
struct Input {
  std::optional<TestTensor> tensor;
  EValue value;
};
Input MakeInput(const ValueType& type, size_t index, int call) {
  const auto size_of = [](const SymInt& size) { return size.AsInt().value_or(3); };
  Input input;
  if (const TensorMeta* meta = std::get_if<TensorMeta>(&type)) {
    Sizes sizes;
    for (const SymInt& size : meta->sizes) sizes.push_back(size_of(size));
    input.tensor = TestTensor::Zeros(meta->dtype, sizes);
    const TensorView view = input.tensor->view();
    for (int64_t i = 0; i < view.numel(); ++i) {
      const int64_t number = (7 * i + 3 * static_cast<int64_t>(index) + 5 * call) % 11 - 5;
      switch (meta->dtype) {
        case DType::kFloat32:
          view.as<float>()[i] = 0.25f * static_cast<float>(number);
          break;
        case DType::kInt64:
          view.as<int64_t>()[i] = number;
          break;
        case DType::kBool:
          view.as<bool>()[i] = call % 2 == 0;
          break;
        default:
          ADD_FAILURE() << "no inputs of dtype " << DTypeName(meta->dtype);
      }
    }
    input.value = EValue(view);
  } else if (std::holds_alternative<SymIntType>(type)) {
    input.value = EValue(int64_t{3});
  } else if (std::holds_alternative<SymBoolType>(type)) {
    input.value = EValue(call % 2 == 0);
  }
  return input;
}

// Returns the elements of a value.
std::vector<double> Numbers(const EValue& value) {
  if (const int64_t* number = value.get_if<int64_t>()) return {static_cast<double>(*number)};
  if (const double* number = value.get_if<double>()) return {*number};
  if (const bool* number = value.get_if<bool>()) return {*number ? 1.0 : 0.0};
  const TensorView* tensor = value.get_if<TensorView>();
  if (tensor == nullptr) return {};
  const auto read = [&](auto zero) {
    const auto elements = ToVector<decltype(zero)>(*tensor);
    return std::vector<double>(elements.begin(), elements.end());
  };
  switch (tensor->dtype) {
    case DType::kFloat32:
      return read(float{});
    case DType::kInt64:
      return read(int64_t{});
    case DType::kBool:
      return read(bool{});
    default:
      ADD_FAILURE() << "no results of dtype " << DTypeName(tensor->dtype);
      return {};
  }
}

void ExpectSame(const EValue& expected, const EValue& actual) {
  ASSERT_EQ(std::string(expected.KindName()), std::string(actual.KindName()));
  if (const TensorView* tensor = expected.get_if<TensorView>()) {
    ASSERT_EQ(tensor->dtype, actual.get_if<TensorView>()->dtype);
    ASSERT_TRUE(tensor->sizes == actual.get_if<TensorView>()->sizes);
  }
  EXPECT_EQ(Numbers(expected), Numbers(actual));
}

}  // namespace

ScenarioTest::ScenarioTest()
    : ops_(&StandardOps()),
      recorder_(std::make_unique<OpsBackend>()),
      first_(std::make_unique<TotalBackend>("first")),
      second_(std::make_unique<TotalBackend>("second")) {
  EXPECT_OK(AddReferenceKernels(kernels_));
  for (const Backend* backend : {recorder_.get(), first_.get(), second_.get()}) {
    EXPECT_OK(backends_.Add(backend));
  }
}

ExportedProgram ScenarioTest::Parse(std::string_view text) const {
  ExportedProgram program = ParseOrDie(text, *ops_);
  FillConstants(program);
  EXPECT_OK(Verify(program));
  return program;
}

absl::StatusOr<ExportedProgram> ScenarioTest::LowerTagged(
    const ExportedProgram& program,
    std::vector<std::pair<std::string, DelegationSpec>> delegation) const {
  TextPartitioner partitioner;
  partitioner.tag_constants = true;
  partitioner.delegation = std::move(delegation);
  return ToBackend(program, partitioner, backends_);
}

absl::StatusOr<ExportedProgram> ScenarioTest::LowerOps(const ExportedProgram& program,
                                                       std::vector<std::string> ops,
                                                       std::string backend) const {
  CapabilityPartitionerOptions options;
  options.tag_mutated_buffers = true;
  return ToBackend(program,
                   CapabilityPartitioner({std::move(backend), {}}, SupportOps(std::move(ops)),
                                         std::move(options)),
                   backends_);
}

void ScenarioTest::ExpectSameResults(const ExportedProgram& expected, const ExportedProgram& actual,
                                     int calls) const {
  ASSERT_OK(Verify(actual));
  ASSERT_OK_AND_ASSIGN(Interpreter original, Interpreter::Create(expected, kernels_));
  ASSERT_OK_AND_ASSIGN(Interpreter lowered, Interpreter::Create(actual, kernels_));
  std::vector<double> numbers;  // of all results
  for (int call = 0; call < calls; ++call) {
    SCOPED_TRACE(call);
    std::vector<Input> inputs[2];
    std::vector<EValue> values[2];
    for (int side = 0; side < 2; ++side) {
      for (size_t i = 0; i < expected.signature.inputs.size(); ++i) {
        if (expected.signature.inputs[i].kind != InputKind::kUserInput) continue;
        inputs[side].push_back(
            MakeInput(expected.top().value(expected.top().inputs()[i]).type, i, call));
        values[side].push_back(inputs[side].back().value);
      }
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<OwnedValue> a, original.Run(values[0]));
    ASSERT_OK_AND_ASSIGN(const std::vector<OwnedValue> b, lowered.Run(values[1]));
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ExpectSame(a[i].value(), b[i].value());
      const std::vector<double> more = Numbers(a[i].value());
      numbers.insert(numbers.end(), more.begin(), more.end());
    }
    // Mutated inputs and state, in the program or in a delegate.
    for (size_t i = 0; i < values[0].size(); ++i) ExpectSame(values[0][i], values[1][i]);
    for (const std::string& name : original.StateNames()) {
      ASSERT_OK_AND_ASSIGN(const TensorView state, original.GetState(name));
      ASSERT_OK_AND_ASSIGN(const TensorView other, lowered.GetState(name));
      ExpectSame(EValue(state), EValue(other));
    }
  }
  const auto is_zero = [](double number) { return number == 0; };
  EXPECT_FALSE(!numbers.empty() && std::all_of(numbers.begin(), numbers.end(), is_zero))
      << "zeros were compared with zeros";
}

std::vector<std::string> ScenarioTest::OpsOf(const ExportedProgram& program, GraphId graph) {
  std::vector<std::string> names;
  const Graph& g = program.graphs[graph];
  for (NodeId node : g.nodes()) {
    const OpOverload* target = g.node(node).target;
    names.push_back(target == program.ops->CallDelegate() ? "delegate" : OpName(*target));
  }
  return names;
}

std::vector<std::string> ScenarioTest::Payloads(const ExportedProgram& program) {
  std::vector<std::string> payloads;
  for (const DelegateCall& call : DelegateCalls(program)) {
    payloads.push_back(TextOf(call.module->processed));
  }
  return payloads;
}

size_t ScenarioTest::CountParameters(const ExportedProgram& program) {
  return std::count_if(program.signature.inputs.begin(), program.signature.inputs.end(),
                       [](const InputSpec& spec) { return spec.kind == InputKind::kParameter; });
}

size_t ScenarioTest::CountOtherConstants(const ExportedProgram& program) {
  return std::count_if(program.signature.inputs.begin(), program.signature.inputs.end(),
                       [](const InputSpec& spec) {
                         return NamesTensor(spec.kind) && spec.kind != InputKind::kParameter;
                       });
}

size_t ScenarioTest::CountMutations(const ExportedProgram& program) {
  return std::count_if(program.signature.outputs.begin(), program.signature.outputs.end(),
                       [](const OutputSpec& spec) { return IsMutation(spec.kind); });
}

}  // namespace belay::exir
