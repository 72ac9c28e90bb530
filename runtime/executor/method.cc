#include "runtime/executor/method.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/backend/delegate_memory.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method_code.h"
#include "runtime/executor/method_inputs.h"
#include "runtime/executor/slot_table.h"
#include "runtime/program/metadata_path.h"

namespace belay {

struct Method::Impl {
  std::unique_ptr<MemoryBudget> arena;  // charged by slots and inputs
  const Program* program;
  const MethodPlan* plan;
  std::unique_ptr<SlotTable> slots;
  MethodInputs inputs;
  MethodCode code;
  ThreadPool* threads;
  EventSink events;
  // Whether an output's address changed since calls were last fixed.
  bool moved_outputs;
  // The next instruction of a call of Step(); nullopt between calls.
  std::optional<size_t> next = std::nullopt;

  // Checks the inputs and prepares memory for a call.
  absl::Status StartCall() {
    next.reset();
    ABSL_RETURN_IF_ERROR(inputs.CheckReady());
    ABSL_RETURN_IF_ERROR(slots->StartCall());
    FixMovedCalls();
    return absl::OkStatus();
  }
  // Fixes the calls whose tensors have new addresses.
  void FixMovedCalls() {
    const bool moved = inputs.TakeMoved();
    if (moved || moved_outputs) code.FixMovedCalls();
    moved_outputs = false;
  }
};

Method::Method(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Method::Method(Method&&) noexcept = default;
Method& Method::operator=(Method&&) noexcept = default;
Method::~Method() = default;

absl::StatusOr<Method> Method::Load(const Program& program, std::string_view name,
                                    const KernelRegistry& kernels, const BackendRegistry& backends,
                                    const MethodOptions& options) {
  MemoryBudget* const memory = options.memory;
  SharedState* const state = options.state;
  DelegateMemory* const shared_memory = options.shared_memory;
  ABSL_ASSIGN_OR_RETURN(const MethodPlan* plan, program.FindMethod(name));
  EventSink events = options.events;
  if (events.log != nullptr) events.owner = events.log->AddMethod(events.owner, plan->name);
  const ScopedEvent load(events, EventKind::kLoad);
  MemoryBound bound;
  bound.Add(1, uint64_t{1} << 16);  // this object, and an error message
  SlotTable::AddMemory(*plan, bound);
  MethodCode::AddMemory(*plan, bound);
  MethodInputs::AddMemory(*plan, bound);
  ABSL_RETURN_IF_ERROR(
      CheckMemory(bound.bytes(), absl::StrCat("the tables of method ", Quoted(plan->name))));
  if (memory != nullptr) {
    ABSL_RETURN_IF_ERROR(
        memory->Take(bound.bytes(), absl::StrCat("the tables of method ", Quoted(plan->name))));
  }
  auto arena = std::make_unique<MemoryBudget>("arena_bytes", program.limits().arena_bytes, memory,
                                              options.allocator);
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<SlotTable> slots,
                        SlotTable::Create(*plan, *arena, options.banks));
  ABSL_ASSIGN_OR_RETURN(MethodCode code, MethodCode::Resolve(program, slots.get(), kernels,
                                                             backends, options.threads, events));
  ABSL_ASSIGN_OR_RETURN(MethodInputs inputs, MethodInputs::Create(slots.get(), *arena));
  {
    const ScopedEvent allocate(events, EventKind::kAllocate);
    ABSL_RETURN_IF_ERROR(
        slots->AllocateMemory(state, shared_memory == nullptr ? nullptr : &shared_memory->arenas));
    if (state == nullptr) slots->ResetState();
  }
  ABSL_RETURN_IF_ERROR(code.Prepare(memory, arena->allocator(), options.backend_options,
                                    shared_memory == nullptr ? nullptr : &shared_memory->scratch));
  slots->EmptyDynamicTensors();
  const bool movable = slots->has_movable_outputs();
  return Method(std::make_unique<Impl>(Impl{std::move(arena), &program, plan, std::move(slots),
                                            std::move(inputs), std::move(code), options.threads,
                                            events, movable}));
}

const Program& Method::program() const { return *impl_->program; }
EventSink Method::events() const { return impl_->events; }
const MethodPlan& Method::plan() const { return *impl_->plan; }
size_t Method::num_inputs() const { return impl_->plan->inputs.size(); }
size_t Method::num_outputs() const { return impl_->plan->outputs.size(); }

absl::Status Method::SetInput(size_t i, const EValue& value) {
  impl_->next.reset();
  return impl_->inputs.Set(i, value);
}

absl::Status Method::Execute(const ExecuteOptions& options) {
  const ScopedEvent execute(impl_->events, EventKind::kExecute);
  ABSL_RETURN_IF_ERROR(impl_->StartCall());
  const ThreadPool::Lease lease(impl_->threads);
  return impl_->code.Run(options);
}

absl::Status Method::ExecuteWithin(Budget& budget) {
  const ScopedEvent execute(impl_->events, EventKind::kExecute);
  ABSL_RETURN_IF_ERROR(impl_->StartCall());
  return impl_->code.RunWithin(budget);
}

absl::StatusOr<std::optional<size_t>> Method::Step(const ExecuteOptions& options) {
  if (!impl_->next.has_value()) {
    ABSL_RETURN_IF_ERROR(impl_->StartCall());
    impl_->next = 0;
  }
  const size_t executed = *impl_->next;
  if (executed == impl_->code.size()) {
    impl_->next.reset();
    return std::nullopt;
  }
  size_t next = executed;
  impl_->next.reset();  // stays so after an error
  const ThreadPool::Lease lease(impl_->threads);
  ABSL_RETURN_IF_ERROR(impl_->code.RunOne(options, next));
  impl_->next = next;
  return executed;
}

bool Method::SetOutputMemory(size_t i, const TensorView& memory) {
  impl_->next.reset();
  if (i >= num_outputs()) return false;
  SlotTable& slots = *impl_->slots;
  const uint32_t value = impl_->plan->outputs[i];
  if (!slots.is_movable(value)) return false;
  const TensorView& planned = *slots.slot(value).get_if<TensorView>();
  const bool fits = memory.data != nullptr && memory.dtype == planned.dtype &&
                    memory.sizes == planned.sizes && memory.strides == planned.strides &&
                    IsAlignedForElements(memory.data, memory.dtype);
  impl_->moved_outputs |= slots.MoveOutput(value, fits ? memory.data : nullptr);
  return fits;
}

const EValue& Method::GetOutput(size_t i) const {
  ABSL_CHECK(i < num_outputs());
  return impl_->slots->slot(impl_->plan->outputs[i]);
}

absl::StatusOr<TensorView> Method::GetState(std::string_view name) const {
  for (const StatePlan& state : impl_->plan->state) {
    if (state.name == name) return *impl_->slots->slot(state.value).get_if<TensorView>();
  }
  return absl::NotFoundError(
      absl::StrCat("method ", Quoted(impl_->plan->name), " has no state buffer ", Quoted(name)));
}

void Method::ResetState() {
  impl_->slots->ResetState();
  impl_->code.ResetState();
}

absl::StatusOr<OptionValue> Method::GetBackendOption(std::string_view backend,
                                                     std::string_view name) const {
  return impl_->code.GetOption(backend, name);
}

absl::Status Method::SetBackendOption(std::string_view backend, std::string_view name,
                                      const OptionValue& value) {
  return impl_->code.SetOption(backend, name, value);
}

std::vector<InstructionInfo> Method::instructions() const { return impl_->code.Describe(); }

void Method::AddTables(CallTables& tables) const {
  tables.Add(impl_.get(), sizeof(Impl));
  tables.Add(impl_->slots.get(), sizeof(SlotTable));
  impl_->inputs.AddTables(tables);
  impl_->code.AddTables(tables);
  impl_->slots->AddTables(tables);
}

uint64_t Method::memory_bytes() const {
  return impl_->slots->memory_bytes() + impl_->inputs.memory_bytes() + impl_->code.memory_bytes();
}

}  // namespace belay
