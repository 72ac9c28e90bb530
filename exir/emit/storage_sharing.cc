#include "exir/emit/storage_sharing.h"

#include <algorithm>
#include <string_view>

#include "exir/emit/lifetimes.h"
#include "exir/emit/method_facts.h"
#include "runtime/schema/operator_facts.h"

namespace belay::exir {
namespace {

// Required equal properties of an elementwise operator's output and the operand that it overwrites.
bool SameTensor(const schema::Tensor& a, const schema::Tensor& b) {
  return a.dtype() == b.dtype() && a.dynamic_dims() == b.dynamic_dims() &&
         a.dim_order() == b.dim_order() &&
         std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin(), b.sizes().end());
}

}  // namespace

StorageSharing::StorageSharing(const schema::Method& method,
                               absl::Span<const OpOverload* const> operators)
    : method_(&method),
      operators_(operators),
      in_arena_(method.values_size()),
      links_(method.values_size()),
      bytes_(method.values_size()),
      holds_output_(method.values_size()),
      writers_(CountWriters(method)),
      elided_(method.instructions_size()),
      constants_(method.values_size()) {
  for (int v = 0; v < method.values_size(); ++v) {
    links_[v].parent = v;
    if (!IsArenaTensor(method.values(v))) continue;
    in_arena_[v] = true;
    bytes_[v] = TensorBytes(method.values(v).tensor());
  }
  for (uint32_t output : method.outputs()) holds_output_[output] = true;
}

StorageSharing::Place StorageSharing::Find(uint32_t value) const {
  // Union-find with path compression: walk to the root, then relink the path.
  uint32_t root = value;
  uint64_t offset = 0;
  while (links_[root].parent != root) {
    offset += links_[root].offset;
    root = links_[root].parent;
  }
  uint64_t rest = offset;
  while (links_[value].parent != root) {
    const Link link = links_[value];
    links_[value] = {root, rest};
    rest -= link.offset;
    value = link.parent;
  }
  return {root, offset};
}

std::optional<StorageSharing::Place> StorageSharing::PlaceOf(uint32_t value) const {
  if (!in_arena_[value]) return std::nullopt;
  return Find(value);
}

void StorageSharing::Merge(uint32_t storage, Place into) {
  links_[storage] = {into.storage, into.offset};
  if (holds_output_[storage]) holds_output_[into.storage] = true;
}

KernelCallView StorageSharing::CallAt(uint32_t i) const {
  const schema::KernelCall& call = method_->instructions(static_cast<int>(i)).kernel();
  return {*method_, call, operators_[call.operator_()]};
}

bool StorageSharing::ShareView(uint32_t i, const SharingOptions& options) {
  const schema::KernelCall& call = method_->instructions(static_cast<int>(i)).kernel();
  const auto pieces = ViewOfArgument(CallAt(i));
  if (!pieces.has_value()) return false;
  const uint32_t whole = call.arguments(0);
  const schema::Tensor& tensor = method_->values(static_cast<int>(whole)).tensor();
  uint64_t taken = 0;
  for (const ViewPiece& piece : *pieces) {
    if (!in_arena_[piece.value] || writers_[piece.value] != 1 || piece.value == whole) return false;
    taken += bytes_[Find(piece.value).storage];
  }
  if (tensor.location_case() == schema::Tensor::kConstant) {
    // A slice of a constant would need another constant.
    if (pieces->size() != 1 || (*pieces)[0].slice) return false;
    constants_[(*pieces)[0].value] = tensor.constant();
    in_arena_[(*pieces)[0].value] = false;
    return true;
  }
  if (constants_[whole].has_value()) {
    if (pieces->size() != 1 || (*pieces)[0].slice) return false;
    constants_[(*pieces)[0].value] = constants_[whole];
    in_arena_[(*pieces)[0].value] = false;
    return true;
  }
  if (!in_arena_[whole] || writers_[whole] != 1) return false;
  const Place place = Find(whole);
  for (const ViewPiece& piece : *pieces) {
    if ((place.offset + piece.offset) % options.alignment != 0) return false;
    if (HoldsOutput(place.storage) && HoldsOutput(Find(piece.value).storage)) return false;
    if (piece.slice && !options.slices && 2 * taken < bytes_[place.storage]) return false;
  }
  for (const ViewPiece& piece : *pieces) {
    Merge(piece.value, {place.storage, place.offset + piece.offset});
  }
  return true;
}

bool StorageSharing::ShareJoin(uint32_t i, const SharingOptions& options) {
  const schema::KernelCall& call = method_->instructions(static_cast<int>(i)).kernel();
  const auto pieces = JoinedOperands(CallAt(i));
  if (!pieces.has_value()) return false;
  const uint32_t result = call.outputs(0);
  if (!in_arena_[result] || writers_[result] != 1) return false;
  const Place place = Find(result);
  bool output = HoldsOutput(place.storage);
  std::vector<uint32_t> storages;
  for (const ViewPiece& piece : *pieces) {
    if (!in_arena_[piece.value] || writers_[piece.value] != 1) return false;
    const Place operand = Find(piece.value);
    const uint64_t bytes = TensorBytes(method_->values(static_cast<int>(piece.value)).tensor());
    if (operand.offset != 0 || bytes_[operand.storage] != bytes) return false;
    if ((place.offset + piece.offset) % options.alignment != 0) return false;
    if (HoldsOutput(operand.storage)) {
      if (output) return false;
      output = true;
    }
    storages.push_back(operand.storage);
  }
  std::sort(storages.begin(), storages.end());
  if (std::adjacent_find(storages.begin(), storages.end()) != storages.end()) return false;
  if (std::binary_search(storages.begin(), storages.end(), place.storage)) return false;
  for (const ViewPiece& piece : *pieces) {
    Merge(Find(piece.value).storage, {place.storage, place.offset + piece.offset});
  }
  return true;
}

bool StorageSharing::ShareDynamicView(uint32_t i) {
  const schema::KernelCall& call = method_->instructions(static_cast<int>(i)).kernel();
  if (!HasBytesOfArgument(CallAt(i))) return false;
  const uint32_t from = call.arguments(0), to = call.outputs(0);
  if (from == to || !in_arena_[from] || !in_arena_[to] || writers_[from] != 1 ||
      writers_[to] != 1) {
    return false;
  }
  const Place place = Find(from);
  if (HoldsOutput(place.storage) && HoldsOutput(to)) return false;
  Merge(to, place);
  return true;
}

void StorageSharing::ShareViews(const SharingOptions& options) {
  for (uint32_t i = 0; i < elided_.size(); ++i) {
    if (!method_->instructions(static_cast<int>(i)).has_kernel()) continue;
    if (ShareView(i, options) || (options.joins && ShareJoin(i, options))) {
      elided_[i] = true;
    } else {
      ShareDynamicView(i);
    }
  }
}

void StorageSharing::ShareDyingOperands(absl::Span<const uint32_t> order,
                                        absl::Span<const uint32_t> shapes) {
  std::vector<Interval> intervals = ComputeIntervals(*method_, order);
  // By root: live interval of its storage, over all values in it.
  std::vector<Interval> alive(intervals.size());
  for (uint32_t v = 0; v < intervals.size(); ++v) {
    if (in_arena_[v]) alive[Find(v).storage].Add(intervals[v]);
  }
  for (uint32_t position = 0; position < order.size(); ++position) {
    const schema::Instruction& instruction =
        method_->instructions(static_cast<int>(order[position]));
    const std::string_view op = OperatorOf(*method_, instruction);
    if (FactsOf(op).output_over != OutputOverArgument::kElementwise ||
        instruction.kernel().outputs_size() != 1) {
      continue;
    }
    const schema::KernelCall& call = instruction.kernel();
    const uint32_t out = call.outputs(0);
    if (!in_arena_[out] || writers_[out] != 1) continue;
    const schema::Tensor& tensor = method_->values(static_cast<int>(out)).tensor();
    const uint64_t bytes = TensorBytes(tensor);
    const Place target = Find(out);
    if (bytes == 0 || target.offset != 0 || bytes_[target.storage] != bytes) continue;
    const auto fits = [&](uint32_t v) {
      return in_arena_[v] && SameTensor(method_->values(static_cast<int>(v)).tensor(), tensor) &&
             shapes[v] == shapes[out] && Find(v).offset == 0;
    };
    for (uint32_t v : call.arguments()) {
      if (!fits(v)) continue;
      const uint32_t storage = Find(v).storage;
      if (storage == target.storage || bytes_[storage] != bytes ||
          alive[storage].last != position) {
        continue;
      }
      // All operands in this storage must be read elementwise in step with the result.
      bool in_step = true;
      for (uint32_t other : call.arguments()) {
        ForEachElement(*method_, other, [&](uint32_t element) {
          if (in_arena_[element] && Find(element).storage == storage && !fits(element)) {
            in_step = false;
          }
        });
      }
      if (!in_step) continue;
      alive[storage].Add(alive[target.storage]);
      Merge(target.storage, {storage, 0});
      break;
    }
  }
}

}  // namespace belay::exir
