// What a backend is on the device: it turns a blob into a handle, and a handle computes.
#ifndef BELAY_RUNTIME_BACKEND_BACKEND_RUNTIME_H_
#define BELAY_RUNTIME_BACKEND_BACKEND_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/budget.h"
#include "runtime/core/evalue.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/named_data_map.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel/kernel.h"
#include "runtime/trace/event_log.h"

namespace belay {

class Method;

struct CompileSpecView {
  std::string_view key;
  std::string_view value;  // bytes
};

// What a delegate may see while it is made.
struct DelegateInitContext {
  std::string_view method;
  absl::Span<const CompileSpecView> compile_specs;
  const NamedDataMap* named_data;  // never null
  // The first call's arguments and outputs at their largest sizes (tensors have no data yet); those
  // of other calls are like them. What the blob says must agree.
  absl::Span<const EValue* const> arguments;
  absl::Span<const EValue* const> outputs;
  // What is left of Limits::delegate_bytes for the delegates of the method; never null. A handle
  // takes what it will hold from it before it allocates: copies, tables, what it keeps from call to
  // call; all whose size the program decides. Not DelegateHandle::ScratchBytes.
  MemoryBudget* memory;
  // Who works on a call, as the method's options say; null for nobody else. Outlives the handle,
  // and is leased to the calling thread while the handle executes.
  ThreadPool* threads = nullptr;
  // Where the handle may log what it does, step by step, by the identifiers of its debug handle map
  // (docs/profiling.md §2). Outlives the handle.
  EventSink events = {};
};

// One loaded delegate, which serves every call of its lowered module in the method. Used by one
// thread at a time. Freed by its destructor.
class DelegateHandle {
 public:
  virtual ~DelegateHandle() = default;
  // Computes the outputs from the arguments. Arguments come in call order; each output gets its
  // memory by `context.Output(i, sizes)`. Allocates nothing. Errors are passed on, annotated with
  // backend, method and delegate.
  virtual absl::Status Execute(KernelContext& context) = 0;
  // The same on account of a call of Method::Execute, which calls this. To be implemented by
  // delegates that work step by step: they take each from `budget`, or hand it on.
  virtual absl::Status ExecuteWithin(KernelContext& context, Budget& budget) {
    return Execute(context);
  }
  // Working memory that a call needs: `context.scratch()` has as much, aligned to 64 bytes and with
  // contents undefined. All delegates and kernels of a method work in the same memory, one after the
  // other; what the largest needs is taken from Limits::delegate_bytes once. Asked when the handle
  // was made.
  virtual uint64_t ScratchBytes() const { return 0; }
  // Gives what the delegate keeps from call to call its initial content. Allocates nothing.
  virtual void ResetState() {}
  // The method that the delegate is, where its blob is a program file (program_delegate.h): for
  // reports. Valid as long as the handle.
  virtual const Method* method() const { return nullptr; }
};

// A backend. Stateless or thread-safe: several methods may be loaded at once. Must outlive its
// handles.
class BackendRuntime {
 public:
  virtual ~BackendRuntime() = default;
  virtual std::string_view id() const = 0;
  // The Bazel target that provides it, for messages: "//backends/demo:runtime".
  virtual std::string_view target() const { return ""; }
  // Checks all of `blob` (untrusted bytes, alive as long as the program) and prepares the call.
  //   kInvalidArgument, kDataLoss  the blob is malformed or does not fit the call
  //   kUnimplemented               the blob's version is newer, or it needs something this build
  //                                lacks
  //   kResourceExhausted           no memory, or `context.memory`
  virtual absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_BACKEND_BACKEND_RUNTIME_H_
