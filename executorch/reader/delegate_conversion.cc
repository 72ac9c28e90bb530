#include "executorch/reader/delegate_conversion.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

// Sorted by key.
class NamedData final : public NamedDataMap {
 public:
  explicit NamedData(absl::Span<const NamedDataPlan> entries) : entries_(entries) {}
  absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view key) const override {
    const auto it = std::lower_bound(
        entries_.begin(), entries_.end(), key,
        [](const NamedDataPlan& entry, std::string_view wanted) { return entry.key < wanted; });
    if (it != entries_.end() && it->key == key) return it->bytes;
    return absl::NotFoundError(absl::StrCat("no named data has the key ", Quoted(key)));
  }

 private:
  absl::Span<const NamedDataPlan> entries_;
};

std::string PlaceOf(const ForeignDelegate& delegate) {
  return absl::StrCat("method ", Quoted(delegate.method), ", delegate ", delegate.index);
}

bool IsScalar(const schema::Value& value) { return !value.has_tensor() && !value.has_list(); }

absl::StatusOr<std::vector<DelegateTensor>> TensorsOf(
    const schema::Method& method, const google::protobuf::RepeatedField<uint32_t>& values,
    bool with_scalars) {
  std::vector<DelegateTensor> tensors;
  for (const uint32_t index : values) {
    const schema::Value& value = method.values(static_cast<int>(index));
    if (with_scalars && IsScalar(value)) {
      tensors.emplace_back().is_scalar = true;
      continue;
    }
    if (!value.has_tensor()) {
      return absl::UnimplementedError(absl::StrCat("value ", index, ": expected a tensor",
                                                   with_scalars ? " or a scalar" : "",
                                                   " as an operand of a delegate"));
    }
    const schema::Tensor& tensor = value.tensor();
    DelegateTensor& added = tensors.emplace_back();
    added.dtype = static_cast<DType>(tensor.dtype());
    for (const int64_t size : tensor.sizes()) added.sizes.push_back(size);
    for (const char dim : tensor.dim_order()) added.dim_order.push_back(static_cast<uint8_t>(dim));
    added.dynamic = tensor.dynamic_dims() != 0;
  }
  return tensors;
}

// The delegates of a method, with the tensors of their calls. `problems` are parallel: why a
// delegate can't be converted, or OK.
void AddDelegates(const schema::Method& method, const ProgramParts& parts,
                  std::vector<ForeignDelegate>& delegates, std::vector<absl::Status>& problems) {
  const size_t first = delegates.size();
  for (const schema::Delegate& wire : method.delegates()) {
    ForeignDelegate& added = delegates.emplace_back();
    added.method = method.name();
    added.index = static_cast<uint32_t>(delegates.size() - 1 - first);
    added.backend_id = wire.backend_id();
    added.payload = parts.segments[wire.segment()].bytes;
  }
  problems.resize(delegates.size());
  std::vector<bool> called(delegates.size() - first, false);
  for (const schema::Instruction& instruction : method.instructions()) {
    if (!instruction.has_delegate()) continue;
    const schema::DelegateCall& call = instruction.delegate();
    const size_t index = first + call.delegate();
    ForeignDelegate& delegate = delegates[index];
    absl::StatusOr<std::vector<DelegateTensor>> arguments =
        TensorsOf(method, call.arguments(), /*with_scalars=*/true);
    absl::StatusOr<std::vector<DelegateTensor>> outputs =
        TensorsOf(method, call.outputs(), /*with_scalars=*/false);
    absl::Status& problem = problems[index];
    problem.Update(arguments.status());
    problem.Update(outputs.status());
    if (problem.ok() && called[call.delegate()] &&
        !(delegate.arguments == *arguments && delegate.outputs == *outputs)) {
      problem = absl::UnimplementedError("several calls with tensors of different types");
    }
    if (!problem.ok()) continue;
    called[call.delegate()] = true;
    delegate.arguments = *std::move(arguments);
    delegate.outputs = *std::move(outputs);
  }
}

// Removes the scalar arguments of the calls of these delegates, by index in the method.
void RemoveScalars(const std::vector<bool>& replaced, schema::Method& method) {
  for (schema::Instruction& instruction : *method.mutable_instructions()) {
    if (!instruction.has_delegate() || !replaced[instruction.delegate().delegate()]) continue;
    auto& arguments = *instruction.mutable_delegate()->mutable_arguments();
    const auto first = std::remove_if(arguments.begin(), arguments.end(), [&](uint32_t value) {
      return IsScalar(method.values(static_cast<int>(value)));
    });
    arguments.Truncate(static_cast<int>(first - arguments.begin()));
  }
}

// Adds entries; those with a key and bytes of the file are the file's.
absl::Status AddNamedData(std::vector<NamedDataPlan> added, std::vector<NamedDataPlan>& all) {
  const auto by_key = [](const NamedDataPlan& a, const NamedDataPlan& b) { return a.key < b.key; };
  std::sort(added.begin(), added.end(), by_key);
  std::vector<NamedDataPlan> merged;
  std::merge(std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()),
             std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()),
             std::back_inserter(merged), by_key);
  all.clear();
  for (NamedDataPlan& entry : merged) {
    if (all.empty() || all.back().key != entry.key) {
      all.push_back(std::move(entry));
      continue;
    }
    const absl::Span<const std::byte> known = all.back().bytes;
    if (!std::equal(known.begin(), known.end(), entry.bytes.begin(), entry.bytes.end())) {
      return absl::InvalidArgumentError(
          absl::StrCat("named_data: the key ", Quoted(entry.key),
                       " is that of a converted delegate's data, with other bytes"));
    }
    all.back().alignment = std::max(all.back().alignment, entry.alignment);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const void>> ConvertDelegates(const DelegateConverter& converter,
                                                             const Limits& limits,
                                                             schema::Program& metadata,
                                                             ProgramParts& parts,
                                                             std::vector<std::string>& notes) {
  std::vector<ForeignDelegate> delegates;
  std::vector<absl::Status> problems;
  for (const schema::Method& method : metadata.methods()) {
    AddDelegates(method, parts, delegates, problems);
  }
  std::vector<ForeignDelegate> offered;
  for (size_t i = 0; i < delegates.size(); ++i) {
    if (problems[i].ok()) {
      offered.push_back(std::move(delegates[i]));
    } else {
      notes.push_back(absl::StrCat(PlaceOf(delegates[i]), " stays with ", delegates[i].backend_id,
                                   ": ", problems[i].message()));
    }
  }
  if (offered.empty()) return nullptr;
  ABSL_ASSIGN_OR_RETURN(ConvertedDelegates converted,
                        converter(offered, NamedData(parts.named_data), limits, parts.file.size()));
  notes.insert(notes.end(), std::make_move_iterator(converted.notes.begin()),
               std::make_move_iterator(converted.notes.end()));
  const bool all = offered.size() == delegates.size() &&
                   std::all_of(converted.delegates.begin(), converted.delegates.end(),
                               [](const auto& delegate) { return delegate.has_value(); });
  if (all) parts.named_data.clear();
  size_t index = 0, next = 0;
  for (schema::Method& method : *metadata.mutable_methods()) {
    std::vector<bool> replaced;
    for (schema::Delegate& delegate : *method.mutable_delegates()) {
      replaced.push_back(false);
      if (!problems[index++].ok()) continue;
      const std::optional<ConvertedDelegate>& replacement = converted.delegates[next++];
      if (!replacement.has_value()) continue;
      replaced.back() = true;
      delegate.set_backend_id(replacement->backend_id);
      delegate.clear_compile_specs();
      delegate.set_segment(static_cast<uint32_t>(parts.segments.size()));
      SegmentPlan& segment = parts.segments.emplace_back();
      segment.kind = SegmentPlan::Kind::kDelegate;
      segment.bytes = replacement->blob;
    }
    RemoveScalars(replaced, method);
  }
  ABSL_RETURN_IF_ERROR(AddNamedData(std::move(converted.named_data), parts.named_data));
  return std::move(converted.owner);
}

}  // namespace belay::pte
