#include "exir/testing/generator/edge_programs.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

constexpr int64_t kRows = 2, kColumns = 4;
const Sizes& Matrix() {
  static const Sizes& sizes = *new Sizes{kRows, kColumns};
  return sizes;
}
const Sizes& Row() {
  static const Sizes& sizes = *new Sizes{kColumns};
  return sizes;
}

// Ascending numbers.
std::vector<std::byte> Ramp(int64_t count, float first) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    const float element = first + 0.25f * static_cast<float>(i);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(float), &element, sizeof(float));
  }
  return bytes;
}

class DeckMaker {
 public:
  explicit DeckMaker(const OpRegistry& ops) : ops_(ops) {}

  // Adds an operator with calls on float32 tensors of these sizes. `given` has its first arguments,
  // in which ValueId(k) is the k-th tensor.
  void Add(std::string_view op, const std::vector<std::vector<Sizes>>& tensors,
           const std::vector<Argument>& given) {
    OperatorCalls& calls = deck_.emplace_back();
    calls.op = ops_.FindText(absl::StrCat("edge.aten.", op));
    ABSL_CHECK(calls.op != nullptr);
    for (const std::vector<Sizes>& shapes : tensors) {
      SampleCall& call = calls.calls.emplace_back();
      for (const Sizes& sizes : shapes) {
        call.tensors.push_back({.dtype = DType::kFloat32,
                                .sizes = sizes,
                                .strides = ContiguousStrides(sizes),
                                .bytes = Ramp(*NumElements(sizes), -1)});
      }
      call.arguments = given;
      const std::vector<SchemaArgument>& schema = calls.op->schema()->arguments;
      for (size_t i = given.size(); i < schema.size(); ++i) {
        call.arguments.push_back(DefaultArgument(schema[i]));
      }
    }
  }
  std::vector<OperatorCalls> Take() { return std::move(deck_); }

 private:
  const OpRegistry& ops_;
  std::vector<OperatorCalls> deck_;
};

std::vector<OperatorCalls> Deck(const OpRegistry& ops) {
  const Argument first(ValueId(0)), second(ValueId(1));
  DeckMaker deck(ops);
  for (const std::string_view unary : {"sin.default", "cos.default", "relu.default", "neg.default",
                                       "tanh.default", "sigmoid.default", "abs.default"}) {
    deck.Add(unary, {{Matrix()}, {Row()}}, {first});
  }
  for (int i = 0; i < 2; ++i) {
    for (const std::string_view binary : {"add.Tensor", "sub.Tensor", "mul.Tensor"}) {
      deck.Add(binary, {{Matrix(), Matrix()}, {Row(), Row()}, {Matrix(), Row()}}, {first, second});
    }
    deck.Add("sum.dim_IntList", {{Matrix()}}, {first, Argument::List{Argument(0)}});
    deck.Add("max.dim", {{Matrix()}}, {first, Argument(1)});
    deck.Add("split_with_sizes_copy.default", {{Matrix()}},
             {first, Argument::List{Argument(1), Argument(kColumns - 1)}, Argument(1)});
    deck.Add("cat.default", {{{kRows, kColumns - 1}, {kRows, 1}}},
             {Argument::List{first, second}, Argument(1)});
    deck.Add("full.default", {{}},
             {Argument::List{Argument(kRows), Argument(kColumns)}, Argument(0.5)});
  }
  return deck.Take();
}

std::vector<const OperatorCalls*> Pointers(const std::vector<OperatorCalls>& calls) {
  std::vector<const OperatorCalls*> pointers;
  for (const OperatorCalls& one : calls) pointers.push_back(&one);
  return pointers;
}

// Row tensors: parameters (two tied), buffers (one not persistent), and a constant; some of
// different kinds share one storage.
std::vector<std::pair<InputSpec, ConstantTensor>> Constants() {
  std::vector<Storage> storages;
  for (int i = 0; i < 4; ++i)
    storages.push_back(Storage::Own(Ramp(kColumns, static_cast<float>(i) - 2)));
  const std::pair<InputSpec, int> specs[] = {
      {{.kind = InputKind::kParameter, .target = "p0"}, 0},
      {{.kind = InputKind::kParameter, .target = "p1"}, 1},
      {{.kind = InputKind::kParameter, .target = "p2"}, 1},
      {{.kind = InputKind::kBuffer, .target = "b0"}, 2},
      {{.kind = InputKind::kBuffer, .target = "b1"}, 3},
      {{.kind = InputKind::kBuffer, .target = "v0", .persistent = false}, 2},
      {{.kind = InputKind::kTensorConstant, .target = "c0"}, 3},
  };
  std::vector<std::pair<InputSpec, ConstantTensor>> constants;
  for (const auto& [spec, storage] : specs) {
    absl::StatusOr<ConstantTensor> tensor =
        ConstantTensor::Contiguous(DType::kFloat32, Row(), storages[static_cast<size_t>(storage)]);
    ABSL_CHECK(tensor.ok());
    constants.emplace_back(spec, *std::move(tensor));
  }
  return constants;
}

RandomProgramOptions OfEdgePrograms(RandomProgramOptions options) {
  options.dialect = IrDialect::kEdge;
  options.dynamic_size = kRows;
  options.least_size = 1;
  options.constants = Constants();
  return options;
}

const KernelRegistry& ReferenceKernels() {
  static const KernelRegistry& kernels = *[] {
    auto* registry = new KernelRegistry;
    ABSL_CHECK(AddReferenceKernels(*registry).ok());
    return registry;
  }();
  return kernels;
}

}  // namespace

RandomEdgePrograms::RandomEdgePrograms(Random& random, const OpRegistry& ops,
                                       RandomProgramOptions options)
    : calls_(Deck(ops)),
      programs_(random, ops, ReferenceKernels(), Pointers(calls_),
                OfEdgePrograms(std::move(options))) {}

ExportedProgram RandomEdgePrograms::Next() {
  RandomProgram made = programs_.Next();
  if (const absl::Status status = Verify(made.program); !status.ok()) {
    std::fprintf(stderr, "a random program does not verify: %s\n%s\n", status.ToString().c_str(),
                 PrintProgram(made.program).c_str());
    std::abort();
  }
  return std::move(made.program);
}

void TagNodes(Random& random, int tags, ExportedProgram& program) {
  const bool runs = random.Chance(50);
  const int percent = 20 + static_cast<int>(random.Below(70));
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    int run = static_cast<int>(random.Below(static_cast<size_t>(tags)));
    for (NodeId node : graph.NodeList()) {
      if (runs) {
        // A run ends when the tag changes, and each tag has only one run.
        if (run < tags && random.Chance(25)) ++run;
        const bool tagged = run < tags && (percent > 60 || run % 2 == 0);
        editor.SetDelegationTag(node, tagged ? absl::StrCat("t", run) : "");
      } else {
        editor.SetDelegationTag(node,
                                random.Chance(percent)
                                    ? absl::StrCat("t", random.Below(static_cast<size_t>(tags)))
                                    : "");
      }
    }
  }
}

}  // namespace belay::exir
