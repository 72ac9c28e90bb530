#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "backends/runtime_backends.h"
#include "bindings/c/execution.h"
#include "bindings/c/handles.h"
#include "runtime/backend/backend_settings.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"

namespace belay::c {
namespace {

// Describes a tensor at its maximum size.
belay_tensor PlannedTensor(const TensorPlan& plan) {
  TensorView view;
  view.dtype = plan.dtype;
  view.sizes = Sizes(plan.sizes);
  view.strides = DenseStrides(plan.sizes, plan.dim_order);
  return TensorOf(view);
}

belay_kind KindOf(const ValuePlan& value) {
  if (std::holds_alternative<TensorPlan>(value)) return BELAY_KIND_TENSOR;
  if (std::holds_alternative<None>(value)) return BELAY_KIND_NONE;
  if (std::holds_alternative<int64_t>(value)) return BELAY_KIND_INT;
  if (std::holds_alternative<double>(value)) return BELAY_KIND_DOUBLE;
  if (std::holds_alternative<bool>(value)) return BELAY_KIND_BOOL;
  if (std::holds_alternative<std::string>(value)) return BELAY_KIND_STRING;
  const auto* scalar = std::get_if<ScalarKind>(&value);
  if (scalar == nullptr) return BELAY_KIND_OTHER;
  switch (*scalar) {
    case ScalarKind::kInt:
      return BELAY_KIND_INT;
    case ScalarKind::kDouble:
      return BELAY_KIND_DOUBLE;
    case ScalarKind::kBool:
      return BELAY_KIND_BOOL;
  }
  return BELAY_KIND_OTHER;
}

absl::StatusOr<belay_input_info> InputInfo(const belay_method* method, size_t i) {
  if (method == nullptr) return Missing("a method");
  const MethodPlan& plan = method->method->plan();
  if (i >= plan.inputs.size()) return OutOfRange("input", i, plan.inputs.size());
  const InputPlan& input = plan.inputs[i];
  const ValuePlan& value = plan.values[input.value];
  belay_input_info info = {};
  info.name = input.name.c_str();
  // Other values are constants, which the input must equal.
  const bool is_set =
      std::holds_alternative<TensorPlan>(value) || std::holds_alternative<ScalarKind>(value);
  info.kind = is_set ? KindOf(value) : BELAY_KIND_OTHER;
  if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
    info.tensor = PlannedTensor(*tensor);
    info.dynamic_dims = tensor->dynamic_dims;
    std::copy(tensor->sizes.begin(), tensor->sizes.end(), info.min_sizes);
    for (const SizeConstraint& constraint : input.constraints) {
      info.min_sizes[constraint.dim] = constraint.min;
    }
  }
  return info;
}

absl::Status OutputInfo(const belay_method* method, size_t i, belay_output_info* given) {
  if (method == nullptr) return Missing("a method");
  const MethodPlan& plan = method->method->plan();
  if (i >= plan.outputs.size()) return OutOfRange("output", i, plan.outputs.size());
  const ValuePlan& value = plan.values[plan.outputs[i]];
  belay_output_info info = {};
  info.name = method->output_names[i].c_str();
  info.kind = KindOf(value);
  if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
    info.tensor = PlannedTensor(*tensor);
    info.dynamic_dims = tensor->dynamic_dims;
    info.max_bytes = tensor->max_bytes;
  }
  return StoreKnown(info, given);
}

absl::Status SetValue(belay_method* method, size_t i, const absl::StatusOr<EValue>& value) {
  if (method == nullptr) return Missing("a method");
  if (!value.ok()) return value.status();
  ABSL_RETURN_IF_ERROR(method->method->SetInput(i, *value));
  method->has_outputs = false;
  return absl::OkStatus();
}

// Places outputs in the method's own memory again: the memory of belay_method_call may be freed.
void ReturnOutputs(belay_method& method) {
  for (size_t i = 0; i < method.moved.size(); ++i) {
    if (method.moved[i]) method.moved[i] = method.method->SetOutputMemory(i, {});
  }
}

absl::StatusOr<const EValue*> Output(const belay_method* method, size_t i) {
  if (method == nullptr) return Missing("a method");
  const size_t count = method->method->num_outputs();
  if (i >= count) return OutOfRange("output", i, count);
  if (!method->has_outputs) {
    return absl::FailedPreconditionError(
        "no outputs: the method was not executed since an input was set, or the execution failed");
  }
  return &method->method->GetOutput(i);
}

template <class T>
absl::StatusOr<T> OutputAs(const belay_method* method, size_t i, std::string_view expected) {
  ABSL_ASSIGN_OR_RETURN(const EValue* value, Output(method, i));
  if (const T* typed = value->get_if<T>()) return *typed;
  return absl::InvalidArgumentError(
      absl::StrCat("output ", i, ": expected ", expected, ", got ", value->KindName()));
}

}  // namespace

std::chrono::steady_clock::time_point DeadlineAfter(uint64_t timeout_ns) {
  // Clamped, so that the time point does not overflow.
  constexpr uint64_t kCentury = uint64_t{100} * 365 * 24 * 3600 * 1'000'000'000;
  return std::chrono::steady_clock::now() +
         std::chrono::nanoseconds(std::min(timeout_ns, kCentury));
}

absl::StatusOr<std::unique_ptr<ThreadPool>> CreateThreads(int32_t num_threads) {
  if (num_threads < 0 || num_threads > ThreadPool::kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat("num_threads: expected 0 to ",
                                                   ThreadPool::kMaxThreads, ", got ", num_threads));
  }
  if (num_threads <= 1) return nullptr;
  return std::make_unique<ThreadPool>(num_threads);
}

absl::StatusOr<std::vector<BankMemory>> BanksOf(const belay_bank_memory* list, size_t count) {
  if (list == nullptr && count > 0) return Missing("banks");
  std::vector<BankMemory> banks;
  for (size_t i = 0; i < count; ++i) {
    const belay_bank_memory& bank = list[i];
    if (bank.name == nullptr) return Missing(absl::StrCat("banks[", i, "].name"));
    if (bank.data == nullptr && bank.size > 0) {
      return Missing(absl::StrCat("banks[", i, "].data"));
    }
    banks.push_back({bank.name, absl::MakeSpan(static_cast<std::byte*>(bank.data), bank.size)});
  }
  return banks;
}

absl::StatusOr<std::unique_ptr<belay_method>> LoadMethod(const belay_program* program,
                                                         const char* name,
                                                         const belay_method_options* given) {
  if (program == nullptr) return Missing("a program");
  if (name == nullptr) return Missing("the name of a method");
  ABSL_ASSIGN_OR_RETURN(const belay_method_options known, Known(given));
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> threads, CreateThreads(known.num_threads));
  std::unique_ptr<belay_method> created(new (std::nothrow) belay_method);
  if (created == nullptr) return NoMemory("a method");
  created->threads = std::move(threads);
  MethodOptions options;
  options.threads = created->threads.get();
  if (known.log != nullptr) options.events = {.log = known.log->log.get()};
  if (known.state != nullptr) options.state = &*known.state->state;
  ABSL_ASSIGN_OR_RETURN(const BackendOptions backend_options,
                        BackendOptionsOf(known.backend_options, known.num_backend_options));
  ABSL_ASSIGN_OR_RETURN(const BackendSettings settings,
                        BackendSettings::Create(RuntimeBackends(), backend_options));
  options.backend_options = &settings;
  ABSL_ASSIGN_OR_RETURN(const std::vector<BankMemory> banks, BanksOf(known.banks, known.num_banks));
  options.banks = banks;
  if (known.allocator != nullptr) {
    ABSL_ASSIGN_OR_RETURN(created->allocator, CallerAllocator::Create(*known.allocator));
    options.allocator = &*created->allocator;
  }
  ABSL_ASSIGN_OR_RETURN(created->method, Method::Load(*program->program, name, program->kernels,
                                                      RuntimeBackends(), options));
  const MethodPlan& plan = created->method->plan();
  created->output_names = OutputNames(plan.out_spec, plan.outputs.size());
  created->moved.resize(plan.outputs.size());
  return created;
}

absl::StatusOr<ExecuteOptions> ExecuteOptionsOf(const belay_execute_options* given) {
  ABSL_ASSIGN_OR_RETURN(const belay_execute_options known, Known(given));
  ExecuteOptions options;
  if (known.timeout_ns != 0) options.deadline = DeadlineAfter(known.timeout_ns);
  if (known.cancellation != nullptr) options.cancel = &known.cancellation->cancelled;
  options.executed_instructions = known.limit_instructions;
  options.executed_work = known.limit_work;
  return options;
}

absl::Status Execute(belay_method* method, const belay_execute_options* given) {
  if (method == nullptr) return Missing("a method");
  method->has_outputs = false;
  ABSL_ASSIGN_OR_RETURN(const ExecuteOptions options, ExecuteOptionsOf(given));
  ABSL_RETURN_IF_ERROR(method->method->Execute(options));
  method->has_outputs = true;
  return absl::OkStatus();
}

}  // namespace belay::c

belay_status belay_method_load(const belay_program* program, const char* name,
                               const belay_method_options* options, belay_method** method,
                               belay_error** error) {
  if (method == nullptr)
    return belay::c::Report(belay::c::Missing("an output pointer for the method"), error);
  return belay::c::Give(belay::c::LoadMethod(program, name, options), method, error);
}

void belay_method_free(belay_method* method) { delete method; }

size_t belay_method_num_inputs(const belay_method* method) {
  return method == nullptr ? 0 : method->method->num_inputs();
}
size_t belay_method_num_outputs(const belay_method* method) {
  return method == nullptr ? 0 : method->method->num_outputs();
}

belay_status belay_method_input_info(const belay_method* method, size_t i, belay_input_info* info,
                                     belay_error** error) {
  return belay::c::Put(belay::c::InputInfo(method, i), info, error, std::identity{});
}
int32_t belay_method_input_is_mutated(const belay_method* method, size_t i) {
  return i < belay_method_num_inputs(method) && method->method->plan().inputs[i].mutated ? 1 : 0;
}
belay_status belay_method_output_info(const belay_method* method, size_t i, belay_output_info* info,
                                      belay_error** error) {
  return belay::c::Report(belay::c::OutputInfo(method, i, info), error);
}
const char* belay_method_in_spec(const belay_method* method) {
  return method == nullptr ? "" : method->method->plan().in_spec.c_str();
}
const char* belay_method_out_spec(const belay_method* method) {
  return method == nullptr ? "" : method->method->plan().out_spec.c_str();
}

belay_status belay_method_set_tensor(belay_method* method, size_t i, const belay_tensor* tensor,
                                     belay_error** error) {
  const absl::StatusOr<belay::TensorView> view = belay::c::ViewOf(tensor);
  return belay::c::Report(
      belay::c::SetValue(
          method, i,
          view.ok() ? absl::StatusOr<belay::EValue>(belay::EValue(*view)) : view.status()),
      error);
}
belay_status belay_method_set_int(belay_method* method, size_t i, int64_t value,
                                  belay_error** error) {
  return belay::c::Report(belay::c::SetValue(method, i, belay::EValue(value)), error);
}
belay_status belay_method_set_double(belay_method* method, size_t i, double value,
                                     belay_error** error) {
  return belay::c::Report(belay::c::SetValue(method, i, belay::EValue(value)), error);
}
belay_status belay_method_set_bool(belay_method* method, size_t i, int32_t value,
                                   belay_error** error) {
  return belay::c::Report(belay::c::SetValue(method, i, belay::EValue(value != 0)), error);
}

belay_cancellation* belay_cancellation_create(void) {
  return new (std::nothrow) belay_cancellation;
}
void belay_cancellation_free(belay_cancellation* cancellation) { delete cancellation; }
void belay_cancellation_cancel(belay_cancellation* cancellation) {
  if (cancellation != nullptr) cancellation->cancelled = true;
}
void belay_cancellation_reset(belay_cancellation* cancellation) {
  if (cancellation != nullptr) cancellation->cancelled = false;
}

belay_status belay_method_execute(belay_method* method, const belay_execute_options* options,
                                  belay_error** error) {
  if (method != nullptr) belay::c::ReturnOutputs(*method);
  return belay::c::Report(belay::c::Execute(method, options), error);
}

belay_status belay_method_output_kind(const belay_method* method, size_t i, belay_kind* kind,
                                      belay_error** error) {
  return belay::c::Put(belay::c::Output(method, i), kind, error,
                       [](const belay::EValue* value) { return belay::c::KindOf(*value); });
}
belay_status belay_method_get_tensor(const belay_method* method, size_t i, belay_tensor* tensor,
                                     belay_error** error) {
  return belay::c::Put(belay::c::OutputAs<belay::TensorView>(method, i, "a tensor"), tensor, error,
                       belay::c::TensorOf);
}
belay_status belay_method_get_int(const belay_method* method, size_t i, int64_t* value,
                                  belay_error** error) {
  return belay::c::Put(belay::c::OutputAs<int64_t>(method, i, "an int"), value, error,
                       std::identity{});
}
belay_status belay_method_get_double(const belay_method* method, size_t i, double* value,
                                     belay_error** error) {
  return belay::c::Put(belay::c::OutputAs<double>(method, i, "a float"), value, error,
                       std::identity{});
}
belay_status belay_method_get_bool(const belay_method* method, size_t i, int32_t* value,
                                   belay_error** error) {
  return belay::c::Put(belay::c::OutputAs<bool>(method, i, "a bool"), value, error,
                       std::identity{});
}
belay_status belay_method_get_string(const belay_method* method, size_t i, const char** data,
                                     size_t* size, belay_error** error) {
  const auto value = belay::c::OutputAs<std::string_view>(method, i, "a string");
  if (value.ok() && size == nullptr) {
    return belay::c::Report(belay::c::Missing("the size of the string"), error);
  }
  const belay_status status =
      belay::c::Put(value, data, error, [](std::string_view text) { return text.data(); });
  if (status == BELAY_OK) *size = value->size();
  return status;
}

size_t belay_method_num_states(const belay_method* method) {
  return method == nullptr ? 0 : method->method->plan().state.size();
}
const char* belay_method_state_name(const belay_method* method, size_t i) {
  return i < belay_method_num_states(method) ? method->method->plan().state[i].name.c_str()
                                             : nullptr;
}
belay_status belay_method_get_state(const belay_method* method, const char* name,
                                    belay_tensor* tensor, belay_error** error) {
  if (method == nullptr) return belay::c::Report(belay::c::Missing("a method"), error);
  if (name == nullptr) return belay::c::Report(belay::c::Missing("the name of a state"), error);
  return belay::c::Put(method->method->GetState(name), tensor, error, belay::c::TensorOf);
}
void belay_method_reset_state(belay_method* method) {
  if (method != nullptr) method->method->ResetState();
}
