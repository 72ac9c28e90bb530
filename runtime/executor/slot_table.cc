#include "runtime/executor/slot_table.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/annotate.h"
#include "runtime/core/read_ahead.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/movable_outputs.h"
#include "runtime/executor/state_content.h"
#include "runtime/program/metadata_path.h"

namespace belay {
namespace {

EValue ZeroOf(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::kInt:
      return EValue(int64_t{0});
    case ScalarKind::kDouble:
      return EValue(0.0);
    case ScalarKind::kBool:
      return EValue(false);
  }
  return EValue();
}

// Bytes to allocate for a bank, so that it can be moved to its alignment.
uint64_t AllocatedBytes(const BankPlan& bank) {
  return bank.bytes == 0 ? 0 : bank.bytes + (bank.alignment - kArenaAlignment);
}

}  // namespace

bool IsAlignedForElements(const void* data, DType dtype) {
  const size_t alignment = IsComplex(dtype) ? DTypeSize(dtype) / 2 : DTypeSize(dtype);
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

absl::StatusOr<std::unique_ptr<SlotTable>> SlotTable::Create(const MethodPlan& plan,
                                                             MemoryBudget& memory,
                                                             absl::Span<const BankMemory> banks) {
  std::unique_ptr<SlotTable> table(new SlotTable(plan, memory));
  ABSL_ASSIGN_OR_RETURN(table->bank_data_, AddressesOfBanks(plan, banks));
  for (size_t i = 0; i < plan.banks.size() && !table->ReservesArena(); ++i) {
    if (table->bank_data_[i] != nullptr) continue;
    ABSL_RETURN_IF_ERROR(memory.Take(AllocatedBytes(plan.banks[i]), "the arena"));
  }
  ABSL_RETURN_IF_ERROR(memory.Take(plan.state_bytes, "the state"));
  ABSL_RETURN_IF_ERROR(table->MakeSlots(memory));
  table->movable_ = MovableOutputs(plan);
  return table;
}

void SlotTable::AddMemory(const MethodPlan& plan, MemoryBound& bound) {
  // The last term is a copied constant, in a vector that grows by doubling.
  constexpr uint64_t kValue = sizeof(EValue) + sizeof(uint8_t) + sizeof(const TensorPlan*) +
                              sizeof(void*) + sizeof(uint8_t) + sizeof(ListView) +
                              3 * sizeof(AlignedBuffer);
  bound.Add(1, sizeof(SlotTable));
  if (plan.reserves_arena) {
    bound.Add(1, sizeof(ReservedBlock));
    bound.Add(1, PageRanges::MemoryBytes(plan.values.size()));
  }
  bound.Add(plan.banks.size(), sizeof(std::byte*) + 3 * sizeof(AlignedBuffer) + 1);
  bound.Add(plan.values.size(), kValue);
  AddMovableOutputsMemory(plan, bound);
  for (const ValuePlan& value : plan.values) {
    if (const auto* list = std::get_if<ListPlan>(&value)) {
      bound.Add(list->elements.size(), sizeof(EValue*));
    }
  }
}

absl::StatusOr<void*> SlotTable::ConstantData(const TensorPlan& tensor, MemoryBudget& memory) {
  const std::byte* data = tensor.constant.data();
  const bool aligned = IsAlignedForElements(data, tensor.dtype);
  // Constants are never written: no instruction has one as an output, and CheckMutable() rejects
  // them.
  if (aligned || tensor.constant.empty()) return const_cast<std::byte*>(data);
  ABSL_RETURN_IF_ERROR(memory.Take(tensor.constant.size(), "a copy of a misaligned constant"));
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer copy,
                        AlignedBuffer::Create(tensor.constant.size(), memory.allocator()));
  std::memcpy(copy.data(), data, tensor.constant.size());
  copied_constants_.push_back(std::move(copy));
  return copied_constants_.back().data();
}

absl::Status SlotTable::MakeSlots(MemoryBudget& memory) {
  const size_t count = plan_.values.size();
  slots_.reserve(count);  // lists point into it
  kinds_.resize(count);
  tensor_plans_.resize(count, nullptr);
  tensor_data_.resize(count, nullptr);
  mutated_.resize(count, 0);
  for (const InputPlan& input : plan_.inputs) mutated_[input.value] = input.mutated;
  size_t elements = 0;
  std::vector<absl::Span<const std::byte>> constants;
  for (const ValuePlan& value : plan_.values) {
    if (const auto* list = std::get_if<ListPlan>(&value)) elements += list->elements.size();
    const auto* tensor = std::get_if<TensorPlan>(&value);
    if (tensor != nullptr && !tensor->constant.empty()) constants.push_back(tensor->constant);
  }
  ReadAheadAll(std::move(constants));
  list_elements_.reserve(elements);  // lists point into it
  lists_.resize(count);
  for (uint32_t v = 0; v < count; ++v) {
    const ValuePlan& value = plan_.values[v];
    if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
      tensor_plans_[v] = tensor;
      if (tensor->location == TensorPlan::Location::kConstant) {
        ABSL_ASSIGN_OR_RETURN(tensor_data_[v], ConstantData(*tensor, memory));
      }
    } else if (const auto* list = std::get_if<ListPlan>(&value)) {
      EValue* const* first = list_elements_.data() + list_elements_.size();
      for (const uint32_t element : list->elements) {
        list_elements_.push_back(slots_.data() + element);
      }
      lists_[v] = {absl::MakeConstSpan(first, list->elements.size())};
    }
    slots_.push_back(InitialValue(v));
    kinds_[v] = static_cast<uint8_t>(slots_[v].kind());
  }
  return absl::OkStatus();
}

EValue SlotTable::InitialValue(uint32_t value) {
  return std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, TensorPlan>) {
          TensorView view;
          view.dtype = v.dtype;
          view.sizes = v.sizes;
          for (int d = 0; IsEmptied(v) && d < view.rank(); ++d) {
            if ((v.dynamic_dims >> d) & 1) view.sizes[d] = 0;
          }
          view.strides = DenseStrides(view.sizes, v.dim_order);
          view.data = tensor_data_[value];
          return EValue(view);
        } else if constexpr (std::is_same_v<T, ListPlan>) {
          return EValue(lists_[value]);
        } else if constexpr (std::is_same_v<T, ScalarKind>) {
          return ZeroOf(v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return EValue(std::string_view(v));
        } else {
          return EValue(v);
        }
      },
      plan_.values[value]);
}

absl::Status SlotTable::AllocateBanks(ReusableBlocks* arenas) {
  if (ReservesArena()) {
    const size_t tensors =
        absl::c_count_if(tensor_plans_, [](const TensorPlan* tensor) { return tensor != nullptr; });
    ABSL_ASSIGN_OR_RETURN(std::shared_ptr<ReservedBlock> block,
                          arenas == nullptr
                              ? ReservedBlock::Create(plan_.arena_bytes, memory_->allocator())
                              : arenas->Reserve(plan_.arena_bytes));
    reserved_.emplace(std::move(block), tensors, *memory_);
    bank_data_[0] = reserved_->data();
    return TouchStaticTensors();
  }
  for (size_t i = 0; i < plan_.banks.size(); ++i) {
    const BankPlan& bank = plan_.banks[i];
    if (bank_data_[i] != nullptr) {
      std::memset(bank_data_[i], 0, static_cast<size_t>(bank.bytes));
    } else if (arenas != nullptr && plan_.banks.size() == 1 && bank.alignment == kArenaAlignment) {
      ABSL_ASSIGN_OR_RETURN(bank_data_[i], arenas->Get(bank.bytes));
    } else {
      ABSL_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                            AlignedBuffer::Create(AllocatedBytes(bank), memory_->allocator()));
      const uint64_t excess = reinterpret_cast<uintptr_t>(buffer.data()) % bank.alignment;
      bank_data_[i] = buffer.data() + (excess == 0 ? 0 : bank.alignment - excess);
      allocated_banks_.push_back(std::move(buffer));
    }
  }
  return absl::OkStatus();
}

absl::Status SlotTable::AllocateMemory(SharedState* shared, ReusableBlocks* arenas) {
  ABSL_RETURN_IF_ERROR(AllocateBanks(arenas));
  if (shared == nullptr) {
    ABSL_ASSIGN_OR_RETURN(state_, AlignedBuffer::Create(plan_.state_bytes, memory_->allocator()));
  }
  for (uint32_t v = 0; v < slots_.size(); ++v) {
    const TensorPlan* tensor = tensor_plans_[v];
    if (tensor == nullptr || tensor->max_bytes == 0) continue;  // empty: no memory
    if (tensor->location == TensorPlan::Location::kArena) {
      tensor_data_[v] = ArenaAddress(tensor->offset);
    } else if (tensor->location == TensorPlan::Location::kState && shared == nullptr) {
      tensor_data_[v] = state_.data() + tensor->offset;
    }
    slots_[v].get_if<TensorView>()->data = tensor_data_[v];
  }
  if (shared == nullptr) return absl::OkStatus();
  for (const StatePlan& state : plan_.state) {
    const absl::StatusOr<TensorView> buffer = shared->Find(state.name);
    TensorView& view = *slots_[state.value].get_if<TensorView>();
    if (!buffer.ok() || buffer->dtype != view.dtype || !(buffer->sizes == view.sizes) ||
        !(buffer->strides == view.strides)) {
      return absl::InvalidArgumentError(
          absl::StrCat("method ", Quoted(plan_.name), " has the state ", Quoted(state.name), ", ",
                       view.ToString(), "; the shared state has ",
                       buffer.ok() ? buffer->ToString() : "none of this name"));
    }
    tensor_data_[state.value] = view.data = buffer->data;
  }
  return absl::OkStatus();
}

absl::Status SlotTable::TouchStaticTensors() {
  for (const TensorPlan* tensor : tensor_plans_) {
    if (tensor == nullptr || !tensor->is_static() ||
        tensor->location != TensorPlan::Location::kArena) {
      continue;
    }
    ABSL_RETURN_IF_ERROR(reserved_->Touch(tensor->offset, tensor->max_bytes));
  }
  return absl::OkStatus();
}

void SlotTable::EmptyDynamicTensors() {
  if (!reserved_.has_value()) return;
  emptied_ = true;
  for (uint32_t v = 0; v < slots_.size(); ++v) {
    if (tensor_plans_[v] != nullptr && IsEmptied(*tensor_plans_[v])) slots_[v] = InitialValue(v);
  }
}

bool SlotTable::InputsUseArena() const {
  return absl::c_any_of(plan_.inputs, [&](const InputPlan& input) {
    const TensorView* view = slots_[input.value].get_if<TensorView>();
    return view != nullptr && reserved_->Contains(view->data);
  });
}

absl::Status SlotTable::StartCall() {
  if (!reserved_.has_value()) return absl::OkStatus();
  size_t sizes = 0;
  for (const InputPlan& input : plan_.inputs) {
    const EValue& slot = slots_[input.value];
    if (const TensorView* view = slot.get_if<TensorView>()) {
      sizes = absl::HashOf(sizes, absl::Span<const int64_t>(view->sizes));
    } else if (const int64_t* number = slot.get_if<int64_t>()) {
      sizes = absl::HashOf(sizes, *number);
    }
  }
  const bool same_sizes = std::exchange(input_sizes_, sizes) == sizes;
  if (reserved_->WasDiscarded()) {
    reserved_->Forget();
    EmptyDynamicTensors();
    return TouchStaticTensors();
  }
  if (same_sizes) return absl::OkStatus();
  if (!reserved_->IsLarge() || InputsUseArena()) return absl::OkStatus();
  reserved_->Discard();
  EmptyDynamicTensors();
  return TouchStaticTensors();
}

bool SlotTable::MoveOutput(uint32_t value, void* data) {
  if (data == nullptr) data = ArenaAddress(tensor_plans_[value]->offset);
  if (tensor_data_[value] == data) return false;
  tensor_data_[value] = data;
  slots_[value].get_if<TensorView>()->data = data;
  return true;
}

void SlotTable::ResetState() {
  for (const StatePlan& state : plan_.state) {
    WriteInitialContent(state, tensor_plans_[state.value]->max_bytes, /*is_zero=*/false,
                        tensor_data_[state.value]);
  }
}

EValue* SlotTable::output_slot(uint32_t value) {
  return std::holds_alternative<None>(plan_.values[value]) ? &dropped_ : &slots_[value];
}

absl::Status SlotTable::RestoreSlot(uint32_t value) {
  const std::string got = slots_[value].KindName();
  slots_[value] = InitialValue(value);
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", slots_[value].KindName(), ", the kernel computed ", got));
}

std::optional<uint32_t> SlotTable::ValueAt(const void* address) const {
  const uintptr_t first = reinterpret_cast<uintptr_t>(slots_.data());
  // Wraps to a huge value for addresses before the slots.
  const uintptr_t distance = reinterpret_cast<uintptr_t>(address) - first;
  if (distance >= slots_.size() * sizeof(EValue)) return std::nullopt;
  return static_cast<uint32_t>(distance / sizeof(EValue));
}

absl::Status SlotTable::Resize(TensorView& tensor, absl::Span<const int64_t> sizes) {
  if (SameList<int64_t>(tensor.sizes, sizes)) return absl::OkStatus();
  const std::optional<uint32_t> value = ValueAt(&tensor);
  const TensorPlan* plan = value.has_value() ? tensor_plans_[*value] : nullptr;
  if (plan == nullptr) return absl::InternalError("the tensor does not belong to this method");
  if (sizes.size() != plan->sizes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", plan->sizes.size(), " dimensions ",
                                                   FormatSizes(plan->sizes), ", got ",
                                                   FormatSizes(sizes)));
  }
  const bool fixed = plan->location != TensorPlan::Location::kArena;
  for (int d = 0; d < static_cast<int>(sizes.size()); ++d) {
    const int64_t planned = fixed ? tensor.sizes[d] : plan->sizes[d];
    const bool dynamic = !fixed && ((plan->dynamic_dims >> d) & 1) != 0;
    if (dynamic ? sizes[d] > planned || sizes[d] < 0 : sizes[d] != planned) {
      const std::string message =
          absl::StrCat("dimension ", d, ": ", dynamic ? "expected at most " : "expected ", planned,
                       ", got ", sizes[d], " (", FormatSizes(sizes), ")");
      return dynamic ? absl::OutOfRangeError(message) : absl::InvalidArgumentError(message);
    }
  }
  if (!fixed && reserved_.has_value()) {
    uint64_t bytes = DTypeSize(plan->dtype);  // at most plan->max_bytes
    for (const int64_t size : sizes) bytes *= static_cast<uint64_t>(size);
    const absl::Status status = reserved_->Touch(plan->offset, bytes);
    if (!status.ok()) [[unlikely]] {
      return Annotate(status,
                      absl::StrCat("a tensor ", DTypeName(plan->dtype), FormatSizes(sizes)));
    }
  }
  tensor.sizes = Sizes(sizes);
  tensor.strides = DenseStrides(tensor.sizes, plan->dim_order);
  return absl::OkStatus();
}

absl::Status SlotTable::CheckMutable(const EValue& argument) {
  const std::optional<uint32_t> value = ValueAt(&argument);
  const TensorPlan* plan = value.has_value() ? tensor_plans_[*value] : nullptr;
  if (plan == nullptr) return absl::InternalError("the argument is not a tensor of this method");
  switch (plan->location) {
    case TensorPlan::Location::kArena:
    case TensorPlan::Location::kState:
      return absl::OkStatus();
    case TensorPlan::Location::kConstant:
      return absl::InvalidArgumentError("the operator writes to it, and it is a constant");
    case TensorPlan::Location::kExternal:
      if (mutated_[*value]) return absl::OkStatus();
      return absl::InvalidArgumentError(
          "the operator writes to it, and it is an input that the program does not mutate");
  }
  return absl::OkStatus();
}

void SlotTable::AddTables(CallTables& tables) const {
  tables.Add(absl::MakeConstSpan(kinds_));
  tables.Add(absl::MakeConstSpan(tensor_plans_));
  tables.Add(absl::MakeConstSpan(tensor_data_));
  tables.Add(absl::MakeConstSpan(movable_));
  tables.Add(absl::MakeConstSpan(slots_));
  tables.Add(absl::MakeConstSpan(plan_.values));
}

uint64_t SlotTable::memory_bytes() const {
  uint64_t bytes = state_.size();
  bytes += reserved_.has_value() ? reserved_->touched_bytes() : plan_.arena_bytes;
  for (const AlignedBuffer& copy : copied_constants_) bytes += copy.size();
  return bytes;
}

}  // namespace belay
