#include "runtime/executor/method_code.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/instruction_source.h"
#include "runtime/program/metadata_path.h"
#include "runtime/schema/operator_facts.h"

namespace belay {

namespace {

// Upper bound of the memory for a missing operator or backend, including all copies of its line.
constexpr uint64_t kMissingEntry = 8192;

// Build target named in the message about missing kernels.
constexpr std::string_view kKernelsTarget =
    "; Belay's kernels are those of //runtime/kernels:standard_kernels";

// "no kernel accepts (tensor, int)"
std::string NoKernelAccepts(absl::Span<const uint32_t> arguments, const SlotTable& slots) {
  constexpr size_t kShown = 16;
  std::vector<std::string> kinds;
  for (const uint32_t value : arguments.first(std::min(arguments.size(), kShown))) {
    kinds.push_back(slots.slot(value).KindName());
  }
  return absl::StrCat("no kernel accepts (", ListFirst(kinds, ", ", arguments.size()), ")");
}

// Bytes of two tensors that have the same layout in every call; 0 if they may differ, or are empty.
// Slots of tensors in the plan are dense in its order, also those of inputs.
size_t BytesToMove(const TensorPlan* from, const TensorPlan* to) {
  if (from == nullptr || to == nullptr || !from->is_static() || !to->is_static() ||
      from->dtype != to->dtype || from->sizes != to->sizes || from->dim_order != to->dim_order) {
    return 0;
  }
  return static_cast<size_t>(to->max_bytes);
}

}  // namespace

class MethodCode::ProgramNamedData final : public NamedDataMap {
 public:
  explicit ProgramNamedData(const Program& program) : program_(program) {}
  absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view key) const override {
    return program_.FindNamedData(key);
  }

 private:
  const Program& program_;
};

// Collects all missing kernels and backends of a method for one message.
class MethodCode::Missing {
 public:
  void AddOperator(const std::string& name, size_t instruction, const std::string& reason) {
    Entry& entry = operators_[name];
    if (entry.count++ == 0) entry = {1, instruction, reason};
  }
  void AddBackend(const std::string& id, size_t instruction) {
    Entry& entry = backends_[id];
    if (entry.count++ == 0) entry.first = instruction;
  }
  bool empty() const { return operators_.empty() && backends_.empty(); }

  std::string ToString(const Program& program, const MethodPlan& method,
                       const BackendRegistry& backends) const {
    std::vector<std::string> lines;
    // Source locations are only looked up for lines that are shown.
    const auto add = [&](std::string_view kind, const std::string& name, const Entry& entry,
                         std::string_view reason) {
      if (lines.size() >= kMostListed) return;
      const std::string source = InstructionSource(program, method, entry.first);
      lines.push_back(absl::StrCat(
          kind, " ", Quoted(name), " (",
          entry.count == 1 ? std::string("1 call") : absl::StrCat(entry.count, " calls"),
          source.empty()     ? ""
          : entry.count == 1 ? ","
                             : ", the first",
          source, "): ", reason));
    };
    for (const auto& [name, entry] : operators_) add("operator", name, entry, entry.reason);
    std::vector<std::string> known;
    for (std::string_view id : backends.Ids()) {
      const std::string_view target = backends.Find(id)->target();
      known.push_back(absl::StrCat(Quoted(id), target.empty() ? "" : " of ", target));
    }
    const std::string registered =
        absl::StrCat("registered are ", known.empty() ? "none" : absl::StrJoin(known, ", "));
    for (const auto& [id, entry] : backends_) add("backend", id, entry, registered);
    return absl::StrCat(ListFirst(lines, "; ", operators_.size() + backends_.size()),
                        operators_.empty() ? "" : kKernelsTarget);
  }

 private:
  struct Entry {
    int count = 0;
    size_t first = 0;  // instruction index
    std::string reason;
  };
  std::map<std::string, Entry> operators_;
  std::map<std::string, Entry> backends_;
};

MethodCode::MethodCode(const Program& program, SlotTable* slots, const KernelRegistry& kernels,
                       ThreadPool* threads, EventSink events)
    : program_(&program),
      plan_(&slots->plan()),
      slots_(slots),
      kernels_(&kernels),
      threads_(threads),
      events_(events),
      named_data_(std::make_unique<ProgramNamedData>(program)) {}
MethodCode::MethodCode(MethodCode&&) noexcept = default;
MethodCode& MethodCode::operator=(MethodCode&&) noexcept = default;
MethodCode::~MethodCode() = default;

absl::StatusOr<MethodCode> MethodCode::Resolve(const Program& program, SlotTable* slots,
                                               const KernelRegistry& kernels,
                                               const BackendRegistry& backends, ThreadPool* threads,
                                               EventSink events) {
  const ScopedEvent resolve(events, EventKind::kResolve);
  MethodCode code(program, slots, kernels, threads, events);
  const MethodPlan& plan = *code.plan_;
  code.operands_.reserve(plan.operands.size());  // contexts point into it
  code.records_.reserve(plan.instructions.size());
  Missing missing;
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    const InstructionPlan& instruction = plan.instructions[i];
    Record record;
    if (const auto* kernel = std::get_if<KernelCallPlan>(&instruction)) {
      ABSL_RETURN_IF_ERROR(code.ResolveKernel(*kernel, i, missing, record));
    } else if (const auto* delegate = std::get_if<DelegateCallPlan>(&instruction)) {
      record.kind = Record::Kind::kDelegate;
      code.AddOperands(delegate->operands, record);
      const std::string& id = plan.delegates[delegate->delegate].backend_id;
      record.backend = backends.Find(id);
      if (record.backend == nullptr) missing.AddBackend(id, i);
    } else if (const auto* move = std::get_if<MovePlan>(&instruction)) {
      record.kind = slots->tensor_plan(move->to) != nullptr ? Record::Kind::kMoveTensor
                                                            : Record::Kind::kMoveScalar;
      record.from = move->from;
      record.to = move->to;
      record.move_bytes = BytesToMove(slots->tensor_plan(move->from), slots->tensor_plan(move->to));
    } else if (const auto* branch = std::get_if<JumpIfFalsePlan>(&instruction)) {
      record.kind = Record::Kind::kJumpIfFalse;
      record.condition = branch->condition;
      record.target = branch->target;
    } else {
      record.kind = Record::Kind::kJump;
      record.target = std::get<JumpPlan>(instruction).target;
    }
    code.records_.push_back(record);
  }
  if (!missing.empty()) {
    return absl::NotFoundError(absl::StrCat("method ", Quoted(plan.name), " can't be run here: ",
                                            missing.ToString(program, plan, backends)));
  }
  return code;
}

void MethodCode::AddMemory(const MethodPlan& plan, MemoryBound& bound) {
  // The last term is an overlay, in a vector that grows by doubling.
  constexpr uint64_t kOperand = sizeof(EValue*) + 3 * sizeof(uint32_t) + 3 * sizeof(Overlay);
  // Calls on inputs are in a vector that grows by doubling.
  bound.Add(plan.instructions.size(), sizeof(Record) + 3 * sizeof(uint32_t));
  bound.Add(plan.operands.size(), kOperand);
  for (const DelegatePlan& delegate : plan.delegates) {
    // The last term are blocks of shared memory, in vectors that grow by doubling.
    bound.Add(1, sizeof(CallTables) + 3 * sizeof(std::unique_ptr<DelegateHandle>) +
                     6 * sizeof(AlignedBuffer) + 3 * sizeof(std::shared_ptr<ReservedBlock>));
    bound.Add(delegate.compile_specs.size(), 3 * sizeof(CompileSpecView));
  }
  if (!plan.delegates.empty()) bound.Add(1, sizeof(DelegateMemory));
  // Missing operators and the message that lists them.
  for (const std::string& op : plan.operators) {
    bound.Add(1, kMissingEntry);
    bound.Add(op.size(), 2);
  }
  for (const DelegatePlan& delegate : plan.delegates) {
    bound.Add(1, kMissingEntry);
    bound.Add(delegate.backend_id.size(), 2);
  }
}

void MethodCode::AddTables(CallTables& tables) const {
  tables.Add(absl::MakeConstSpan(records_));
  tables.Add(absl::MakeConstSpan(operands_));
  tables.Add(absl::MakeConstSpan(output_values_));
  tables.Add(calls_.data(), calls_.size());
}

void MethodCode::AddOperands(const OperandRange& range, Record& record) {
  record.first_operand = operands_.size();
  record.first_output = output_values_.size();
  for (const uint32_t value : plan_->arguments_of(range)) operands_.push_back(&slots_->slot(value));
  for (const uint32_t value : plan_->outputs_of(range)) {
    operands_.push_back(slots_->output_slot(value));
    output_values_.push_back(value);
  }
  record.context = ContextOf(record, range.arguments, range.outputs);
}

// Scratch is empty before Prepare().
KernelContext MethodCode::ContextOf(const Record& record, size_t arguments, size_t outputs) {
  EValue* const* operands = operands_.data() + record.first_operand;
  return KernelContext(absl::MakeConstSpan(operands, arguments),
                       absl::MakeConstSpan(operands + arguments, outputs), slots_,
                       absl::MakeSpan(scratch_data_, committed_scratch_), threads_);
}

absl::Status MethodCode::ResolveKernel(const KernelCallPlan& call, size_t instruction,
                                       Missing& missing, Record& record) {
  record.kind = Record::Kind::kKernel;
  AddOperands(call.operands, record);
  const std::string& op = plan_->operators[call.op];
  uint64_t bytes = 0;  // of working memory
  record.kernel = kernels_->Find(op, record.context, &bytes);
  if (record.kernel == nullptr) {
    std::string reason = "no kernel";
    if (kernels_->Contains(op)) {
      reason = NoKernelAccepts(plan_->arguments_of(call.operands), *slots_);
    }
    missing.AddOperator(op, instruction, reason);
    return absl::OkStatus();
  }
  AddOverlays(call, record);
  record.rule = record.kernel->Facts().work;
  record.is_dynamic =
      !IsStatic(plan_->arguments_of(call.operands)) || !IsStatic(plan_->outputs_of(call.operands));
  record.call = calls_needed_;
  calls_needed_ += (record.kernel->call_bytes + kCallAlignment - 1) & ~(kCallAlignment - 1);
  if (record.is_dynamic && bytes > MethodPlan::kLargestFixedArena &&
      bytes <= program_->limits().reserved_bytes) {
    record.checks_scratch = true;
    checked_scratch_ = std::max(checked_scratch_, bytes);
  } else if (bytes <= program_->limits().scratch_bytes) {
    scratch_needed_ = std::max(scratch_needed_, bytes);
  } else {
    return Annotate(ScratchError(bytes), instruction);
  }
  return absl::OkStatus();
}

absl::Status MethodCode::ScratchError(uint64_t bytes) const {
  return absl::ResourceExhaustedError(
      absl::StrCat("it needs ", bytes, " bytes of working memory, the limit 'scratch_bytes' is ",
                   program_->limits().scratch_bytes));
}

void MethodCode::AddOverlays(const KernelCallPlan& call, Record& record) {
  const absl::Span<const uint32_t> outputs = plan_->outputs_of(call.operands);
  // Elementwise operators have one output. Those with the same bytes compare the number of elements
  // themselves.
  if (outputs.size() != 1 ||
      FactsOf(plan_->operators[call.op]).output_over != OutputOverArgument::kElementwise) {
    return;
  }
  const TensorPlan* output = slots_->tensor_plan(outputs[0]);
  if (output == nullptr || output->location != TensorPlan::Location::kArena ||
      output->is_static() || output->max_bytes == 0) {
    return;
  }
  record.first_overlay = static_cast<uint32_t>(overlays_.size());
  for (const uint32_t value : plan_->arguments_of(call.operands)) {
    const TensorPlan* argument = slots_->tensor_plan(value);
    // By validation, overlapping tensors have the same offset, and no argument is the output
    // itself: these operators do not write to an argument.
    if (argument == nullptr || argument->location != TensorPlan::Location::kArena ||
        argument->offset != output->offset || argument->max_bytes == 0) {
      continue;
    }
    overlays_.push_back({value, outputs[0]});
    ++record.num_overlays;
  }
}

absl::Status MethodCode::Prepare(MemoryBudget* memory, BlockAllocator* allocator,
                                 const OptionLookup* options, ReusableBlocks* shared_scratch) {
  memory_ = memory;
  if (memory != nullptr) {
    ABSL_RETURN_IF_ERROR(memory->Take(scratch_needed_, "working memory of kernels"));
    ABSL_RETURN_IF_ERROR(memory->Take(calls_needed_, "calls of kernels"));
  }
  delegate_memory_ = std::make_unique<MemoryBudget>(
      "delegate_bytes", program_->limits().delegate_bytes, memory, allocator);
  MemoryBudget& delegates = *delegate_memory_;
  if (!plan_->delegates.empty()) shared_memory_ = std::make_unique<DelegateMemory>(allocator);
  handles_.resize(plan_->delegates.size());
  tables_ = std::make_unique<CallTables[]>(plan_->delegates.size());
  for (size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].kind != Record::Kind::kDelegate) continue;
    const auto& call = std::get<DelegateCallPlan>(plan_->instructions[i]);
    ABSL_RETURN_IF_ERROR(MakeDelegate(call, options, delegates, records_[i]));
  }
  uint64_t of_delegates = 0;
  for (const std::unique_ptr<DelegateHandle>& handle : handles_) {
    of_delegates =
        std::max(of_delegates, handle->ScratchBytes());  // each delegate is called, by validation
  }
  ABSL_RETURN_IF_ERROR(delegates.Take(of_delegates, "working memory of delegates"));
  const uint64_t scratch = std::max(scratch_needed_, of_delegates);
  committed_scratch_ = static_cast<size_t>(scratch);
  if (checked_scratch_ > scratch) {
    ABSL_ASSIGN_OR_RETURN(scratch_, AlignedBuffer::Reserve(checked_scratch_, allocator));
    ABSL_RETURN_IF_ERROR(scratch_.Commit(0, scratch));
    scratch_data_ = scratch_.data();
  } else if (shared_scratch == nullptr) {
    ABSL_ASSIGN_OR_RETURN(scratch_, AlignedBuffer::Create(scratch, allocator));
    scratch_data_ = scratch_.data();
  } else {
    ABSL_ASSIGN_OR_RETURN(scratch_data_, shared_scratch->Get(scratch));
  }
  ABSL_ASSIGN_OR_RETURN(calls_, AlignedBuffer::Create(calls_needed_, allocator));
  for (size_t i = 0; i < records_.size(); ++i) {
    Record& record = records_[i];
    record.context =
        ContextOf(record, record.context.num_arguments(), record.context.num_outputs());
    if (record.kind != Record::Kind::kKernel) continue;
    const auto& call = std::get<KernelCallPlan>(plan_->instructions[i]);
    record.reads_call =
        !IsFixed(plan_->arguments_of(call.operands)) ||
        !record.kernel
             ->read_call(record.context, record.kernel->signature, calls_.data() + record.call)
             .ok();
    if (!record.is_dynamic) {
      const uint64_t arguments = WorkOfArguments(record.rule, record.context);
      const uint64_t outputs = WorkOfOutputs(record.rule, record.context);
      record.work = CheckedAdd(arguments, outputs).value_or(UINT64_MAX);
      if (!record.reads_call && record.kernel->fix_call != nullptr) {
        if (StaysInPlace(plan_->arguments_of(call.operands)) &&
            StaysInPlace(plan_->outputs_of(call.operands))) {
          FixCall(record);
        } else {
          movable_calls_.push_back(static_cast<uint32_t>(i));
        }
      }
    }
  }
  return absl::OkStatus();
}

void MethodCode::FixCall(Record& record) {
  std::byte* const call = calls_.data() + record.call;
  const bool fixed = record.kernel->fix_call(record.context, call);
  record.kind = fixed ? Record::Kind::kFixedKernel : Record::Kind::kKernel;
  record.run_fixed = record.kernel->run_fixed_call;
  record.fixed_call = call;
}

void MethodCode::FixMovedCalls() {
  for (const uint32_t i : movable_calls_) FixCall(records_[i]);
}

absl::Status MethodCode::MakeDelegate(const DelegateCallPlan& call, const OptionLookup* options,
                                      MemoryBudget& memory, Record& record) {
  const DelegatePlan& delegate = plan_->delegates[call.delegate];
  CallTables& tables = tables_[call.delegate];
  record.tables = &tables;
  if (handles_[call.delegate] != nullptr) {
    record.handle = handles_[call.delegate].get();
    return absl::OkStatus();
  }
  const ScopedEvent init(events_, EventKind::kInit, call.delegate);
  EventSink events = events_;
  if (events.log != nullptr) {
    events.owner = events.log->AddDelegate(events.owner, call.delegate, delegate.backend_id);
  }
  std::vector<CompileSpecView> specs;
  for (const CompileSpecPlan& spec : delegate.compile_specs) {
    specs.push_back({.key = spec.key, .value = spec.value});
  }
  const EValue* const* operands = operands_.data() + record.first_operand;
  const DelegateInitContext context = {
      .method = plan_->name,
      .compile_specs = specs,
      .named_data = named_data_.get(),
      .arguments = absl::MakeConstSpan(operands, call.operands.arguments),
      .outputs = absl::MakeConstSpan(operands + call.operands.arguments, call.operands.outputs),
      .memory = &memory,
      .threads = threads_,
      .events = events,
      .options = options == nullptr ? nullptr : options->Find(delegate.backend_id),
      .shared_memory = shared_memory_.get()};
  absl::StatusOr<std::unique_ptr<DelegateHandle>> handle =
      record.backend->Init(context, delegate.blob);
  if (handle.ok() && *handle == nullptr) {
    handle = absl::InternalError("the backend returned no handle");
  }
  if (!handle.ok()) {
    return absl::Status(
        handle.status().code(),
        absl::StrCat("method ", Quoted(plan_->name), ", delegate ", call.delegate, " of backend ",
                     Quoted(delegate.backend_id), ": ", handle.status().message()));
  }
  record.handle = handle->get();
  record.handle->AddTables(tables);
  handles_[call.delegate] = *std::move(handle);
  return absl::OkStatus();
}

bool MethodCode::IsFixed(absl::Span<const uint32_t> arguments) const {
  const auto fixed = [&](uint32_t value) {
    return !std::holds_alternative<ScalarKind>(plan_->values[value]);
  };
  return absl::c_all_of(arguments, [&](uint32_t value) {
    const auto* list = std::get_if<ListPlan>(&plan_->values[value]);
    return list == nullptr ? fixed(value) : absl::c_all_of(list->elements, fixed);
  });
}

namespace {

// Whether the predicate holds for every tensor among the values, including list elements.
template <class Predicate>
bool AllTensors(const MethodPlan& plan, const SlotTable& slots, absl::Span<const uint32_t> values,
                Predicate holds) {
  const auto of_one = [&](uint32_t value) {
    const TensorPlan* tensor = slots.tensor_plan(value);
    return tensor == nullptr || holds(*tensor);
  };
  return absl::c_all_of(values, [&](uint32_t value) {
    const auto* list = std::get_if<ListPlan>(&plan.values[value]);
    return list == nullptr ? of_one(value) : absl::c_all_of(list->elements, of_one);
  });
}

}  // namespace

bool MethodCode::IsStatic(absl::Span<const uint32_t> values) const {
  return AllTensors(*plan_, *slots_, values,
                    [](const TensorPlan& tensor) { return tensor.is_static(); });
}

bool MethodCode::StaysInPlace(absl::Span<const uint32_t> values) const {
  const auto moves = [&](uint32_t value) { return slots_->is_movable(value); };
  return absl::c_none_of(values, moves) &&  // list elements are not movable
         AllTensors(*plan_, *slots_, values, [](const TensorPlan& tensor) {
           return tensor.location != TensorPlan::Location::kExternal;
         });
}

void MethodCode::ResetState() {
  for (const std::unique_ptr<DelegateHandle>& handle : handles_) handle->ResetState();
}

}  // namespace belay
