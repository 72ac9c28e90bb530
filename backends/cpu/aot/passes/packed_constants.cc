#include "backends/cpu/aot/passes/packed_constants.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

using exir::ConstantTensor;
using exir::Storage;

}  // namespace

template <class Pack>
absl::StatusOr<exir::ValueId> PackedConstants::Add(const ConstantView& view,
                                                   std::string_view suffix,
                                                   absl::Span<const uint8_t> order,
                                                   std::optional<int64_t> floats, Pack pack) {
  const std::optional<ConstantTensor> tensor = view.ToTensor();
  ABSL_CHECK(tensor.has_value() && tensor->dtype() == DType::kFloat32);
  const std::string key = absl::StrCat(
      suffix, " ", absl::Hex(reinterpret_cast<uintptr_t>(tensor->storage().bytes.data())), " ",
      tensor->storage_offset(), FormatSizes(tensor->sizes()), FormatSizes(tensor->strides()));
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  if (!floats.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("the packed form of a constant ",
                                                   FormatSizes(tensor->sizes()), " is too large"));
  }
  ABSL_ASSIGN_OR_RETURN(const Storage elements, tensor->Dense(order));
  std::vector<std::byte> bytes(static_cast<size_t>(*floats) * sizeof(float));
  pack(reinterpret_cast<const float*>(elements.bytes.data()),
       reinterpret_cast<float*>(bytes.data()));
  ABSL_ASSIGN_OR_RETURN(
      ConstantTensor packed,
      ConstantTensor::Contiguous(DType::kFloat32, {*floats}, Storage::Own(std::move(bytes))));
  const size_t root = *program_.InputIndex(view.root);
  int next = 0;
  const std::string target = exir::UnusedTensorName(
      program_, absl::StrCat(program_.signature.inputs[root].target, "_", suffix), next);
  const std::string name =
      absl::StrCat(editor_.graph().value(view.root).name, "_", suffix, next - 1);
  const exir::ValueId input = exir::InsertConstantInput(
      program_, editor_, exir::EndOfConstants(program_), name, target,
      exir::TensorMeta::Contiguous(DType::kFloat32, {exir::SymInt(*floats)}));
  program_.constants.emplace(target, std::move(packed));
  made_.emplace(key, input);
  return input;
}

absl::StatusOr<exir::ValueId> PackedConstants::Matrix(const ConstantView& matrix) {
  const int64_t k = *matrix.sizes[0].AsInt(), n = *matrix.sizes[1].AsInt();
  // As the constant has them, so that nothing is copied in between.
  const bool rows = matrix.strides[0] >= matrix.strides[1];
  const uint8_t order[] = {static_cast<uint8_t>(rows ? 0 : 1), static_cast<uint8_t>(rows ? 1 : 0)};
  return Add(matrix, "packed", order, PackedMatrixSize(k, n), [&](const float* b, float* packed) {
    PackMatrix(b, k, n, rows ? n : 1, rows ? 1 : k, packed);
  });
}

absl::StatusOr<exir::ValueId> PackedConstants::Filters(const ConstantView& weight) {
  const int64_t n = *weight.sizes[0].AsInt();
  const int64_t k = *weight.sizes[1].AsInt() * *weight.sizes[2].AsInt() * *weight.sizes[3].AsInt();
  // [o, h, w, c]: each filter is a column.
  const DimOrder order = ChannelsLastOrder(4);
  return Add(weight, "packed", order, PackedMatrixSize(k, n),
             [&](const float* b, float* packed) { PackMatrix(b, k, n, 1, k, packed); });
}

absl::StatusOr<exir::ValueId> PackedConstants::DepthwiseFilters(const ConstantView& weight) {
  const int64_t channels = *weight.sizes[0].AsInt();
  const int64_t taps = *weight.sizes[2].AsInt() * *weight.sizes[3].AsInt();
  return Add(weight, "packed", {}, PackedDepthwiseSize(channels, taps),
             [&](const float* filters, float* packed) {
               PackDepthwise(filters, channels, taps, taps, 1, packed);
             });
}

absl::StatusOr<exir::ValueId> PackedConstants::Vector(const ConstantView& elements) {
  if (elements.rank() == 1 && elements.tensor->sizes().size() == 1 &&
      elements.sizes[0] == exir::SymInt(elements.tensor->sizes()[0])) {
    return elements.root;
  }
  int64_t count = 1;
  for (const exir::SymInt& size : elements.sizes) count *= *size.AsInt();
  return Add(elements, "bias", {}, count,
             [&](const float* from, float* to) { std::copy(from, from + count, to); });
}

bool DropUnusedConstants(exir::ExportedProgram& program, exir::GraphEditor& editor) {
  const absl::btree_set<std::string_view> mutated = exir::MutatedState(program.signature);
  const std::vector<exir::ValueId> inputs(editor.graph().inputs().begin(),
                                          editor.graph().inputs().end());
  std::vector<exir::InputSpec> kept, dropped;
  for (size_t i = 0; i < inputs.size(); ++i) {
    exir::InputSpec& spec = program.signature.inputs[i];
    const bool unused = exir::NamesTensor(spec.kind) && !mutated.contains(spec.target) &&
                        editor.graph().value(inputs[i]).users.empty() &&
                        !editor.graph().IsOutput(inputs[i]);
    if (unused) editor.EraseInput(inputs[i]);
    (unused ? dropped : kept).push_back(spec);
  }
  if (dropped.empty()) return false;
  absl::btree_set<std::string> names;
  for (const exir::InputSpec& spec : kept) names.insert(spec.target);
  program.signature.inputs = std::move(kept);
  for (const exir::InputSpec& spec : dropped) {
    if (names.contains(spec.target)) continue;
    program.state_dict.erase(spec.target);
    program.constants.erase(spec.target);
  }
  return true;
}

}  // namespace belay::cpu
