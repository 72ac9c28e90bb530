#include "exir/quantize/program_quantizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/types/span.h"
#include "exir/builder/op_builder.h"
#include "exir/builder/op_shorthand.h"
#include "exir/ir/float_elements.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/mapped_pages.h"
#include "exir/passes/constant_input.h"
#include "exir/passes/merge_batch_norm.h"
#include "exir/quantize/image_convolutions.h"
#include "exir/quantize/transposed_convolutions.h"
#include "runtime/core/annotate.h"
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
constexpr std::string_view kMm = "aten.mm.default", kAddmm = "aten.addmm.default";

// Edits a copy of the program.
class Quantization {
 public:
  Quantization(QuantizeResult& result, const QuantizationPatterns& patterns,
               const absl::btree_set<std::string>& changing, EncodedWeights& encoded)
      : result_(result),
        program_(result.program),
        patterns_(patterns),
        editor_(program_.top()),
        graph_(editor_.graph()),
        builder_(program_, editor_),
        constants_(program_, editor_, changing),
        encoded_(encoded),
        weights_(builder_, constants_, encoded) {}

  void Keep(NodeId id, std::string reason) {
    auto kept = Describe<UnquantizedNode>(graph_.node(id));
    kept.reason = std::move(reason);
    result_.unquantized.push_back(std::move(kept));
  }

  // Inserts the nodes that quantize an activation.
  absl::Status QuantizeActivation(const QuantizedActivation& activation,
                                  const ActivationStatistics::Range& range) {
    const AffineParameters parameters =
        ChooseAffine(range.low, range.high, false, kActivationRange);
    result_.activations.push_back({graph_.value(activation.value).name, range.low, range.high,
                                   parameters, range.distribution, range.loss});
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

  // `means` are ActivationStatistics::MeansOf of a static anchor whose bias is corrected; empty for
  // others.
  absl::Status QuantizeAnchor(const Anchor& anchor, absl::Span<const double> means) {
    const WeightUse& use = anchor.use;
    ABSL_ASSIGN_OR_RETURN(const StoredWeights::Stored* stored, weights_.Add(use, anchor.scheme));
    auto report = Describe<QuantizedNode>(graph_.node(use.node));
    report.weight = anchor.weight_name;
    report.scheme = anchor.scheme.ToString();
    report.loss = stored->loss;
    report.error_feedback = stored->error_feedback;
    if (stored->used_by == report.node) {
      report.bytes_before = stored->bytes_before;
      report.bytes_after = stored->bytes_after;
      report.distribution = stored->distribution;
    } else {
      report.shares_with = stored->used_by;
    }
    quantized_.insert(use.constant);
    ABSL_RETURN_IF_ERROR(weights_.Replace(use, *stored));
    if (!means.empty() || (anchor.is_static() && patterns_.integer_biases)) {
      ABSL_ASSIGN_OR_RETURN(report.corrects_bias, ReplaceBias(anchor, means));
    }
    result_.quantized.push_back(std::move(report));
    return anchor.scheme.activation == ActivationNumbers::kDynamicInt8 ? QuantizeInput(use)
                                                                       : absl::OkStatus();
  }

  // Erases what is unused now, and notes weights whose float32 numbers are used as well.
  void Finish(const std::vector<Anchor>& anchors) {
    editor_.EraseDeadNodes();
    std::map<std::string, std::string> first_users;  // by weight, in alphabetical order
    for (const Anchor& anchor : anchors) {
      const std::vector<NodeId>& users = graph_.value(anchor.use.constant).users;
      if (users.empty() || !quantized_.contains(anchor.use.constant)) continue;
      first_users.emplace(anchor.weight_name, graph_.node(users.front()).name);
    }
    for (const auto& [weight, user] : first_users) {
      result_.notes.push_back(
          absl::StrCat("'", weight, "' is also stored as float32, for node ", user));
    }
    // Weights, and biases that are replaced.
    const std::vector<ValueId> inputs(constants_.inputs().begin(), constants_.inputs().end());
    for (ValueId input : inputs) {
      if (!quantized_.contains(input) && !replaced_.contains(input)) continue;
      if (graph_.value(input).users.empty() && !graph_.IsOutput(input)) constants_.Drop(input);
    }
    constants_.Finish();
  }

 private:
  absl::Status QuantizeInput(const WeightUse& use) {
    const ValueId matrix = *graph_.node(use.node).value_argument(use.input_argument);
    const std::optional<NodeId> view = MatrixViewOf(graph_, matrix);
    const ValueId source =
        view.has_value() ? *graph_.node(*view).operand().get_if<ValueId>() : matrix;
    OpBuilder& b = builder_;
    auto it = rows_.find(source);
    if (it == rows_.end()) {
      b.MoveTo(use.node);
      it = rows_.emplace(source, FakeQuantizePerToken(b, source)).first;
      ABSL_RETURN_IF_ERROR(b.status());
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

  // Adds the mean error of the weight to the bias, unless `means` are empty: the mean output then
  // is that of the float32 weight. Rounds the bias if the backend adds it as int32. Returns false
  // if the bias is not corrected: without means, and if it is not a float32 constant of one element
  // per output channel.
  //
  //   mm(x, W')  ->  addmm(bias, x, W')
  absl::StatusOr<bool> ReplaceBias(const Anchor& anchor, absl::Span<const double> means) {
    const WeightUse& use = anchor.use;
    const Node& node = graph_.node(use.node);
    const std::string& op = node.target->aten()->name();
    const std::string_view argument = op == kAddmm ? "self" : "bias";
    const ValueId* before = op == kMm ? nullptr : node.value_argument(argument);
    if (before == nullptr && means.empty()) return false;
    ABSL_ASSIGN_OR_RETURN(const WeightMatrix weight, MatrixOf(anchor.weight, use.rows_first));
    ABSL_ASSIGN_OR_RETURN(const EncodedWeight encoded,
                          encoded_.Encode(anchor.weight, use.rows_first, anchor.scheme));
    std::vector<double> bias(static_cast<size_t>(weight.rows));
    if (!means.empty()) bias = MeanErrors(weight, encoded, anchor.scheme.rows, means);
    ReleasePages(anchor.weight.storage().bytes);
    std::string name = absl::StrCat(anchor.weight_name, "_bias_corrected");
    if (op == kMm) {
      const auto is_addmm = [](const QuantizationPattern& pattern) { return pattern.op == kAddmm; };
      if (std::none_of(patterns_.patterns.begin(), patterns_.patterns.end(), is_addmm))
        return false;
    } else if (before != nullptr) {
      const ConstantTensor* tensor = constants_.Find(*before);
      if (tensor == nullptr || tensor->dtype() != DType::kFloat32 ||
          tensor->sizes() != Sizes{weight.rows}) {
        return false;
      }
      ABSL_ASSIGN_OR_RETURN(const std::vector<float> elements, FloatElements(*tensor));
      for (size_t n = 0; n < bias.size(); ++n) bias[n] += elements[n];
      name = absl::StrCat(constants_.NameOf(*before), "_corrected");
      replaced_.insert(*before);
    } else if (!node.argument(argument).is_none()) {
      return false;
    }
    if (patterns_.integer_biases) RoundBias(use, *encoded.scales, bias);
    const ValueId corrected = AddBias(bias, name);
    if (op != kMm) {
      editor_.SetArgument(use.node, *node.target->ArgumentIndex(argument), corrected);
      return !means.empty();
    }
    builder_.MoveTo(use.node);
    const Argument sum =
        builder_.Call(kAddmm, {corrected, node.argument("self"), node.argument("mat2")});
    ABSL_RETURN_IF_ERROR(builder_.status());
    const ValueId result = graph_.ResultOf(use.node);
    editor_.ReplaceAllUses(result, sum);
    result_.replaced.emplace(result, *sum.get_if<ValueId>());
    return true;
  }

  // Rounds the bias of a static anchor to multiples of the scale of its int32 sums. Computed in
  // float32, as backends/xnnpack/aot/payload_values.cc computes the int32 biases.
  void RoundBias(const WeightUse& use, const ConstantTensor& weight_scales,
                 std::vector<double>& bias) const {
    const ValueId* input = graph_.node(use.node).value_argument(use.input_argument);
    const NodeId producer = graph_.value(*input).producer;
    if (!producer.valid() || !graph_.node(producer).target->has_trait(kDequantizes)) return;
    const double* input_scale = graph_.node(producer).argument("scale").get_if<double>();
    if (input_scale == nullptr) return;
    const auto* scales = weight_scales.view().as<float>();
    for (size_t n = 0; n < bias.size(); ++n) {
      const float scale = scales[n] * static_cast<float>(*input_scale);
      const float steps = std::nearbyint(static_cast<float>(bias[n]) * (1.0F / scale));
      if (std::abs(steps) < 0x1p31F) bias[n] = double{steps} * double{scale};
    }
  }

  ValueId AddBias(const std::vector<double>& bias, const std::string& wish) {
    std::vector<float> floats;
    for (double element : bias) floats.push_back(static_cast<float>(element));
    const auto size = static_cast<int64_t>(bias.size());
    ConstantTensor tensor = *FloatConstant({size}, std::move(floats));  // cannot fail
    return constants_.Add("bias_corrected", UnusedTensorName(program_, wish), std::move(tensor),
                          TensorMeta::Contiguous(DType::kFloat32, {SymInt(size)}));
  }

  QuantizeResult& result_;
  ExportedProgram& program_;
  const QuantizationPatterns& patterns_;
  GraphEditor editor_;
  const Graph& graph_;
  OpBuilder builder_;
  ConstantInputs constants_;
  EncodedWeights& encoded_;
  StoredWeights weights_;
  std::map<ValueId, Argument> rows_;  // dequantized tensors, by the tensor
  absl::btree_set<ValueId> quantized_, replaced_;
};

}  // namespace

bool IsSameWeight(const Anchor& a, const Anchor& b) {
  const TensorView x = a.weight.view(), y = b.weight.view();
  if (x.dtype != y.dtype || x.sizes != y.sizes || x.strides != y.strides) return false;
  if (x.data == y.data) return true;
  return a.weight_name == b.weight_name && a.weight.is_contiguous() &&
         std::memcmp(x.data, y.data, x.nbytes()) == 0;
}

absl::StatusOr<std::unique_ptr<ProgramQuantizer>> ProgramQuantizer::Create(
    const ProgramToQuantize& from, const Recipe& recipe, const KernelRegistry* kernels,
    const absl::btree_set<std::string>& changing, EncodedWeights& encoded) {
  auto quantizer =
      std::unique_ptr<ProgramQuantizer>(new ProgramQuantizer(from, recipe, changing, encoded));
  if (!recipe.tables) {
    std::erase_if(quantizer->patterns_.patterns, [](const QuantizationPattern& pattern) {
      return pattern.kind == QuantizationPattern::Kind::kTable && !pattern.bounds;
    });
  }
  if (from.calibration != nullptr && kernels != nullptr) {
    quantizer->statistics_ = std::make_unique<ActivationStatistics>(quantizer->program_, recipe,
                                                                    *kernels, *from.calibration);
  }
  ABSL_RETURN_IF_ERROR(quantizer->Annotated(quantizer->FindAnchors()));
  return quantizer;
}

absl::Status ProgramQuantizer::ScaleChannels(absl::Span<const ChannelSite> sites,
                                             absl::Span<const std::vector<float>> scales,
                                             ScaledConstants& cache) {
  ABSL_RETURN_IF_ERROR(exir::ScaleChannels(program_, changing_, sites, scales, cache));
  size_t scaled = 0, folded = 0;
  for (size_t i = 0; i < sites.size(); ++i) {
    if (scales[i].empty()) continue;
    ++scaled;
    folded += sites[i].folds() ? 1 : 0;
  }
  anchors_.clear();
  rejections_.clear();
  notes_.clear();
  notes_.push_back(absl::StrCat("channels of ", scaled, " activations are scaled, of ", folded,
                                " in the layers that compute them"));
  return FindAnchors();
}

absl::Status ProgramQuantizer::FindAnchors() {
  if (program_.dialect != IrDialect::kEdge) {
    return absl::FailedPreconditionError(absl::StrCat(
        "expected an edge program, got one of dialect ", IrDialectName(program_.dialect)));
  }
  if (recipe_.is_static()) {
    ABSL_RETURN_IF_ERROR(MergeBatchNorm({.changing = changing_}).run(program_).status());
    ABSL_RETURN_IF_ERROR(WriteConvolutionsAsImages(program_, changing_));
    ABSL_RETURN_IF_ERROR(WriteTransposedConvolutions(program_, changing_, [&](const Node& node) {
      return recipe_.SchemeOf(node, AnchorKind::kConvolution).activation ==
             ActivationNumbers::kStaticInt8;
    }));
  }
  GraphEditor editor(program_.top());
  const ConstantInputs constants(program_, editor, changing_);
  WeightUses found = FindWeightUses(program_, constants);
  for (const Rule& rule : recipe_.rules) {
    const auto matches = [&](const auto& anchor) {
      return rule.Matches(program_.top().node(anchor.node), anchor.kind);
    };
    if (std::none_of(found.uses.begin(), found.uses.end(), matches) &&
        std::none_of(found.rejections.begin(), found.rejections.end(), matches)) {
      notes_.push_back(absl::StrCat("the rule for ", rule.ToString(), " matches no operator"));
    }
  }
  const auto scheme_of = [&](const auto& anchor) {
    return recipe_.SchemeOf(program_.top().node(anchor.node), anchor.kind);
  };
  for (WeightRejection& rejection : found.rejections) {
    if (scheme_of(rejection).quantizes()) rejections_.push_back(std::move(rejection));
  }
  std::vector<WeightUse> statics;
  for (const WeightUse& use : found.uses) {
    const Scheme& scheme = scheme_of(use);
    if (!scheme.quantizes()) continue;
    Anchor anchor{use, scheme, *constants.Find(use.constant), constants.NameOf(use.constant), ""};
    ABSL_ASSIGN_OR_RETURN(anchor.reason,
                          encoded_.UnsupportedReason(anchor.weight, use.rows_first, scheme));
    if (anchor.is_static() && anchor.reason.empty()) statics.push_back(use);
    anchors_.push_back(std::move(anchor));
  }
  for (NodeId rejected : PlaceQuantization(program_, statics, patterns_).rejected) {
    for (Anchor& anchor : anchors_) {
      if (anchor.use.node == rejected) {
        anchor.reason = "the backend does not compute it on integers";
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ProgramQuantizer::Annotated(const absl::Status& status) const {
  return method_.empty() ? status : Annotate(status, absl::StrCat("method '", method_, "'"));
}

std::optional<Placement> ProgramQuantizer::PlacementOf(const KeptAnchors& kept) const {
  std::vector<WeightUse> uses;
  for (const Anchor& anchor : anchors_) {
    if (anchor.is_static() && anchor.reason.empty() && !kept.contains(anchor.use.node)) {
      uses.push_back(anchor.use);
    }
  }
  if (uses.empty()) return std::nullopt;
  return PlaceQuantization(program_, uses, patterns_, recipe_.quantize_io);
}

absl::Status ProgramQuantizer::Plan(const KeptAnchors& kept) {
  const std::optional<Placement> placement = PlacementOf(kept);
  if (!placement.has_value()) return absl::OkStatus();
  if (statistics_ == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("recipe '", recipe_.name, "' needs calibration data"));
  }
  statistics_->Plan(*placement);
  if (!recipe_.bias_correction) return absl::OkStatus();
  for (const Anchor& anchor : anchors_) {
    if (anchor.is_static() && anchor.reason.empty() && !kept.contains(anchor.use.node)) {
      statistics_->PlanMeans(anchor.use);
    }
  }
  return absl::OkStatus();
}

absl::Status ProgramQuantizer::Observe(CallProgress* progress) {
  return is_pending() ? statistics_->Observe(progress) : absl::OkStatus();
}

absl::StatusOr<QuantizeResult> ProgramQuantizer::Quantize(const KeptAnchors& kept) const {
  QuantizeResult result{.program = program_.Clone(),
                        .quantized = {},
                        .unquantized = {},
                        .activations = {},
                        .notes = notes_};
  Quantization quantization(result, patterns_, changing_, encoded_);
  if (const std::optional<Placement> placement = PlacementOf(kept); placement.has_value()) {
    const std::vector<ActivationStatistics::Range> ranges = statistics_->RangesOf(*placement);
    for (const QuantizedActivation& activation : placement->activations) {
      ABSL_RETURN_IF_ERROR(quantization.QuantizeActivation(activation, ranges[activation.group]));
    }
  }
  for (const WeightRejection& rejection : rejections_) {
    quantization.Keep(rejection.node, rejection.reason);
  }
  for (const Anchor& anchor : anchors_) {
    const auto it = kept.find(anchor.use.node);
    if (!anchor.reason.empty() || it != kept.end()) {
      quantization.Keep(anchor.use.node, anchor.reason.empty() ? it->second : anchor.reason);
      continue;
    }
    absl::Span<const double> means;
    if (anchor.is_static() && recipe_.bias_correction) {
      means = statistics_->MeansOf(anchor.use.node);
    }
    ABSL_RETURN_IF_ERROR(quantization.QuantizeAnchor(anchor, means));
    ABSL_RETURN_IF_ERROR(CheckBudget());
  }
  quantization.Finish(anchors_);
  return result;
}

}  // namespace belay::exir
