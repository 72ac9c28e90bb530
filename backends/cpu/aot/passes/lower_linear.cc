#include "backends/cpu/aot/passes/lower_linear.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/epilogue_arguments.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "backends/cpu/aot/passes/quantized_arguments.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "backends/cpu/aot/passes/weight_only_forms.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "backends/cpu/quantized_calls.h"
#include "backends/cpu/weight_only_calls.h"
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

class LinearLowering : NodeLowering {
 public:
  LinearLowering(exir::ExportedProgram& program, FusedHandles& handles,
                 PassDiagnostics* diagnostics, TiedTables* tables)
      : NodeLowering(program, diagnostics),
        handles_(handles),
        tables_(tables),
        weight_only_(program, views_, forms_),
        constants_(program, editor_),
        mm_(program.ops->Find("aten.mm.default")),
        addmm_(program.ops->Find("aten.addmm.default")),
        bmm_(program.ops->Find("aten.bmm.default")),
        mul_(program.ops->Find("aten.mul.Tensor")),
        view_(program.ops->Find("aten.view_copy.default")),
        edge_view_(program.ops->ToEdge(view_)) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Lower(id); });
  }

 private:
  const TensorMeta* FloatTensor(const Argument& argument) const {
    const TensorMeta* meta = Tensor(argument);
    return meta == nullptr || meta->dtype != DType::kFloat32 ? nullptr : meta;
  }

  // Returns the constant matrix of the right side. For a batch, all of it must be one matrix.
  static std::optional<ConstantView> AsMatrix(std::optional<ConstantView> view) {
    if (!view.has_value()) return std::nullopt;
    if (view->rank() == 3) {
      if (!(view->sizes[0] == SymInt(1)) && view->strides[0] != 0) return std::nullopt;
      view->sizes.erase(view->sizes.begin());
      view->strides.erase(view->strides.begin());
    }
    if (view->rank() != 2 || !view->ToTensor().has_value()) return std::nullopt;
    if (*view->sizes[0].AsInt() < 1 || *view->sizes[1].AsInt() < 1) return std::nullopt;
    return view;
  }

  // Packs the matrix, and records its layout for embeddings in the same table.
  absl::StatusOr<ValueId> Pack(const ConstantView& matrix, TableLayout layout) {
    ABSL_ASSIGN_OR_RETURN(const ValueId packed, constants_.InLayout(matrix, layout));
    if (tables_ != nullptr) tables_->Add(matrix, layout);
    return packed;
  }

  // A constant right side, or a replaceable one, which is packed when the program is loaded.
  struct RightSide {
    ConstantView view;
    bool at_load;
  };
  // nullopt for other right sides and dtypes.
  std::optional<RightSide> RightSideOf(const Argument& mat2, DType dtype) const {
    std::optional<ConstantView> view = AsMatrix(views_.Find(mat2));
    const bool at_load = !view.has_value();
    if (at_load) view = AsMatrix(views_.FindReplaceable(mat2));
    if (!view.has_value() || view->tensor->dtype() != dtype) return std::nullopt;
    return RightSide{*std::move(view), at_load};
  }
  // nullopt for a replaceable matrix that is not packed (PackedConstants::Replaceable).
  absl::StatusOr<std::optional<ValueId>> Pack(const RightSide& right, TableLayout layout) {
    if (right.at_load) return constants_.Replaceable(right.view, layout);
    return Pack(right.view, layout);
  }

  bool IsOne(const Argument& argument) const { return views_.Number(argument) == 1.0; }

  // mm(x, W), bmm(x, W), addmm(b, x, W), W constant             ->  linear(x, packed W, b)
  // mm(dequantize(q), dequantize(W)), scale known               ->  quantized_linear(q, packed W)
  // mm(dequantize(q), dequantize(W)), scale known at run time   ->  dynamic_quantized_linear, which
  //                                                                 also quantizes rows of tokens
  // mm(x, dequantize(W)), mm(x, convert(W)), mm(x, W * scales)  ->  weight_only_linear
  absl::StatusOr<bool> Lower(NodeId id) {
    const Node& node = graph_.node(id);
    const exir::OpOverload* op = node.target->aten();
    if (op != mm_ && op != addmm_ && op != bmm_) return false;
    const Argument left = node.argument(op == addmm_ ? "mat1" : "self");
    const TensorMeta* rows = Tensor(left);
    if (rows != nullptr && rows->dtype == DType::kBFloat16) return LowerBFloat16(id, left);
    if (FloatTensor(left) == nullptr) return Leave(id, "only float32 matmuls are packed");
    Argument bias;
    if (op == addmm_) {
      bias = node.argument("self");
      if (FloatTensor(bias) == nullptr || !IsRowOf(bias, node)) {
        return Leave(id, "its bias is not a row, or alpha or beta is not 1");
      }
    }
    const Argument mat2 = node.argument("mat2");
    for (const auto lower : {&LinearLowering::LowerFloat, &LinearLowering::LowerQuantized,
                             &LinearLowering::LowerDynamic, &LinearLowering::LowerWeightOnly}) {
      ABSL_ASSIGN_OR_RETURN(const bool lowered, (this->*lower)(id, left, mat2, bias));
      if (!lowered) continue;
      // Parameters of dynamically quantized rows would not match the new shape.
      if (lower != &LinearLowering::LowerDynamic) AbsorbReshapes(id);
      return true;
    }
    return Leave(id, UnsupportedReason(mat2));
  }

  // Whether the bias of addmm is a row of the result.
  bool IsRowOf(const Argument& bias, const Node& sum) const {
    const TensorMeta *meta = Tensor(bias), *result = Tensor(sum.results()[0]);
    return meta != nullptr && result != nullptr && meta->dtype == result->dtype &&
           meta->rank() == 1 && meta->sizes[0] == result->sizes[1] &&
           IsOne(sum.argument("alpha")) && IsOne(sum.argument("beta"));
  }

  // Returns why no lowering supports this right side.
  std::string_view UnsupportedReason(const Argument& mat2) const {
    if (forms_.Constant(mat2).has_value() || weight_only_.Find(mat2).has_value()) {
      return "its right side is quantized, but no quantized kernel supports both sides";
    }
    if (!views_.Find(mat2).has_value())
      return "its right side is not constant, so it is not packed";
    return "its right side is not a float32, int8 or bfloat16 matrix, or is a batch of several";
  }
  // Formats "weight of 768 x 2048 packed as int4" for the constant that became `weight`.
  std::string PackedText(const ConstantView& right, std::string_view format) const {
    return absl::StrCat("weight of ", *right.sizes[0].AsInt(), " x ", *right.sizes[1].AsInt(),
                        " packed as ", format);
  }

  absl::StatusOr<bool> LowerFloat(NodeId id, const Argument& left, const Argument& mat2,
                                  const Argument& bias) {
    const std::optional<RightSide> right = RightSideOf(mat2, DType::kFloat32);
    if (!right.has_value()) return false;
    ABSL_ASSIGN_OR_RETURN(const std::optional<ValueId> weight, Pack(*right, TableLayout::kFloat32));
    if (!weight.has_value()) return false;
    std::vector<Argument> arguments = {left, *weight, bias, Argument(),
                                       *right->view.sizes[1].AsInt()};
    AppendEmptyEpilogue(arguments);
    Say(id,
        absl::StrCat("linear, ",
                     PackedText(right->view, right->at_load ? "float32 when the program is loaded"
                                                            : "float32")));
    editor_.SetTarget(id, CpuOp("linear"));
    editor_.SetArguments(id, std::move(arguments));
    return true;
  }

  // Matmuls without a bfloat16 kernel are widened later (widen_products.h).
  absl::StatusOr<bool> LowerBFloat16(NodeId id, const Argument& left) {
    const Node& node = graph_.node(id);
    const std::optional<RightSide> right = RightSideOf(node.argument("mat2"), DType::kBFloat16);
    if (!right.has_value() || *right->view.sizes[0].AsInt() % 2 != 0) return false;
    Argument bias;
    if (node.target->aten() == addmm_) {
      const std::optional<ConstantView> row = views_.Find(node.argument("self"));
      if (!row.has_value() || !row->ToTensor().has_value() ||
          !IsRowOf(node.argument("self"), node)) {
        return false;
      }
      ABSL_ASSIGN_OR_RETURN(bias, constants_.Vector(*row));
    }
    ABSL_ASSIGN_OR_RETURN(const std::optional<ValueId> weight, Pack(*right, TableLayout::kVnni2));
    if (!weight.has_value()) return false;
    std::vector<Argument> arguments = {left, *weight, bias, Argument(),
                                       *right->view.sizes[1].AsInt()};
    AppendEmptyEpilogue(arguments);
    Say(id, absl::StrCat("bfloat16_linear, ", PackedText(right->view, "bfloat16")));
    editor_.SetTarget(id, CpuOp("bfloat16_linear"));
    editor_.SetArguments(id, std::move(arguments));
    AbsorbReshapes(id);
    return true;
  }

  absl::StatusOr<bool> LowerQuantized(NodeId id, const Argument& left, const Argument& mat2,
                                      const Argument& bias) {
    const std::optional<QuantizedForm> input = forms_.DequantizedBytes(left);
    const std::optional<QuantizedConstant> constant = forms_.Constant(mat2);
    if (!input.has_value() || !constant.has_value()) return false;
    const std::optional<ConstantView> right = AsMatrix(constant->elements);
    const bool by_columns =
        !constant->axis.has_value() || *constant->axis == constant->elements.rank() - 1;
    if (!right.has_value() || !by_columns || *right->sizes[0].AsInt() > kMaxTerms ||
        !constant->HasUsualProducts(input->scale)) {
      return false;
    }
    const int64_t n = *right->sizes[1].AsInt();
    ABSL_ASSIGN_OR_RETURN(const ValueId weight, Pack(*right, TableLayout::kVnni4));
    ABSL_ASSIGN_OR_RETURN(std::vector<Argument> arguments,
                          QuantizedOperands(*input, {*right, constant->scales, std::nullopt},
                                            weight, /*channels=*/1, bias, forms_, constants_));
    arguments.emplace_back(n);
    AppendEmptyEpilogue(arguments, *input);
    Say(id, absl::StrCat("quantized_linear, ", PackedText(*right, "int8")));
    editor_.SetTarget(id, CpuOp("quantized_linear"));
    editor_.SetArguments(id, std::move(arguments));
    return true;
  }

  // Returns the reshape [..., k] -> [m, k] that produces the argument.
  std::optional<NodeId> ReshapeToRows(const Argument& argument) const {
    const ValueId* value = argument.get_if<ValueId>();
    const NodeId producer = value == nullptr ? NodeId() : graph_.value(*value).producer;
    if (!producer.valid() || graph_.node(producer).target->aten() != view_) return std::nullopt;
    const ValueId* source = graph_.node(producer).operand().get_if<ValueId>();
    const TensorMeta* from = source == nullptr ? nullptr : graph_.value(*source).tensor();
    const TensorMeta& to = graph_.MetaOf(*value);
    const bool keeps_rows = from != nullptr && from->rank() > 0 && to.rank() == 2 &&
                            from->sizes.back() == to.sizes.back();
    return keeps_rows ? std::optional(producer) : std::nullopt;
  }

  // If the rows are a reshape of the input, inserts the matmul before the reshape.
  absl::StatusOr<bool> LowerDynamic(NodeId id, const Argument& left, const Argument& mat2,
                                    const Argument& bias) {
    std::optional<NodeId> reshape;
    std::optional<DynamicForm> input = forms_.DequantizedDynamically(left);
    if (!input.has_value()) {
      reshape = ReshapeToRows(left);
      if (!reshape.has_value()) return false;
      input = forms_.DequantizedDynamically(graph_.node(*reshape).operand());
    }
    if (!input.has_value() || graph_.value(*left.get_if<ValueId>()).tensor()->rank() != 2) {
      return false;
    }
    const std::optional<WeightOnlyForm> form = weight_only_.Find(mat2);
    if (!form.has_value() || form->format == WeightFormat::kBFloat16 || !form->zeros.empty() ||
        form->group > kMaxTerms) {
      return false;
    }
    const TableLayout layout =
        form->format == WeightFormat::kInt4 ? TableLayout::kInt4 : TableLayout::kVnni4;
    ABSL_ASSIGN_OR_RETURN(const ValueId weight, Pack(form->elements, layout));
    ABSL_ASSIGN_OR_RETURN(const ValueId scales,
                          constants_.GroupScales(form->elements, form->group, form->scales));
    ABSL_ASSIGN_OR_RETURN(const ValueId sums, constants_.GroupSums(form->elements, form->group));
    const int64_t n = *form->elements.sizes[1].AsInt();
    std::vector<Argument> arguments;
    if (const std::optional<ValueId> tokens = forms_.QuantizedTokens(*input)) {
      arguments = {*tokens, Argument(), Argument()};
    } else {
      arguments = {input->input, input->scales, input->zero_points};
    }
    for (Argument argument :
         {Argument(weight), Argument(scales), Argument(sums), bias, Argument(), Argument(n),
          Argument(std::string(NameOf(form->format))), Argument(form->group)}) {
      arguments.push_back(std::move(argument));
    }
    AppendEmptyEpilogue(arguments);
    Say(id, absl::StrCat("dynamic_quantized_linear, ", FormText(*form)));
    if (!reshape.has_value()) {
      editor_.SetTarget(id, CpuOp("dynamic_quantized_linear"));
      editor_.SetArguments(id, std::move(arguments));
      return true;
    }
    std::vector<SymInt> sizes = graph_.value(input->input).tensor()->sizes;
    sizes.back() = SymInt(n);
    const Node& node = graph_.node(id);
    const ValueId product =
        editor_.InsertOp(id,
                         {.name = node.name,
                          .target = CpuOp("dynamic_quantized_linear"),
                          .arguments = std::move(arguments),
                          .provenance = node.provenance,
                          .debug_handle = node.debug_handle},
                         TensorMeta::Contiguous(DType::kFloat32, std::move(sizes)));
    Argument::List rows = *graph_.node(*reshape).argument("size").get_if<Argument::List>();
    rows.back() = n;
    editor_.SetTarget(id, edge_view_);
    editor_.SetArguments(id, {product, std::move(rows)});
    return true;
  }

  absl::StatusOr<bool> LowerWeightOnly(NodeId id, const Argument& left, const Argument& mat2,
                                       const Argument& bias) {
    const NodeId producer = graph_.value(*left.get_if<ValueId>()).producer;
    if (producer.valid() && graph_.node(producer).target->has_trait(exir::kDequantizes) &&
        !forms_.DequantizedDynamically(left).has_value()) {
      return false;
    }
    std::optional<WeightOnlyForm> form = weight_only_.Find(mat2);
    if (!form.has_value()) return false;
    if (bias.is_none()) AbsorbScales(id, *form);
    ABSL_ASSIGN_OR_RETURN(const ValueId weight, Pack(form->elements, LayoutOf(form->format)));
    const auto packed = [&](std::string_view suffix,
                            absl::Span<const float> of) -> absl::StatusOr<Argument> {
      if (of.empty()) return Argument();
      return constants_.GroupFloats(form->elements, suffix, form->group, of);
    };
    ABSL_ASSIGN_OR_RETURN(Argument scales, packed("scales", form->scales));
    ABSL_ASSIGN_OR_RETURN(Argument zeros, packed("zeros", form->zeros));
    std::vector<Argument> arguments = {left,
                                       weight,
                                       std::move(scales),
                                       std::move(zeros),
                                       bias,
                                       Argument(),
                                       *form->elements.sizes[1].AsInt(),
                                       std::string(NameOf(form->format)),
                                       form->group};
    AppendEmptyEpilogue(arguments);
    Say(id, absl::StrCat("weight_only_linear, ", FormText(*form)));
    editor_.SetTarget(id, CpuOp("weight_only_linear"));
    editor_.SetArguments(id, std::move(arguments));
    return true;
  }

  std::string FormText(const WeightOnlyForm& form) const {
    std::string text = PackedText(form.elements, NameOf(form.format));
    if (form.group > 0 && form.group < *form.elements.sizes[0].AsInt()) {
      absl::StrAppend(&text, " in groups of ", form.group);
    }
    return text;
  }

  // If the form has no scales and the sole user multiplies the columns with constants, these become
  // the scales. The order of operations is unchanged: sums are scaled last.
  void AbsorbScales(NodeId id, WeightOnlyForm& form) {
    const bool has_none =
        !form.scales.empty() && form.zeros.empty() &&
        form.group == form.elements.sizes[0].AsInt() &&
        std::all_of(form.scales.begin(), form.scales.end(), [](float scale) { return scale == 1; });
    const ValueId result = graph_.ResultOf(id);
    const std::optional<NodeId> user = graph_.SoleUser(result);
    if (!has_none || !user.has_value()) return;
    const NodeId reader = *user;
    const Node& product = graph_.node(reader);
    if (product.target->aten() != mul_) return;
    const bool is_left = product.argument("self") == Argument(result);
    const std::optional<ConstantView> scales =
        views_.Find(product.argument(is_left ? "other" : "self"));
    const ValueId scaled = product.results()[0];
    if (!scales.has_value() || scales->tensor->dtype() != DType::kFloat32 || scales->rank() < 1 ||
        !(scales->sizes.back() == form.elements.sizes[1]) ||
        (scales->rank() > 1 && !(scales->sizes[0] == SymInt(1))) ||
        !(graph_.value(scaled).tensor()->sizes == graph_.value(result).tensor()->sizes)) {
      return;
    }
    const std::optional<std::vector<double>> elements = scales->Elements();
    if (!elements.has_value() || !std::all_of(elements->begin(), elements->end(), &IsUsualScale)) {
      return;
    }
    form.scales.assign(elements->begin(), elements->end());
    editor_.ReplaceAllUses(scaled, result);
    handles_.Fuse(editor_, id, reader);
    editor_.EraseNode(reader);
  }

  // view([..., k] -> [m, k]), linear, view([m, n] -> [..., n])  ->  linear of [..., k].
  void AbsorbReshapes(NodeId id) {
    const ValueId left = *graph_.node(id).operand().get_if<ValueId>();
    const ValueId result = graph_.ResultOf(id);
    const NodeId producer = graph_.value(left).producer;
    if (!producer.valid() || graph_.node(producer).target->aten() != view_) return;
    const ValueId* source = graph_.node(producer).operand().get_if<ValueId>();
    const std::optional<NodeId> user = graph_.SoleUser(result);
    if (source == nullptr || !user.has_value()) return;
    const NodeId reader = *user;
    if (graph_.node(reader).target->aten() != view_) return;
    const TensorMeta* from = graph_.value(*source).tensor();
    const ValueId reshaped = graph_.ResultOf(reader);
    const TensorMeta* to = graph_.value(reshaped).tensor();
    if (from == nullptr || to == nullptr || from->rank() < 1 || from->rank() != to->rank()) return;
    if (!(from->sizes.back() == graph_.value(left).tensor()->sizes.back())) return;
    if (!(to->sizes.back() == graph_.value(result).tensor()->sizes.back())) return;
    for (int d = 0; d + 1 < from->rank(); ++d) {
      if (!(from->sizes[d] == to->sizes[d])) return;
    }
    editor_.SetArgument(id, 0, *source);
    editor_.SetType(result, *to);
    editor_.ReplaceAllUses(reshaped, result);
    handles_.Fuse(editor_, id, reader);
    editor_.EraseNode(reader);
  }

  FusedHandles& handles_;
  TiedTables* tables_;  // may be null
  const WeightOnlyForms weight_only_;
  PackedConstants constants_;
  const exir::OpOverload *mm_, *addmm_, *bmm_, *mul_, *view_, *edge_view_;
};

}  // namespace

exir::Pass LowerLinear(FusedHandles& handles, PassDiagnostics* diagnostics, TiedTables* tables) {
  return {"lower_linear", [&handles, diagnostics, tables](exir::ExportedProgram& program) {
            return LinearLowering(program, handles, diagnostics, tables).Run();
          }};
}

}  // namespace belay::cpu
