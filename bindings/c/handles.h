// Objects of the C API and functions that its sources share. Not part of the API.
#ifndef BELAY_BINDINGS_C_HANDLES_H_
#define BELAY_BINDINGS_C_HANDLES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bindings/c/belay.h"
#include "runtime/backend/backend_options.h"
#include "runtime/core/arena.h"
#include "runtime/core/evalue.h"
#include "runtime/core/tensor_view.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/method.h"
#include "runtime/executor/shared_state.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/program.h"
#include "runtime/trace/event_log.h"

struct belay_error {
  belay_status status;
  std::string message;
  std::string nodes = "[]";  // JSON
};

struct belay_bytes {
  std::string bytes;
};

struct belay_program {
  belay::KernelRegistry kernels;
  std::optional<belay::Program> program;
};

namespace belay::c {

// The functions of a belay_allocator.
class CallerAllocator final : public BlockAllocator {
 public:
  // kInvalidArgument: a function is NULL.
  static absl::StatusOr<CallerAllocator> Create(const belay_allocator& functions);
  void* Allocate(size_t bytes, size_t alignment) override {
    return functions_.allocate(functions_.context, bytes, alignment);
  }
  void Free(void* block, size_t bytes) override {
    functions_.free(functions_.context, block, bytes);
  }

 private:
  explicit CallerAllocator(const belay_allocator& functions) : functions_(functions) {}
  belay_allocator functions_;
};

}  // namespace belay::c

struct belay_state {
  std::optional<belay::c::CallerAllocator> allocator;
  std::optional<belay::SharedState> state;
  std::vector<std::string> names;
};

struct belay_event_log {
  std::unique_ptr<belay::EventLog> log;
};

struct belay_cancellation {
  std::atomic<bool> cancelled = false;
};

struct belay_method {
  std::unique_ptr<belay::ThreadPool> threads;
  std::optional<belay::c::CallerAllocator> allocator;
  std::optional<belay::Method> method;
  std::vector<std::string> output_names;
  // Strings of belay_method_get_backend_option by backend and option.
  std::map<std::pair<std::string, std::string>, std::string> option_strings;
  std::vector<bool> moved;   // outputs that are in memory of the last belay_method_call
  bool has_outputs = false;  // after a successful execution
};

namespace belay::c {

// Stores the error, unless `error` is NULL, and returns its code.
belay_status Report(const absl::Status& status, belay_error** error);

// kInvalidArgument: "expected <what>, got NULL".
absl::Status Missing(std::string_view what);
absl::Status NoMemory(std::string_view what);
// kOutOfRange: "<what> <i> does not exist, there are <count>".
absl::Status OutOfRange(std::string_view what, size_t i, size_t count);
// kInvalidArgument: "struct_size: expected …".
absl::Status BadStructSize(size_t given);
// kUnimplemented: the caller sets fields that this library does not know.
absl::Status UnknownFields(size_t given, size_t known);

// Copies a list of strings. kInvalidArgument: the list, or element `<what>[<i>]`, is NULL.
absl::StatusOr<std::vector<std::string>> Strings(const char* const* list, size_t count,
                                                 std::string_view what);

// Copies a list of options.
//   kInvalidArgument  the list, an id, a name or a string is NULL; an option is given twice; another
//                     kind of value
absl::StatusOr<BackendOptions> BackendOptionsOf(const belay_backend_option* list, size_t count);

// Copies the fields that the caller's version of the structure has; the others keep their defaults.
template <class Options>
absl::StatusOr<Options> Known(const Options* given) {
  Options options = {};
  if (given == nullptr) return options;
  if (given->struct_size < sizeof(size_t)) return BadStructSize(given->struct_size);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(Options); i < given->struct_size; ++i) {
    if (bytes[i] != 0) return UnknownFields(given->struct_size, sizeof(Options));
  }
  std::memcpy(&options, given, std::min(given->struct_size, sizeof(Options)));
  return options;
}

// Copies a result into the fields that the caller's version of the structure has.
template <class Info>
absl::Status StoreKnown(const Info& info, Info* given) {
  if (given == nullptr) return Missing("an output pointer for the result");
  const size_t size = given->struct_size;
  if (size < sizeof(size_t)) return BadStructSize(size);
  Info sized = info;
  sized.struct_size = size;
  std::memcpy(given, &sized, std::min(size, sizeof(Info)));
  return absl::OkStatus();
}

// Moves the created object to the output parameter.
template <class T>
belay_status Give(absl::StatusOr<std::unique_ptr<T>> created, T** output, belay_error** error) {
  if (!created.ok()) return Report(created.status(), error);
  *output = created->release();
  return BELAY_OK;
}

// Converts the result to the output parameter.
template <class T, class To, class Convert>
belay_status Put(const absl::StatusOr<T>& found, To* output, belay_error** error, Convert convert) {
  if (!found.ok()) return Report(found.status(), error);
  if (output == nullptr) return Report(Missing("an output pointer for the result"), error);
  *output = convert(*found);
  return BELAY_OK;
}

// Validates the description, but not whether the memory is as large as described.
//   kInvalidArgument  dtype, rank, a negative stride, sizes larger than memory, missing data
absl::StatusOr<TensorView> ViewOf(const belay_tensor* tensor);
belay_tensor TensorOf(const TensorView& view);
belay_kind KindOf(const EValue& value);

// Returns a name for each output from the program's output spec (docs/pt2-format.md): the keys and
// indices that lead to it, joined by '.', or "output" for a single tensor. If the spec is missing
// or does not match, returns "0", "1", and so on.
std::vector<std::string> OutputNames(std::string_view out_spec, size_t count);

}  // namespace belay::c

#endif  // BELAY_BINDINGS_C_HANDLES_H_
