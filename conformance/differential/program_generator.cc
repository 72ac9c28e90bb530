#include "conformance/differential/program_generator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "conformance/differential/program_maker.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::OpOverload;

// Every hundredth or so of the elements.
template <class T>
void Poison(SampleTensor& tensor, Dice& dice) {
  T* elements = reinterpret_cast<T*>(tensor.bytes.data());
  const size_t count = tensor.bytes.size() / sizeof(T);
  for (size_t i = 0; i < count; ++i) {
    if (!dice.Chance(2)) continue;
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    elements[i] = dice.Chance(50)   ? std::numeric_limits<T>::quiet_NaN()
                  : dice.Chance(50) ? kInfinity
                                    : -kInfinity;
  }
}

}  // namespace

ProgramGenerator::ProgramGenerator(uint64_t seed, const exir::OpRegistry& ops,
                                   const KernelRegistry& kernels,
                                   std::vector<const OperatorCalls*> deck, GeneratorOptions options)
    : dice_(seed),
      ops_(ops),
      kernels_(kernels),
      deck_(std::move(deck)),
      next_(deck_.size()),
      options_(options) {}

const OperatorCalls& ProgramGenerator::Deal() {
  if (next_ == deck_.size()) {
    for (size_t i = deck_.size(); i > 1; --i) std::swap(deck_[i - 1], deck_[dice_.Below(i)]);
    next_ = 0;
  }
  return *deck_[next_++];
}

GeneratedProgram ProgramGenerator::Next() {
  return ProgramMaker(dice_, ops_, kernels_, options_,
                      [this]() -> const OperatorCalls& { return Deal(); })
      .Make();
}

std::vector<SampleTensor> MakeInputs(const GeneratedProgram& generated, Dice& dice) {
  absl::btree_map<std::string, int64_t> symbols;
  for (const auto& [name, range] : generated.program.ranges) {
    if (!name.starts_with('s')) continue;
    symbols[name] = range.min + static_cast<int64_t>(
                                    dice.Below(static_cast<uint64_t>(range.max - range.min + 1)));
  }
  const bool poisoned = dice.Chance(15);
  std::vector<SampleTensor> inputs;
  size_t next = 0;
  for (size_t i = 0; i < generated.program.signature.inputs.size(); ++i) {
    if (generated.program.signature.inputs[i].kind != exir::InputKind::kUserInput) continue;
    const SampleTensor& sample = generated.samples[next++];
    const exir::TensorMeta& meta =
        *generated.program.top().value(generated.program.top().inputs()[i]).tensor();
    SampleTensor input{.dtype = sample.dtype, .sizes = {}, .strides = {}, .bytes = {}};
    for (const exir::SymExpr& size : meta.sizes) {
      input.sizes.push_back(*size.EvaluateInt([&](std::string_view name) {
        const auto it = symbols.find(std::string(name));
        return it == symbols.end() ? std::nullopt : std::optional<int64_t>(it->second);
      }));
    }
    input.strides = DenseStrides(
        input.sizes,
        DimOrderOf(sample.sizes, sample.strides).value_or(ContiguousOrder(sample.sizes.size())));
    const size_t element = DTypeSize(input.dtype);
    const size_t count = static_cast<size_t>(NumElements(input.sizes).value_or(0));
    input.bytes.resize(count * element);
    for (size_t k = 0; k < count && !sample.bytes.empty(); ++k) {
      std::memcpy(input.bytes.data() + k * element,
                  sample.bytes.data() + dice.Below(sample.bytes.size() / element) * element,
                  element);
    }
    if (poisoned && input.dtype == DType::kFloat32) Poison<float>(input, dice);
    if (poisoned && input.dtype == DType::kFloat64) Poison<double>(input, dice);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

const OpOverload* TwinOf(const OpOverload& in_place, const exir::OpRegistry& ops) {
  if (!in_place.op().ends_with('_')) return nullptr;
  return ops.Find(absl::StrCat(in_place.ns(), ".",
                               std::string(in_place.op().substr(0, in_place.op().size() - 1)), ".",
                               in_place.overload()));
}

bool NeedsTwin(const OpOverload& op) {
  return op.schema() != nullptr && op.schema()->IsMutable() && !op.has_meta_kernel();
}

absl::StatusOr<ExportedProgram> WritesAsCopies(const ExportedProgram& program) {
  ExportedProgram copy = program.Clone();
  for (exir::Graph& graph : copy.graphs) {
    exir::GraphEditor editor(graph);
    for (exir::NodeId id : graph.NodeList()) {
      const exir::Node node = graph.node(id);
      if (node.target == nullptr || !NeedsTwin(*node.target)) continue;
      const OpOverload* twin = TwinOf(*node.target, *program.ops);
      if (twin == nullptr) {
        return absl::UnimplementedError(absl::StrCat(node.target->name(), " has no twin"));
      }
      std::vector<Argument> arguments;
      for (const exir::SchemaArgument& argument : twin->schema()->arguments) {
        const std::optional<int> i = node.target->schema()->ArgumentIndex(argument.name);
        arguments.push_back(i.has_value() ? node.arguments[*i] : DefaultArgument(argument));
      }
      ABSL_ASSIGN_OR_RETURN(const std::vector<exir::MetaValue> metas,
                            InferOutputs(graph, twin, arguments, nullptr));
      exir::GraphEditor::NewNode call;
      call.name = node.name;
      call.target = twin;
      call.arguments = std::move(arguments);
      const exir::ValueId computed = editor.InsertOp(id, std::move(call), ToValueType(metas[0]));
      const OpOverload* copy_op = program.ops->Find("aten.copy_.default");
      exir::GraphEditor::NewNode write;
      write.name = node.name;
      write.target = copy_op;
      write.arguments = {node.arguments[0], Argument(computed), Argument(false)};
      const exir::ValueId written =
          editor.InsertOp(id, std::move(write), graph.value(node.outputs[0].values[0]).type);
      editor.ReplaceAllUses(node.outputs[0].values[0], Argument(written));
      editor.EraseNode(id);
    }
  }
  return copy;
}

}  // namespace belay::conformance
