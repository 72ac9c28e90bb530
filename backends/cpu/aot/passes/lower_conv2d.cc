#include "backends/cpu/aot/passes/lower_conv2d.h"

#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/epilogue_arguments.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

// Two numbers of at least `least`; one counts twice.
std::optional<Argument::List> Pair(const Argument& argument, int64_t least) {
  const Argument::List* list = argument.get_if<Argument::List>();
  if (list == nullptr || list->empty() || list->size() > 2) return std::nullopt;
  for (const Argument& element : *list) {
    const int64_t* number = element.get_if<int64_t>();
    if (number == nullptr || *number < least || *number > int64_t{1} << 24) return std::nullopt;
  }
  return Argument::List{list->front(), list->back()};
}

class Conv2dLowering {
 public:
  explicit Conv2dLowering(exir::ExportedProgram& program)
      : program_(program),
        editor_(program.top()),
        graph_(editor_.graph()),
        views_(program),
        constants_(program, editor_),
        convolution_(program.ops->Find("aten.convolution.default")),
        pad_(program.ops->Find("aten.constant_pad_nd.default")) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      if (graph_.node(id).target->aten() != convolution_) continue;
      ABSL_ASSIGN_OR_RETURN(const bool lowered, Lower(id));
      changed = changed || lowered;
    }
    if (changed) {
      editor_.EraseDeadNodes();
      DropUnusedConstants(program_, editor_);
    }
    return changed;
  }

 private:
  absl::StatusOr<bool> Lower(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId* input = node.value_argument("input");
    const TensorMeta* images = input == nullptr ? nullptr : graph_.value(*input).tensor();
    const std::optional<ConstantView> weight = views_.Find(node.argument("weight"));
    const int64_t* groups = node.argument("groups").get_if<int64_t>();
    const bool* transposed = node.argument("transposed").get_if<bool>();
    if (images == nullptr || images->dtype != DType::kFloat32 || images->rank() != 4 ||
        !weight.has_value() || weight->tensor->dtype() != DType::kFloat32 || weight->rank() != 4 ||
        !weight->ToTensor().has_value() || groups == nullptr || transposed == nullptr ||
        *transposed) {
      return false;
    }
    int64_t sizes[4];
    for (int d = 0; d < 4; ++d) {
      sizes[d] = *weight->sizes[d].AsInt();
      if (sizes[d] < 1 || sizes[d] > int64_t{1} << 24) return false;
    }
    const bool depthwise = *groups > 1;
    if (depthwise && (*groups != sizes[0] || sizes[1] != 1)) return false;
    const std::optional<int64_t> channels = images->sizes[1].AsInt();
    if (channels != sizes[1] * *groups) return false;
    const std::optional<Argument::List> stride = Pair(node.argument("stride"), 1);
    const std::optional<Argument::List> padding = Pair(node.argument("padding"), 0);
    const std::optional<Argument::List> dilation = Pair(node.argument("dilation"), 1);
    if (!stride.has_value() || !padding.has_value() || !dilation.has_value()) return false;
    const Images source = Unpadded(*input, *padding);

    ABSL_ASSIGN_OR_RETURN(const ValueId packed, depthwise ? constants_.DepthwiseFilters(*weight)
                                                          : constants_.Filters(*weight));
    std::vector<Argument> arguments = {source.value, packed, node.argument("bias"), Argument()};
    if (!depthwise) arguments.emplace_back(sizes[0]);
    arguments.emplace_back(Argument::List{sizes[2], sizes[3]});
    for (const auto& list : {*stride, source.padding, *dilation}) arguments.emplace_back(list);
    AppendEmptyEpilogue(arguments);
    editor_.SetTarget(id, CpuOp(depthwise ? "depthwise_conv2d" : "conv2d"));
    editor_.SetArguments(id, std::move(arguments));
    return true;
  }

  // Images, and the zeros around them that the convolution adds by itself.
  struct Images {
    ValueId value;
    Argument::List padding;
  };
  // What `input` pads with zeros at its edges, if it does, is padded by the convolution.
  Images Unpadded(ValueId input, const Argument::List& padding) const {
    const Images as_it_is = {input, padding};
    const NodeId producer = graph_.value(input).producer;
    if (!producer.valid() || graph_.node(producer).target->aten() != pad_) return as_it_is;
    const Node& node = graph_.node(producer);
    const ValueId* inner = node.value_argument("self");
    // The last dimension first: left, right, top, bottom.
    const Argument::List* list = node.argument("pad").get_if<Argument::List>();
    const Argument& value = node.argument("value");
    const bool zero = value == Argument(0) || value == Argument(0.0) || value.is_none();
    if (inner == nullptr || list == nullptr || !zero || list->size() < 2) return as_it_is;
    int64_t around[4] = {};
    for (size_t i = 0; i < list->size(); ++i) {
      const int64_t* number = (*list)[i].get_if<int64_t>();
      if (number == nullptr || *number < 0 || *number > int64_t{1} << 20) return as_it_is;
      if (i < 4) {
        around[i] = *number;
      } else if (*number != 0) {
        return as_it_is;
      }
    }
    const int64_t rows = *padding[0].get_if<int64_t>(), columns = *padding[1].get_if<int64_t>();
    return {*inner, Argument::List{rows + around[2], columns + around[0], rows + around[3],
                                   columns + around[1]}};
  }

  exir::ExportedProgram& program_;
  exir::GraphEditor editor_;
  const exir::Graph& graph_;
  const ConstantViews views_;
  PackedConstants constants_;
  const exir::OpOverload *convolution_, *pad_;
};

}  // namespace

exir::Pass LowerConv2d() {
  return {"lower_conv2d",
          [](exir::ExportedProgram& program) { return Conv2dLowering(program).Run(); }};
}

}  // namespace belay::cpu
