#include "bindings/c/belay.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "backends/runtime_backends.h"
#include "executorch/reader/open_any_program.h"
#include "executorch/reader/prim_kernels.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"
#include "runtime/trace/event_log.h"

struct belay_error {
  belay_status status;
  std::string message;
};

struct belay_program {
  belay::KernelRegistry kernels;
  std::optional<belay::Program> program;
};

struct belay_event_log {
  std::unique_ptr<belay::EventLog> log;
};

struct belay_cancellation {
  std::atomic<bool> cancelled = false;
};

struct belay_method {
  std::unique_ptr<belay::ThreadPool> threads;
  std::optional<belay::Method> method;
  bool has_outputs = false;  // after a successful execution
};

namespace {

using belay::DType;
using belay::EValue;
using belay::Program;
using belay::TensorView;

// The values must be identical in both enums.
static_assert(BELAY_UNAUTHENTICATED == static_cast<int>(absl::StatusCode::kUnauthenticated));
static_assert(BELAY_DATA_LOSS == static_cast<int>(absl::StatusCode::kDataLoss));
static_assert(BELAY_FLOAT8_E8M0FNU == static_cast<int>(DType::kFloat8E8M0FNU) &&
              BELAY_FLOAT8_E8M0FNU + 1 == belay::kNumDTypes);
static_assert(BELAY_MAX_RANK == belay::kMaxRank);
static_assert(BELAY_EVENT_STEP == static_cast<int>(belay::EventKind::kStep));

belay_status Report(const absl::Status& status, belay_error** error) {
  if (status.ok()) return BELAY_OK;
  const auto code = static_cast<belay_status>(status.code());
  if (error != nullptr) {
    *error = new (std::nothrow) belay_error{code, std::string(status.message())};
  }
  return code;
}

absl::Status Missing(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", what, ", got NULL"));
}

// Copies the fields that the caller's version of the structure has; the others keep their defaults.
template <class Options>
absl::StatusOr<Options> Known(const Options* given) {
  Options options = {};
  if (given == nullptr) return options;
  if (given->struct_size < sizeof(size_t)) {
    return absl::InvalidArgumentError(
        absl::StrCat("struct_size: expected sizeof the options, got ", given->struct_size));
  }
  const size_t known = std::min(given->struct_size, sizeof(Options));
  // Fields unknown to this library must be 0.
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(Options); i < given->struct_size; ++i) {
    if (bytes[i] != 0) {
      return absl::UnimplementedError(absl::StrCat("the options have ", given->struct_size,
                                                   " bytes, this library knows ", sizeof(Options),
                                                   "; the others must be 0"));
    }
  }
  std::memcpy(&options, given, known);
  return options;
}

absl::Status NoMemory(std::string_view what) {
  return absl::ResourceExhaustedError(absl::StrCat("no memory for ", what));
}

// Moves the created object to the output parameter.
template <class T>
belay_status Give(absl::StatusOr<std::unique_ptr<T>> made, T** place, belay_error** error) {
  if (!made.ok()) return Report(made.status(), error);
  *place = made->release();
  return BELAY_OK;
}

absl::StatusOr<belay::pte::OpenOptions> OpenOptionsOf(const belay_open_options* given) {
  ABSL_ASSIGN_OR_RETURN(const belay_open_options known, Known(given));
  belay::pte::OpenOptions options;
  if (known.copy != 0) options.program.access = belay::FileAccess::kCopy;
  if (known.companion_root != nullptr) options.program.companion_root = known.companion_root;
  if (known.num_data_files != 0 && known.data_files == nullptr) return Missing("data_files");
  for (size_t i = 0; i < known.num_data_files; ++i) {
    if (known.data_files[i] == nullptr) return Missing("names of data files");
    options.data_files.emplace_back(known.data_files[i]);
  }
  belay::Limits& limits = options.program.limits;
  if (known.limit_file_bytes != 0) limits.file_bytes = known.limit_file_bytes;
  if (known.limit_arena_bytes != 0) {
    limits.arena_bytes = limits.scratch_bytes = limits.delegate_bytes = known.limit_arena_bytes;
  }
  if (known.limit_instructions != 0) limits.executed_instructions = known.limit_instructions;
  if (known.limit_work != 0) limits.executed_work = known.limit_work;
  return options;
}

absl::StatusOr<std::unique_ptr<belay_program>> MakeProgram(Program program) {
  std::unique_ptr<belay_program> made(new (std::nothrow) belay_program);
  if (made == nullptr) return NoMemory("a program");
  ABSL_RETURN_IF_ERROR(belay::AddStandardKernels(made->kernels));
  if (!program.format().empty()) {
    ABSL_RETURN_IF_ERROR(made->kernels.Add(belay::pte::PrimKernels()));
  }
  made->program = std::move(program);
  return made;
}

absl::StatusOr<std::unique_ptr<belay_program>> OpenFile(const char* path,
                                                        const belay_open_options* given) {
  if (path == nullptr) return Missing("a path");
  ABSL_ASSIGN_OR_RETURN(const belay::pte::OpenOptions options, OpenOptionsOf(given));
  ABSL_ASSIGN_OR_RETURN(Program program, belay::pte::OpenAnyProgram(path, options));
  return MakeProgram(std::move(program));
}

absl::StatusOr<std::unique_ptr<belay_program>> OpenMemory(const void* bytes, size_t size,
                                                          const belay_open_options* given) {
  if (bytes == nullptr) return Missing("bytes");
  ABSL_ASSIGN_OR_RETURN(const belay::pte::OpenOptions options, OpenOptionsOf(given));
  if (!options.data_files.empty() || options.program.access != belay::FileAccess::kMap) {
    return absl::InvalidArgumentError(
        "expected neither copy nor data_files for a program in memory");
  }
  const auto file = absl::MakeConstSpan(static_cast<const std::byte*>(bytes), size);
  ABSL_ASSIGN_OR_RETURN(Program program, belay::pte::OpenAnyProgramBytes(file, options.program));
  return MakeProgram(std::move(program));
}

absl::StatusOr<std::unique_ptr<belay_method>> LoadMethod(const belay_program* program,
                                                         const char* name,
                                                         const belay_method_options* given) {
  if (program == nullptr) return Missing("a program");
  if (name == nullptr) return Missing("the name of a method");
  ABSL_ASSIGN_OR_RETURN(const belay_method_options known, Known(given));
  constexpr int32_t kMostThreads = 256;
  if (known.num_threads < 0 || known.num_threads > kMostThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_threads: expected 0 to ", kMostThreads, ", got ", known.num_threads));
  }
  std::unique_ptr<belay_method> made(new (std::nothrow) belay_method);
  if (made == nullptr) return NoMemory("a method");
  if (known.num_threads > 1) {
    made->threads = std::make_unique<belay::ThreadPool>(known.num_threads);
  }
  belay::MethodOptions options;
  options.threads = made->threads.get();
  if (known.log != nullptr) options.events = {.log = known.log->log.get()};
  ABSL_ASSIGN_OR_RETURN(made->method, belay::Method::Load(*program->program, name, program->kernels,
                                                          belay::RuntimeBackends(), options));
  return made;
}

// Validates the description, but not whether the memory is as large as described.
absl::StatusOr<TensorView> ViewOf(const belay_tensor* tensor) {
  if (tensor == nullptr) return Missing("a tensor");
  const auto dtype = belay::DTypeFromProgramFile(static_cast<uint32_t>(tensor->dtype));
  if (!dtype.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype: expected one of belay_dtype, got ", static_cast<int>(tensor->dtype)));
  }
  if (tensor->rank < 0 || tensor->rank > BELAY_MAX_RANK) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank: expected 0 to ", BELAY_MAX_RANK, ", got ", tensor->rank));
  }
  const auto rank = static_cast<size_t>(tensor->rank);
  TensorView view;
  view.dtype = *dtype;
  view.sizes = belay::Sizes(absl::MakeConstSpan(tensor->sizes, rank));
  view.strides = belay::Strides(absl::MakeConstSpan(tensor->strides, rank));
  const std::optional<int64_t> elements = belay::NumElements(view.sizes);
  belay::CheckedInt last = 0;
  for (int d = 0; d < view.rank(); ++d) {
    if (view.strides[d] < 0) {
      return absl::InvalidArgumentError(absl::StrCat("strides: expected values of at least 0, got ",
                                                     belay::FormatSizes(view.strides)));
    }
    if (elements.value_or(0) > 0) {
      last = last + belay::CheckedInt(view.sizes[d] - 1) * belay::CheckedInt(view.strides[d]);
    }
  }
  last = (last + belay::CheckedInt(1)) *
         belay::CheckedInt(static_cast<int64_t>(belay::DTypeSize(view.dtype)));
  if (!elements.has_value() || !last.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sizes: expected a tensor that fits in memory, got ", view.ToString()));
  }
  if (tensor->data == nullptr && *elements > 0) return Missing("the tensor's data");
  view.data = tensor->data;
  return view;
}

belay_tensor TensorOf(const TensorView& view) {
  belay_tensor tensor = {};
  tensor.dtype = static_cast<belay_dtype>(view.dtype);
  tensor.rank = view.rank();
  std::copy(view.sizes.begin(), view.sizes.end(), tensor.sizes);
  std::copy(view.strides.begin(), view.strides.end(), tensor.strides);
  tensor.data = view.data;
  return tensor;
}

belay_kind KindOf(const EValue& value) {
  if (value.is_tensor()) return BELAY_KIND_TENSOR;
  if (value.is<int64_t>()) return BELAY_KIND_INT;
  if (value.is<double>()) return BELAY_KIND_DOUBLE;
  if (value.is<bool>()) return BELAY_KIND_BOOL;
  return value.is_none() ? BELAY_KIND_NONE : BELAY_KIND_OTHER;
}

absl::Status OutOfRange(std::string_view what, size_t i, size_t count) {
  return absl::OutOfRangeError(absl::StrCat(what, " ", i, " does not exist, there are ", count));
}

absl::Status SetValue(belay_method* method, size_t i, const absl::StatusOr<EValue>& value) {
  if (method == nullptr) return Missing("a method");
  if (!value.ok()) return value.status();
  ABSL_RETURN_IF_ERROR(method->method->SetInput(i, *value));
  method->has_outputs = false;
  return absl::OkStatus();
}

absl::StatusOr<belay_input_info> InputInfo(const belay_method* method, size_t i) {
  if (method == nullptr) return Missing("a method");
  const belay::MethodPlan& plan = method->method->plan();
  if (i >= plan.inputs.size()) return OutOfRange("input", i, plan.inputs.size());
  const belay::InputPlan& input = plan.inputs[i];
  belay_input_info info = {};
  info.name = input.name.c_str();
  const belay::ValuePlan& value = plan.values[input.value];
  if (const auto* tensor = std::get_if<belay::TensorPlan>(&value)) {
    info.kind = BELAY_KIND_TENSOR;
    TensorView view;
    view.dtype = tensor->dtype;
    view.sizes = belay::Sizes(tensor->sizes);
    view.strides = belay::DenseStrides(tensor->sizes, tensor->dim_order);
    info.tensor = TensorOf(view);
    info.dynamic_dims = tensor->dynamic_dims;
    std::copy(view.sizes.begin(), view.sizes.end(), info.min_sizes);
    for (const belay::SizeConstraint& constraint : input.constraints) {
      info.min_sizes[constraint.dim] = constraint.min;
    }
  } else if (const auto* kind = std::get_if<belay::ScalarKind>(&value)) {
    info.kind = *kind == belay::ScalarKind::kInt      ? BELAY_KIND_INT
                : *kind == belay::ScalarKind::kDouble ? BELAY_KIND_DOUBLE
                                                      : BELAY_KIND_BOOL;
  } else {
    info.kind = BELAY_KIND_OTHER;
  }
  return info;
}

absl::Status Execute(belay_method* method, const belay_execute_options* given) {
  if (method == nullptr) return Missing("a method");
  method->has_outputs = false;
  ABSL_ASSIGN_OR_RETURN(const belay_execute_options known, Known(given));
  belay::ExecuteOptions options;
  if (known.timeout_ns != 0) {
    // Clamped to a century, so that the time point does not overflow.
    constexpr uint64_t kMostTime = uint64_t{100} * 365 * 24 * 3600 * 1'000'000'000;
    options.deadline = std::chrono::steady_clock::now() +
                       std::chrono::nanoseconds(std::min(known.timeout_ns, kMostTime));
  }
  if (known.cancellation != nullptr) options.cancel = &known.cancellation->cancelled;
  options.executed_instructions = known.limit_instructions;
  options.executed_work = known.limit_work;
  ABSL_RETURN_IF_ERROR(method->method->Execute(options));
  method->has_outputs = true;
  return absl::OkStatus();
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

// Converts the result to the output parameter.
template <class T, class To, class Convert>
belay_status Put(const absl::StatusOr<T>& found, To* place, belay_error** error, Convert convert) {
  if (!found.ok()) return Report(found.status(), error);
  if (place == nullptr) return Report(Missing("an output pointer for the result"), error);
  *place = convert(*found);
  return BELAY_OK;
}

constexpr auto kSame = [](const auto& value) { return value; };

}  // namespace

uint32_t belay_abi_version(void) { return BELAY_ABI_VERSION; }

const char* belay_status_name(belay_status status) {
  switch (status) {
    case BELAY_OK:
      return "OK";
    case BELAY_CANCELLED:
      return "CANCELLED";
    case BELAY_UNKNOWN:
      return "UNKNOWN";
    case BELAY_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case BELAY_DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case BELAY_NOT_FOUND:
      return "NOT_FOUND";
    case BELAY_ALREADY_EXISTS:
      return "ALREADY_EXISTS";
    case BELAY_PERMISSION_DENIED:
      return "PERMISSION_DENIED";
    case BELAY_RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case BELAY_FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case BELAY_ABORTED:
      return "ABORTED";
    case BELAY_OUT_OF_RANGE:
      return "OUT_OF_RANGE";
    case BELAY_UNIMPLEMENTED:
      return "UNIMPLEMENTED";
    case BELAY_INTERNAL:
      return "INTERNAL";
    case BELAY_UNAVAILABLE:
      return "UNAVAILABLE";
    case BELAY_DATA_LOSS:
      return "DATA_LOSS";
    case BELAY_UNAUTHENTICATED:
      return "UNAUTHENTICATED";
  }
  return "";
}

const char* belay_error_message(const belay_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}
belay_status belay_error_status(const belay_error* error) {
  return error == nullptr ? BELAY_OK : error->status;
}
void belay_error_free(belay_error* error) { delete error; }

size_t belay_dtype_size(belay_dtype dtype) {
  const auto known = belay::DTypeFromProgramFile(static_cast<uint32_t>(dtype));
  return known.has_value() ? belay::DTypeSize(*known) : 0;
}

belay_tensor belay_tensor_contiguous(belay_dtype dtype, int32_t rank, const int64_t* sizes,
                                     void* data) {
  belay_tensor tensor = {};
  tensor.dtype = dtype;
  tensor.rank = rank;
  tensor.data = data;
  if (rank < 0 || rank > BELAY_MAX_RANK || (sizes == nullptr && rank > 0)) {
    tensor.rank = -1;  // rejected by all functions
    return tensor;
  }
  // Wraps for sizes larger than memory; functions that use the tensor reject those.
  uint64_t stride = 1;
  for (int32_t d = rank - 1; d >= 0; --d) {
    tensor.sizes[d] = sizes[d];
    tensor.strides[d] = static_cast<int64_t>(stride & INT64_MAX);
    stride *= static_cast<uint64_t>(std::max<int64_t>(sizes[d], 1));
  }
  return tensor;
}

belay_status belay_program_open(const char* path, const belay_open_options* options,
                                belay_program** program, belay_error** error) {
  if (program == nullptr) return Report(Missing("an output pointer for the program"), error);
  return Give(OpenFile(path, options), program, error);
}

belay_status belay_program_open_bytes(const void* bytes, size_t size,
                                      const belay_open_options* options, belay_program** program,
                                      belay_error** error) {
  if (program == nullptr) return Report(Missing("an output pointer for the program"), error);
  return Give(OpenMemory(bytes, size, options), program, error);
}

void belay_program_free(belay_program* program) { delete program; }

size_t belay_program_num_methods(const belay_program* program) {
  return program == nullptr ? 0 : program->program->methods().size();
}

const char* belay_program_method_name(const belay_program* program, size_t i) {
  if (i >= belay_program_num_methods(program)) return nullptr;
  return program->program->methods()[i].name.c_str();
}

belay_status belay_event_log_create(size_t capacity, belay_event_log** log, belay_error** error) {
  if (log == nullptr) return Report(Missing("an output pointer for the log"), error);
  const auto create = [&]() -> absl::StatusOr<std::unique_ptr<belay_event_log>> {
    std::unique_ptr<belay_event_log> made(new (std::nothrow) belay_event_log);
    if (made == nullptr) return NoMemory("a log");
    ABSL_ASSIGN_OR_RETURN(made->log, belay::EventLog::Create(capacity));
    return made;
  };
  return Give(create(), log, error);
}

void belay_event_log_free(belay_event_log* log) { delete log; }
size_t belay_event_log_size(const belay_event_log* log) {
  return log == nullptr ? 0 : log->log->events().size();
}
uint64_t belay_event_log_dropped(const belay_event_log* log) {
  return log == nullptr ? 0 : log->log->dropped();
}
void belay_event_log_clear(belay_event_log* log) {
  if (log != nullptr) log->log->Clear();
}

belay_status belay_event_log_get(const belay_event_log* log, size_t i, belay_event* event) {
  if (event == nullptr) return BELAY_INVALID_ARGUMENT;
  if (i >= belay_event_log_size(log)) return BELAY_OUT_OF_RANGE;
  const belay::Event& from = log->log->events()[i];
  *event = {.kind = static_cast<belay_event_kind>(from.kind),
            .depth = from.depth,
            .begin_ns = from.begin,
            .end_ns = from.end,
            .id = from.id,
            .name = from.named ? log->log->names()[static_cast<size_t>(from.id)].c_str() : nullptr};
  return BELAY_OK;
}

belay_status belay_method_load(const belay_program* program, const char* name,
                               const belay_method_options* options, belay_method** method,
                               belay_error** error) {
  if (method == nullptr) return Report(Missing("an output pointer for the method"), error);
  return Give(LoadMethod(program, name, options), method, error);
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
  return Put(InputInfo(method, i), info, error, kSame);
}

belay_status belay_method_set_tensor(belay_method* method, size_t i, const belay_tensor* tensor,
                                     belay_error** error) {
  const absl::StatusOr<TensorView> view = ViewOf(tensor);
  return Report(
      SetValue(method, i, view.ok() ? absl::StatusOr<EValue>(EValue(*view)) : view.status()),
      error);
}
belay_status belay_method_set_int(belay_method* method, size_t i, int64_t value,
                                  belay_error** error) {
  return Report(SetValue(method, i, EValue(value)), error);
}
belay_status belay_method_set_double(belay_method* method, size_t i, double value,
                                     belay_error** error) {
  return Report(SetValue(method, i, EValue(value)), error);
}
belay_status belay_method_set_bool(belay_method* method, size_t i, int32_t value,
                                   belay_error** error) {
  return Report(SetValue(method, i, EValue(value != 0)), error);
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
  return Report(Execute(method, options), error);
}

belay_status belay_method_output_kind(const belay_method* method, size_t i, belay_kind* kind,
                                      belay_error** error) {
  return Put(Output(method, i), kind, error, [](const EValue* value) { return KindOf(*value); });
}
belay_status belay_method_get_tensor(const belay_method* method, size_t i, belay_tensor* tensor,
                                     belay_error** error) {
  return Put(OutputAs<TensorView>(method, i, "a tensor"), tensor, error, TensorOf);
}
belay_status belay_method_get_int(const belay_method* method, size_t i, int64_t* value,
                                  belay_error** error) {
  return Put(OutputAs<int64_t>(method, i, "an int"), value, error, kSame);
}
belay_status belay_method_get_double(const belay_method* method, size_t i, double* value,
                                     belay_error** error) {
  return Put(OutputAs<double>(method, i, "a float"), value, error, kSame);
}
belay_status belay_method_get_bool(const belay_method* method, size_t i, int32_t* value,
                                   belay_error** error) {
  return Put(OutputAs<bool>(method, i, "a bool"), value, error, kSame);
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
  if (method == nullptr) return Report(Missing("a method"), error);
  if (name == nullptr) return Report(Missing("the name of a state"), error);
  return Put(method->method->GetState(name), tensor, error, TensorOf);
}
void belay_method_reset_state(belay_method* method) {
  if (method != nullptr) method->method->ResetState();
}
