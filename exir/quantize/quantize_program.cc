#include "exir/quantize/quantize_program.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "exir/backend/transforms/quantized_partition.h"
#include "exir/ir/graph_editor.h"
#include "exir/quantize/channel_scales.h"
#include "exir/quantize/feedback_weights.h"
#include "exir/quantize/mixed_precision.h"
#include "exir/quantize/node_loss.h"
#include "exir/quantize/program_quantizer.h"
#include "exir/quantize/stored_weights.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

namespace {

// Lets sizes of quantized inputs be those of the quantized tensors, so that only quantization uses
// the inputs. Activations of inputs are quantized before all other nodes.
void QuerySizesOfQuantizedInputs(ExportedProgram& program) {
  GraphEditor editor(program.top());
  const Graph& graph = program.top();
  for (ValueId input : graph.inputs()) {
    const std::vector<NodeId> users = graph.value(input).users;
    const auto quantize = std::find_if(users.begin(), users.end(), [&](NodeId user) {
      return graph.node(user).target->has_trait(kQuantizes);
    });
    if (quantize == users.end()) continue;
    for (NodeId user : users) {
      if (graph.node(user).target->aten()->name() != "aten.sym_size.int") continue;
      editor.ReplaceUsesIn(user, input, graph.ResultOf(*quantize));
    }
  }
}

// Changes the types of inputs and outputs to int8. Notes the parameters.
void QuantizeInputsAndOutputs(QuantizeResult& result) {
  const Graph& graph = result.program.top();
  std::vector<std::string> before(graph.outputs().size());
  const auto name_of = [&](ValueId value) { return graph.value(value).name; };
  for (size_t k = 0; k < before.size(); ++k) {
    const ValueId* value = graph.outputs()[k].get_if<ValueId>();
    const NodeId producer = value == nullptr ? NodeId() : graph.value(*value).producer;
    if (!producer.valid() || !graph.node(producer).target->has_trait(kDequantizes)) continue;
    // The dequantized value, as the report names it.
    const ValueId bytes = *graph.node(producer).operand().get_if<ValueId>();
    const NodeId quantize = graph.value(bytes).producer;
    if (quantize.valid()) before[k] = name_of(*graph.node(quantize).operand().get_if<ValueId>());
  }
  QuerySizesOfQuantizedInputs(result.program);
  RemoveFirstQuantizeAndLastDequantize(result.program);
  const auto note = [&](std::string_view kind, size_t index, std::string_view activation) {
    for (const QuantizedTensor& tensor : result.activations) {
      if (tensor.value != activation) continue;
      result.notes.push_back(absl::StrCat(kind, " ", index, " '", activation, "' is int8: scale ",
                                          tensor.parameters.scale, ", zero point ",
                                          tensor.parameters.zero_point));
    }
  };
  size_t index = 0;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (!IsProvidedByCaller(result.program.signature.inputs[i].kind)) continue;
    const TensorMeta* meta = graph.value(graph.inputs()[i]).tensor();
    if (meta != nullptr && meta->dtype == DType::kInt8) {
      note("input", index, name_of(graph.inputs()[i]));
    }
    ++index;
  }
  index = 0;
  for (size_t k = 0; k < before.size(); ++k) {
    if (result.program.signature.outputs[k].kind != OutputKind::kUserOutput) continue;
    note("output", index++, before[k]);
  }
}

}  // namespace

absl::StatusOr<std::vector<QuantizeResult>> QuantizePrograms(
    absl::Span<const ProgramToQuantize> programs, const Recipe& recipe,
    const QuantizeOptions& options) {
  absl::btree_set<std::string> changing = options.changing;
  for (const ProgramToQuantize& program : programs) {
    const absl::btree_set<std::string_view> variable = VariableTensors(program.program->signature);
    changing.insert(variable.begin(), variable.end());
  }
  EncodedWeights encoded(options.threads);
  std::vector<std::unique_ptr<ProgramQuantizer>> quantizers;
  for (const ProgramToQuantize& program : programs) {
    ABSL_ASSIGN_OR_RETURN(
        quantizers.emplace_back(),
        ProgramQuantizer::Create(program, recipe, options.kernels, changing, encoded));
  }
  CallProgress progress{.report = options.progress};
  if (options.kernels != nullptr) {
    std::vector<CalibratedProgram> methods;
    for (const auto& quantizer : quantizers) {
      methods.push_back({&quantizer->program(), quantizer->calibration()});
    }
    size_t failed = 0;
    const absl::Status shared = ShareState(methods, *options.kernels, &progress, failed);
    if (!shared.ok()) return quantizers[failed]->Annotated(shared);
  }
  ABSL_RETURN_IF_ERROR(ScaleChannelsByData(quantizers, recipe, options.kernels, progress));
  ABSL_RETURN_IF_ERROR(EncodeWithErrorFeedback(quantizers, options.kernels, encoded, progress));
  MixedPrecision mixed{.kept = std::vector<KeptAnchors>(programs.size()), .losses = {}};
  if (options.max_loss.has_value()) {
    if (options.kernels == nullptr) {
      return absl::InvalidArgumentError("measuring the loss needs kernels");
    }
    ABSL_ASSIGN_OR_RETURN(
        mixed, ChooseMixedPrecision(quantizers, *options.max_loss, *options.kernels, progress));
  }
  const auto measures_nodes = [&](size_t i) {
    return options.node_losses && options.kernels != nullptr && programs[i].calibration != nullptr;
  };
  for (size_t i = 0; i < programs.size(); ++i) {
    ABSL_RETURN_IF_ERROR(quantizers[i]->Annotated(quantizers[i]->Plan(mixed.kept[i])));
    if (quantizers[i]->is_pending()) progress.planned += programs[i].calibration->calls();
    if (measures_nodes(i)) progress.planned += 2 * int64_t{programs[i].calibration->calls()};
  }
  std::vector<QuantizeResult> results;
  for (size_t i = 0; i < programs.size(); ++i) {
    ABSL_RETURN_IF_ERROR(quantizers[i]->Annotated(quantizers[i]->Observe(&progress)));
    absl::StatusOr<QuantizeResult> result = quantizers[i]->Quantize(mixed.kept[i]);
    if (!result.ok()) return quantizers[i]->Annotated(result.status());
    if (measures_nodes(i)) {
      absl::StatusOr<NodeLosses> losses =
          MeasureNodeLosses(quantizers[i]->program(), result->program, result->replaced,
                            *options.kernels, *programs[i].calibration, &progress);
      if (!losses.ok()) return quantizers[i]->Annotated(losses.status());
      result->node_losses = *std::move(losses);
    }
    if (recipe.quantize_io) QuantizeInputsAndOutputs(*result);
    if (options.max_loss.has_value()) result->measured = std::move(mixed.losses[i]);
    results.push_back(*std::move(result));
  }
  return results;
}

absl::StatusOr<QuantizeResult> QuantizeProgram(const ProgramToQuantize& program,
                                               const Recipe& recipe,
                                               const QuantizeOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::vector<QuantizeResult> results,
                        QuantizePrograms(absl::MakeConstSpan(&program, 1), recipe, options));
  return std::move(results[0]);
}

}  // namespace belay::exir
