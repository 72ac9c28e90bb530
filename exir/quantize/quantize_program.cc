#include "exir/quantize/quantize_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "exir/builder/op_builder.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/constant_input.h"
#include "exir/passes/merge_batch_norm.h"
#include "exir/quantize/placement.h"
#include "exir/quantize/stored_weights.h"
#include "exir/quantize/weight_uses.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

template <class Report>
Report Describe(const Node& node) {
  Report report;
  report.node = node.name;
  report.op = node.target->aten()->name();
  if (node.provenance.module != nullptr) report.module = *node.provenance.module;
  report.source = node.provenance.ToString();
  return report;
}

constexpr QuantizedRange kActivationRange = {-128, 127};

class Quantization {
 public:
  Quantization(ExportedProgram& program, const Recipe& recipe, const QuantizeOptions& options)
      : program_(program),
        recipe_(recipe),
        options_(options),
        editor_(program.top()),
        graph_(editor_.graph()),
        builder_(program, editor_),
        constants_(program, editor_, options.changing),
        weights_(builder_, constants_, options.encoded == nullptr ? encoded_ : *options.encoded) {}

  absl::Status Run(QuantizeResult& result) {
    const WeightUses found = FindWeightUses(program_, constants_);
    AddNotes(found, result.notes);
    ABSL_RETURN_IF_ERROR(QuantizeActivations(found, result));
    for (const WeightRejection& rejection : found.rejections) {
      const Node& node = graph_.node(rejection.node);
      if (recipe_.SchemeOf(node, rejection.kind).quantizes()) {
        Keep(node, rejection.reason, result);
      }
    }
    for (const WeightUse& use : found.uses) {
      ABSL_RETURN_IF_ERROR(Quantize(use, result));
      ABSL_RETURN_IF_ERROR(CheckBudget());
    }
    editor_.EraseDeadNodes();
    NoteSeveralFormats(found, result.notes);
    for (const WeightUse& use : found.uses) {
      if (graph_.value(use.constant).users.empty() && !graph_.IsOutput(use.constant)) {
        constants_.Drop(use.constant);
      }
    }
    constants_.Finish();
    return absl::OkStatus();
  }

 private:
  static void Keep(const Node& node, std::string reason, QuantizeResult& result) {
    UnquantizedNode& kept = result.unquantized.emplace_back(Describe<UnquantizedNode>(node));
    kept.reason = std::move(reason);
  }

  void AddNotes(const WeightUses& found, std::vector<std::string>& notes) const {
    for (const Rule& rule : recipe_.rules) {
      const auto matches = [&](const auto& anchor) {
        return rule.Matches(graph_.node(anchor.node), anchor.kind);
      };
      if (std::none_of(found.uses.begin(), found.uses.end(), matches) &&
          std::none_of(found.rejections.begin(), found.rejections.end(), matches)) {
        notes.push_back(absl::StrCat("the rule for ", rule.ToString(), " matches no operator"));
      }
    }
  }

  // Notes weights whose float32 numbers are used as well.
  void NoteSeveralFormats(const WeightUses& found, std::vector<std::string>& notes) const {
    std::map<std::string, std::string> first_users;  // by weight, in alphabetical order
    for (const WeightUse& use : found.uses) {
      const std::vector<NodeId>& users = graph_.value(use.constant).users;
      if (users.empty() || !quantized_.contains(use.constant)) continue;
      first_users.emplace(constants_.NameOf(use.constant), graph_.node(users.front()).name);
    }
    for (const auto& [weight, user] : first_users) {
      notes.push_back(absl::StrCat("'", weight, "' is also stored as float32, for node ", user));
    }
  }

  absl::Status Quantize(const WeightUse& use, QuantizeResult& result) {
    const Node& node = graph_.node(use.node);
    const Scheme& scheme = recipe_.SchemeOf(node, use.kind);
    if (!scheme.quantizes()) return absl::OkStatus();
    std::string reason;
    if (IsStatic(scheme)) {
      reason = static_reasons_[use.node];
    } else {
      ABSL_ASSIGN_OR_RETURN(reason, weights_.WhyNot(use, scheme));
    }
    if (!reason.empty()) {
      Keep(node, std::move(reason), result);
      return absl::OkStatus();
    }
    ABSL_ASSIGN_OR_RETURN(const StoredWeights::Stored* stored, weights_.Add(use, scheme));
    QuantizedNode report = Describe<QuantizedNode>(node);
    report.weight = constants_.NameOf(use.constant);
    report.scheme = scheme.ToString();
    report.loss = stored->loss;
    if (stored->used_by == report.node) {
      report.bytes_before = stored->bytes_before;
      report.bytes_after = stored->bytes_after;
    } else {
      report.shares_with = stored->used_by;
    }
    result.quantized.push_back(std::move(report));
    quantized_.insert(use.constant);
    ABSL_RETURN_IF_ERROR(weights_.Replace(use, *stored));
    return scheme.activation == ActivationNumbers::kDynamicInt8 ? QuantizeInput(use)
                                                                : absl::OkStatus();
  }

  static bool IsStatic(const Scheme& scheme) {
    return scheme.activation == ActivationNumbers::kStaticInt8;
  }

  // Inserts the nodes that quantize activations statically. Records why operators of static schemes
  // stay in float32.
  absl::Status QuantizeActivations(const WeightUses& found, QuantizeResult& result) {
    std::vector<WeightUse> anchors;
    for (const WeightUse& use : found.uses) {
      const Scheme& scheme = recipe_.SchemeOf(graph_.node(use.node), use.kind);
      if (!IsStatic(scheme)) continue;
      ABSL_ASSIGN_OR_RETURN(std::string reason, weights_.WhyNot(use, scheme));
      if (reason.empty()) {
        anchors.push_back(use);
      } else {
        static_reasons_.emplace(use.node, std::move(reason));
      }
    }
    if (anchors.empty()) return absl::OkStatus();
    const Placement placement = PlaceQuantization(program_, anchors, options_.patterns);
    for (NodeId anchor : placement.rejected) {
      static_reasons_.emplace(anchor, "the backend does not compute it on integers");
    }
    using Ranges = std::vector<std::pair<float, float>>;
    ABSL_ASSIGN_OR_RETURN(const Ranges ranges, Calibrate(program_, placement, recipe_,
                                                         *options_.kernels, *options_.calibration));
    for (const QuantizedActivation& activation : placement.activations) {
      const auto [low, high] = ranges[activation.group];
      const AffineParameters parameters = ChooseAffine(low, high, false, kActivationRange);
      result.activations.push_back({graph_.value(activation.value).name, low, high, parameters});
      ABSL_RETURN_IF_ERROR(QuantizeActivation(activation, parameters));
    }
    return absl::OkStatus();
  }

  absl::Status QuantizeActivation(const QuantizedActivation& activation,
                                  AffineParameters parameters) {
    OpBuilder& b = builder_;
    const auto call = [&](std::string_view op, const Argument& input) {
      return b.Call(op,
                    {input, static_cast<double>(parameters.scale), int64_t{parameters.zero_point},
                     int64_t{kActivationRange.low}, int64_t{kActivationRange.high}, DType::kInt8});
    };
    const NodeId producer = graph_.value(activation.value).producer;
    const NodeId next = producer.valid() ? graph_.next(producer) : graph_.first();
    next.valid() ? b.MoveTo(next) : b.MoveToEnd();
    const Argument bytes =
        call("quantized_decomposed.quantize_per_tensor.default", activation.value);
    for (NodeId user : activation.users) {
      b.MoveTo(user);
      const Argument reals = call("quantized_decomposed.dequantize_per_tensor.default", bytes);
      ABSL_RETURN_IF_ERROR(b.status());
      editor_.ReplaceUsesIn(user, activation.value, reals);
    }
    if (activation.output) {
      b.MoveToEnd();
      const Argument reals = call("quantized_decomposed.dequantize_per_tensor.default", bytes);
      ABSL_RETURN_IF_ERROR(b.status());
      std::vector<Argument> outputs(graph_.outputs().begin(), graph_.outputs().end());
      for (Argument& output : outputs) {
        if (output == Argument(activation.value)) output = reals;
      }
      editor_.SetOutputs(std::move(outputs));
    }
    return b.status();
  }

  // Returns the node that views [..., k] as the matrix [m, k], if it produces the value.
  std::optional<NodeId> MatrixView(ValueId matrix) const {
    const NodeId producer = graph_.value(matrix).producer;
    if (!producer.valid() ||
        graph_.node(producer).target->aten()->name() != "aten.view_copy.default") {
      return std::nullopt;
    }
    const ValueId* source = graph_.node(producer).operand().get_if<ValueId>();
    const TensorMeta *from = source == nullptr ? nullptr : graph_.value(*source).tensor(),
                     *to = graph_.value(matrix).tensor();
    const bool keeps_rows = from != nullptr && to != nullptr && from->rank() > 1 &&
                            from->sizes.back() == to->sizes.back();
    return keeps_rows ? std::optional(producer) : std::nullopt;
  }

  absl::Status QuantizeInput(const WeightUse& use) {
    const ValueId matrix = *graph_.node(use.node).value_argument(use.input_argument);
    const std::optional<NodeId> view = MatrixView(matrix);
    const ValueId source =
        view.has_value() ? *graph_.node(*view).operand().get_if<ValueId>() : matrix;
    OpBuilder& b = builder_;
    auto it = rows_.find(source);
    if (it == rows_.end()) {
      b.MoveTo(use.node);
      const std::vector<Argument> parameters =
          b.CallAll("quantized_decomposed.choose_qparams_per_token_asymmetric.default",
                    {source, DType::kInt8});
      ABSL_RETURN_IF_ERROR(b.status());
      const Argument bytes =
          b.Call("quantized_decomposed.quantize_per_token.default",
                 {source, parameters[0], parameters[1], -128, 127, DType::kInt8});
      const Argument reals =
          b.Call("quantized_decomposed.dequantize_per_token.default",
                 {bytes, parameters[0], parameters[1], -128, 127, DType::kInt8, DType::kFloat32});
      ABSL_RETURN_IF_ERROR(b.status());
      it = rows_.emplace(source, reals).first;
    }
    Argument input = it->second;
    if (view.has_value()) {
      b.MoveTo(use.node);
      input = b.Call("aten.view.default", {input, graph_.node(*view).argument("size")});
      ABSL_RETURN_IF_ERROR(b.status());
    }
    const auto index = graph_.node(use.node).target->ArgumentIndex(use.input_argument);
    editor_.SetArgument(use.node, *index, input);
    return absl::OkStatus();
  }

  ExportedProgram& program_;
  const Recipe& recipe_;
  const QuantizeOptions& options_;
  GraphEditor editor_;
  const Graph& graph_;
  OpBuilder builder_;
  ConstantInputs constants_;
  EncodedWeights encoded_;
  StoredWeights weights_;
  std::map<ValueId, Argument> rows_;  // dequantized tensors, by the tensor
  absl::btree_set<ValueId> quantized_;
  // Why operators of static schemes stay in float32.
  std::map<NodeId, std::string> static_reasons_;
};

}  // namespace

absl::StatusOr<QuantizeResult> QuantizeProgram(const ExportedProgram& program, const Recipe& recipe,
                                               const QuantizeOptions& options) {
  if (program.dialect != IrDialect::kEdge) {
    return absl::FailedPreconditionError(absl::StrCat(
        "expected an edge program, got one of dialect ", IrDialectName(program.dialect)));
  }
  const bool calibrates = recipe.needs_calibration();
  if (calibrates && (options.calibration == nullptr || options.kernels == nullptr)) {
    return absl::InvalidArgumentError(
        absl::StrCat("recipe '", recipe.name, "' needs calibration data"));
  }
  QuantizeResult result{.program = program.Clone(),
                        .quantized = {},
                        .unquantized = {},
                        .activations = {},
                        .notes = {}};
  if (calibrates) {
    ABSL_RETURN_IF_ERROR(
        MergeBatchNorm({.changing = options.changing}).run(result.program).status());
  }
  ABSL_RETURN_IF_ERROR(Quantization(result.program, recipe, options).Run(result));
  return result;
}

}  // namespace belay::exir
