#include "exir/backend/tests/scenarios/scenario.h"

#include <algorithm>
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

// The operators of all graphs, in order of their ids.
std::vector<std::string> OpNames(const ExportedProgram& program) {
  std::vector<std::string> names;
  for (const Graph& graph : program.graphs) {
    for (NodeId node : graph.nodes()) names.push_back(OpName(*graph.node(node).target));
  }
  return names;
}

std::string Join(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) {
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

// A value for an input, different for each input and call.
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

void ExpectSame(const EValue& expected, const EValue& came) {
  const TensorView* a = expected.get_if<TensorView>();
  const TensorView* b = came.get_if<TensorView>();
  ASSERT_EQ(a == nullptr, b == nullptr);
  if (a == nullptr) {
    const auto same = [&](auto zero) {
      using T = decltype(zero);
      const T* x = expected.get_if<T>();
      const T* y = came.get_if<T>();
      ASSERT_EQ(x == nullptr, y == nullptr);
      if (x != nullptr) EXPECT_EQ(*x, *y);
    };
    same(int64_t{});
    same(double{});
    same(bool{});
    return;
  }
  ASSERT_EQ(a->dtype, b->dtype);
  ASSERT_TRUE(a->sizes == b->sizes);
  if (a->dtype == DType::kFloat32) EXPECT_EQ(ToVector<float>(*a), ToVector<float>(*b));
  if (a->dtype == DType::kInt64) EXPECT_EQ(ToVector<int64_t>(*a), ToVector<int64_t>(*b));
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

void ScenarioTest::ExpectSameResults(const ExportedProgram& expected, const ExportedProgram& came,
                                     int calls) const {
  ASSERT_OK(Verify(came));
  ASSERT_OK_AND_ASSIGN(Interpreter original, Interpreter::Create(expected, kernels_));
  ASSERT_OK_AND_ASSIGN(Interpreter lowered, Interpreter::Create(came, kernels_));
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
    for (size_t i = 0; i < a.size(); ++i) ExpectSame(a[i].value(), b[i].value());
    // Inputs that were mutated, and state, wherever it lives now.
    for (size_t i = 0; i < values[0].size(); ++i) ExpectSame(values[0][i], values[1][i]);
    for (const std::string& name : original.StateNames()) {
      ASSERT_OK_AND_ASSIGN(const TensorView state, original.GetState(name));
      ASSERT_OK_AND_ASSIGN(const TensorView other, lowered.GetState(name));
      ExpectSame(EValue(state), EValue(other));
    }
  }
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
