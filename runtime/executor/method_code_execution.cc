// Execution of MethodCode.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/core/annotate.h"
#include "runtime/core/call_tables.h"
#include "runtime/core/one_dtype_copy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method_code.h"

namespace belay {
namespace {

constexpr size_t kPrefetchedCallBytes = 256;

// Fetches the values of the operands.
void PrefetchOperands(const KernelContext& context) {
  constexpr int kMost = 8;
  const int arguments = std::min(context.num_arguments(), kMost);
  for (int i = 0; i < arguments; ++i) PrefetchLines(&context.argument(i), sizeof(EValue));
  const int outputs = std::min(context.num_outputs(), kMost);
  for (int k = 0; k < outputs; ++k) PrefetchLines(context.output_slot(k), sizeof(EValue));
}

}  // namespace

absl::Status MethodCode::RunKernel(Record& record) {
  const Kernel& kernel = *record.kernel;
  std::byte* const call = calls_.data() + record.call;
  if (record.reads_call) {
    ABSL_RETURN_IF_ERROR(kernel.read_call(record.context, kernel.signature, call));
  }
  if (!record.checks_scratch) return kernel.run_call(record.context, call);
  // Until the kernel resizes its outputs, they have the sizes of an earlier call, so that this amount
  // is an estimate. If it is too small, the kernel fails before it computes.
  const uint64_t most = std::min(program_->limits().scratch_bytes, checked_scratch_);
  const uint64_t estimate = kernel.ScratchBytes(record.context);
  if (estimate <= most) CommitScratch(record, estimate).IgnoreError();
  const absl::Status status = kernel.run_call(record.context, call);
  if (!absl::IsInternal(status)) return status;
  const uint64_t bytes = kernel.ScratchBytes(record.context);
  if (bytes > most) return ScratchError(bytes);
  if (bytes <= committed_scratch_) return status;
  ABSL_RETURN_IF_ERROR(CommitScratch(record, bytes));
  return kernel.run_call(record.context, call);
}

absl::Status MethodCode::CommitScratch(Record& record, uint64_t bytes) {
  if (bytes > committed_scratch_) {
    if (memory_ != nullptr) {
      ABSL_RETURN_IF_ERROR(
          memory_->Take(bytes - committed_scratch_, "working memory for the sizes of this call"));
    }
    ABSL_RETURN_IF_ERROR(scratch_.Commit(0, bytes));
    committed_scratch_ = static_cast<size_t>(bytes);
  }
  record.context = ContextOf(record, record.context.num_arguments(), record.context.num_outputs());
  return absl::OkStatus();
}

absl::Status MethodCode::CheckOutputs(const Record& record) {
  const int outputs = record.context.num_outputs();
  absl::Status first;
  for (int k = 0; k < outputs; ++k) {
    const absl::Status status = slots_->CheckOutput(output_values_[record.first_output + k]);
    if (!status.ok() && first.ok()) [[unlikely]] {
      first = belay::Annotate(status, absl::StrCat("output ", k));
    }
  }
  return first;
}

absl::Status MethodCode::CheckOverlays(const Record& record) const {
  for (uint32_t k = 0; k < record.num_overlays; ++k) {
    const Overlay& overlay = overlays_[record.first_overlay + k];
    const TensorView& argument = *slots_->slot(overlay.argument).get_if<TensorView>();
    const TensorView& output = *slots_->slot(overlay.output).get_if<TensorView>();
    if (argument.sizes == output.sizes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("value ", overlay.output, ", the output, overlaps value ", overlay.argument,
                     ", an argument, and their sizes differ: ", output.ToString(), " and ",
                     argument.ToString()));
  }
  return absl::OkStatus();
}

absl::Status MethodCode::Move(const Record& record) {
  const EValue& from = slots_->slot(record.from);
  EValue& to = slots_->slot(record.to);
  if (record.kind == Record::Kind::kMoveScalar) {
    to = from;
    return absl::OkStatus();
  }
  const TensorView& source = *from.get_if<TensorView>();
  TensorView& target = *to.get_if<TensorView>();
  if (record.move_bytes != 0) {
    // memmove, because a program file may let the two overlap.
    std::memmove(target.data, source.data, record.move_bytes);
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(slots_->Resize(target, source.sizes));
  return CopyElementsOfOneDType(source, target);
}

bool MethodCode::ConditionHolds(const Record& record) const {
  const EValue& condition = slots_->slot(record.condition);
  if (const bool* value = condition.get_if<bool>()) return *value;
  const TensorView* tensor = condition.get_if<TensorView>();
  return *tensor->as<const uint8_t>() != 0;  // one element, by validation
}

class MethodCode::Unlogged {
 public:
  static constexpr bool kStops = false;
  void Begin(const Record&, size_t) {}
  void End() {}
  void Finish(const Record&, size_t) {}
};

// The end of an instruction is the begin of the next one.
class MethodCode::Logged {
 public:
  static constexpr bool kStops = false;
  explicit Logged(const MethodCode& code)
      : code_(code),
        log_(code.events_.log),
        values_(log_->value_observer()),
        owner_(code.events_.owner),
        now_(EventLog::Now()) {}
  void Begin(const Record& record, size_t instruction) {
    event_ = &log_->Begin(
        record.kind == Record::Kind::kDelegate ? EventKind::kDelegateCall : EventKind::kInstruction,
        owner_, static_cast<int64_t>(instruction), now_);
  }
  void End() {
    now_ = EventLog::Now();
    log_->End(*event_, now_);
  }
  // After a successful instruction.
  void Finish(const Record& record, size_t instruction) {
    if (values_ == nullptr) return;
    const absl::Span<EValue* const> outputs = code_.OutputsOf(record);
    if (!outputs.empty()) values_->OnOutputs(owner_, static_cast<int64_t>(instruction), outputs);
    now_ = EventLog::Now();
  }

 private:
  const MethodCode& code_;
  EventLog* log_;
  ValueObserver* values_;
  uint32_t owner_;
  int64_t now_;
  Event* event_ = nullptr;
};

// Stops after one instruction; logs it if there is a log.
class MethodCode::OneInstruction {
 public:
  static constexpr bool kStops = true;
  explicit OneInstruction(const MethodCode& code) {
    if (code.events_.log != nullptr) logged_.emplace(code);
  }
  void Begin(const Record& record, size_t instruction) {
    if (logged_.has_value()) logged_->Begin(record, instruction);
  }
  void End() {
    if (logged_.has_value()) logged_->End();
  }
  void Finish(const Record& record, size_t instruction) {
    if (logged_.has_value()) logged_->Finish(record, instruction);
  }

 private:
  std::optional<Logged> logged_;
};

absl::Span<EValue* const> MethodCode::OutputsOf(const Record& record) const {
  if (record.kind != Record::Kind::kFixedKernel && record.kind != Record::Kind::kKernel &&
      record.kind != Record::Kind::kDelegate) {
    return {};
  }
  return absl::MakeConstSpan(operands_).subspan(
      record.first_operand + record.context.num_arguments(), record.context.num_outputs());
}

void MethodCode::Bound(const ExecuteOptions& options, Budget& budget) const {
  budget.deadline = options.deadline;
  budget.cancel = options.cancel;
  budget.InheritEnd(Budget::Current());
  if (options.executed_instructions != 0)
    budget.instructions.allowed = options.executed_instructions;
  const uint64_t work = program_->limits().executed_work;
  budget.work.allowed = options.executed_work == 0 ? work : std::min(options.executed_work, work);
}

absl::Status MethodCode::Run(const ExecuteOptions& options) {
  Budget budget;
  Bound(options, budget);
  return RunWithin(budget);
}

absl::Status MethodCode::RunOne(const ExecuteOptions& options, size_t& next) {
  Budget budget;
  Bound(options, budget);
  const Budget::Scope scope(&budget);
  return RunRecords(budget, OneInstruction(*this), next);
}

absl::Status MethodCode::RunWithin(Budget& budget) {
  const uint64_t limit = program_->limits().executed_instructions;
  Budget::Quota& instructions = budget.instructions;
  const uint64_t allowed = instructions.allowed;
  if (limit != 0 && limit < instructions.left()) instructions.allowed = instructions.taken + limit;
  const Budget::Scope scope(&budget);
  size_t next = 0;
  absl::Status status = events_.log == nullptr ? RunRecords(budget, Unlogged(), next)
                                               : RunRecords(budget, Logged(*this), next);
  instructions.allowed = allowed;
  return status;
}

// Weights evict what describes an instruction from the caches. Between the matmuls of a token,
// fetching it takes longer than many an instruction itself: the next one's is fetched meanwhile.
void MethodCode::Prefetch(const Record& record) const {
  const bool is_delegate = record.kind == Record::Kind::kDelegate;
  if (!is_delegate && !record.is_dynamic) return;
  PrefetchOperands(record.context);
  if (is_delegate) {
    record.tables->Prefetch();
  } else {
    PrefetchLines(calls_.data() + record.call, kPrefetchedCallBytes);
  }
}

template <class Observer>
absl::Status MethodCode::RunRecords(Budget& budget, Observer observer, size_t& next) {
  const size_t count = records_.size();
  [[maybe_unused]] bool stops = false;
  for (size_t i = next; i < count;) {
    if constexpr (Observer::kStops) {
      next = i;
      if (stops) return absl::OkStatus();
      stops = true;
    }
    Record& record = records_[i];
    if (i + 1 < count) Prefetch(records_[i + 1]);
    uint64_t work = record.work;
    if (record.is_dynamic) work = WorkOfArguments(record.rule, record.context);
    if (absl::Status status = budget.TakeInstruction(work); !status.ok()) [[unlikely]] {
      return Annotate(status, i);
    }
    observer.Begin(record, i);
    absl::Status status;
    switch (record.kind) {
      case Record::Kind::kFixedKernel:
        record.run_fixed(record.fixed_call);
        observer.End();
        observer.Finish(record, i);
        ++i;
        continue;
      case Record::Kind::kKernel:
        status = RunKernel(record);
        status.Update(CheckOutputs(record));
        if (record.is_dynamic && status.ok()) {
          status = budget.TakeWork(WorkOfOutputs(record.rule, record.context));
        }
        if (budget.cut_short()) [[unlikely]]
          status = budget.Check();
        if (record.num_overlays != 0 && status.ok()) [[unlikely]]
          status = CheckOverlays(record);
        break;
      case Record::Kind::kDelegate:
        status = record.handle->ExecuteWithin(record.context, budget);
        status.Update(CheckOutputs(record));
        break;
      case Record::Kind::kMoveTensor:
      case Record::Kind::kMoveScalar:
        status = Move(record);
        break;
      case Record::Kind::kJumpIfFalse:
        i = ConditionHolds(record) ? i + 1 : record.target;
        observer.End();
        continue;
      case Record::Kind::kJump:
        i = record.target;
        observer.End();
        continue;
    }
    observer.End();
    if (!status.ok()) [[unlikely]]
      return Annotate(status, i);
    observer.Finish(record, i);
    ++i;
  }
  next = count;
  return absl::OkStatus();
}

}  // namespace belay
