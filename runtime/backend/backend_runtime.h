// Backend interface on the device: a backend turns a blob into a handle, and the handle computes.
#ifndef BELAY_RUNTIME_BACKEND_BACKEND_RUNTIME_H_
#define BELAY_RUNTIME_BACKEND_BACKEND_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/backend_options.h"
#include "runtime/core/budget.h"
#include "runtime/core/call_tables.h"
#include "runtime/core/evalue.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/named_data_map.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/trace/event_log.h"

namespace belay {

class Method;
struct DelegateMemory;  // delegate_memory.h

struct CompileSpecView {
  std::string_view key;
  std::string_view value;  // bytes
};

// Information available to a delegate during Init.
struct DelegateInitContext {
  std::string_view method;
  absl::Span<const CompileSpecView> compile_specs;
  const NamedDataMap* named_data;  // never null
  // The first call's arguments and outputs at their maximum sizes (tensors have no data yet). Other
  // calls have operands of the same kinds. The blob must be consistent with them.
  absl::Span<const EValue* const> arguments;
  absl::Span<const EValue* const> outputs;
  // Remainder of Limits::delegate_bytes for the delegates of the method; never null. Before it
  // allocates, a handle charges all memory that it keeps and whose size the program determines:
  // copies, tables, state. DelegateHandle::ScratchBytes is not charged here. Outlives the handle,
  // which may charge memory for the sizes of a call (runtime/core/reserved_memory.h).
  MemoryBudget* memory;
  // Threads for a call, from the method's options; null: only the calling thread. Outlives the
  // handle, and is leased to the calling thread while the handle executes.
  ThreadPool* threads = nullptr;
  // Log for the handle's steps, by the identifiers of its debug handle map (docs/profiling.md §2).
  // Outlives the handle.
  EventSink events = {};
  // Values of all options in the backend's table; null: the defaults. Only valid during Init.
  const OptionValues* options = nullptr;
  // For activations of the handle; null: none. Outlives the handle, which charges what it uses to
  // `memory` as if it were its own.
  DelegateMemory* shared_memory = nullptr;
};

// A loaded delegate, which serves every call of its lowered module in the method. Used by one
// thread at a time. The destructor frees it.
class DelegateHandle {
 public:
  virtual ~DelegateHandle() = default;
  // Computes the outputs from the arguments, which are in call order. Each output gets its memory
  // from `context.Output(i, sizes)`. Allocates nothing. Errors are returned to the caller,
  // annotated with backend, method and delegate.
  virtual absl::Status Execute(KernelContext& context) = 0;
  // As Execute, charged to the budget of the enclosing Method::Execute. Delegates that work step by
  // step override this: they charge each step to `budget`, or pass it on.
  virtual absl::Status ExecuteWithin(KernelContext& context, Budget& budget) {
    return Execute(context);
  }
  // Working memory of a call: `context.scratch()` has at least this size, 64-byte aligned, contents
  // undefined. All delegates and kernels of a method share the same memory, one at a time. The
  // largest requirement is charged once to Limits::delegate_bytes. Called after the handle was
  // created.
  virtual uint64_t ScratchBytes() const { return 0; }
  // Resets the state that the delegate keeps between calls to its initial content. Allocates
  // nothing.
  virtual void ResetState() {}
  // Current value of an option in the backend's table.
  virtual OptionValue GetOption(std::string_view name) const { return {}; }
  // Changes a changeable option in the backend's table. The value is valid. Called between calls.
  virtual void SetOption(std::string_view name, const OptionValue& value) {}
  // Adds memory of the handle, other than tensors, that every call reads. The caller fetches it
  // into the caches ahead of a call.
  virtual void AddTables(CallTables& tables) const {}
  // For reports: the method that the delegate runs, if its blob is a program file
  // (program_delegate.h). Valid as long as the handle.
  virtual const Method* method() const { return nullptr; }
};

// A backend. Stateless or thread-safe: several methods may be loaded concurrently. Must outlive its
// handles.
class BackendRuntime {
 public:
  virtual ~BackendRuntime() = default;
  virtual std::string_view id() const = 0;
  // The Bazel target that provides the backend, for messages: "//backends/demo:runtime".
  virtual std::string_view target() const { return ""; }
  // The options that callers may set when they load a method. Valid as long as the backend.
  virtual BackendOptionTable options() const { return {}; }
  // Validates all of `blob` (untrusted bytes, alive as long as the program) and prepares the call.
  //   kInvalidArgument, kDataLoss  the blob is malformed or inconsistent with the call
  //   kUnimplemented               the blob has a newer version, or needs a feature missing in this
  //                                build
  //   kResourceExhausted           out of memory, or `context.memory`
  virtual absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_BACKEND_BACKEND_RUNTIME_H_
