// Kernel calls as strings, for tests of results and errors:
//
//   aten.index_select.default f32[2,3]=1,2,3,4,5,6 1 i64[2]=2,0 -> f32
//
// The operator, its arguments in the order of its schema, and its outputs, separated by spaces.
//
//   f32[2,3]             a tensor, by the short name of its dtype; its elements are 1, 2, 3, …
//   f32[2,3]=1,nan,2+1j  its elements; repeated from the first if the tensor has more
//   f32[2,3]:t           dimensions in reversed memory order; :l channels last, :g gaps between
//                        elements, :k both, :r one element everywhere, :n without memory
//   3 0.5 1+2j true none float32 'mean' <channels_last>
//   [1,2] [f32[2],none]  a list; the element "null" is a missing slot; elements of its tensors end
//                        with ";": [f32[2]=1,2;,none]
//
// An argument "@2" is the same tensor as argument 2. An output is a resizable tensor ("f32", or in
// another layout "f32:l"), or a tensor of fixed sizes ("f32[2]"). "self" and "@2" are the slots of
// arguments 0 and 2. Any other word is the initial value of the output's slot.
#ifndef BELAY_RUNTIME_KERNELS_CALL_TESTING_H_
#define BELAY_RUNTIME_KERNELS_CALL_TESTING_H_

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/core/evalue.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay {

// Splits at separators outside brackets. Elements of a tensor in a list end with ";" if another
// element of the list follows: "[f32[2]=1,2;,none]".
std::vector<std::string> SplitOutsideOfBrackets(std::string_view text, char separator);

// A call split into words. Copies are independent.
struct TextCall {
  // Ends the process if `text` is not a call.
  static TextCall Parse(std::string_view text);
  // Also sets the names of arguments. Ends the process if the operator has no kernel or another
  // number of arguments.
  static TextCall Parse(std::string_view text, const KernelRegistry& kernels);
  // Returns a copy with one argument, or one output, replaced.
  TextCall With(size_t argument, std::string_view value) const;
  TextCall With(std::string_view name, std::string_view value) const;
  TextCall WithOutput(size_t output, std::string_view value) const;
  std::string ToString() const;

  bool Has(std::string_view name) const;
  const std::string& operator[](std::string_view name) const;

  std::string op;
  std::vector<std::string> arguments, outputs;
  std::vector<std::string> names;  // of the arguments, if parsed with a registry
};

// Parses values and owns their memory. Buffers end at a tensor's last element, so that ASan detects
// overruns.
class ValueMemory {
 public:
  // Ends the process if `text` is not a value.
  EValue Value(std::string_view text);
  EValue Tensor(DType dtype, const Sizes& sizes, char layout, std::string_view elements);
  EValue List(std::vector<EValue*> elements) {
    return ListView{lists_.emplace_back(std::move(elements))};
  }
  EValue* Slot(EValue value) { return &slots_.emplace_back(value); }
  std::byte* Bytes(size_t count);

 private:
  std::deque<std::unique_ptr<std::byte[]>> bytes_;
  std::deque<std::string> strings_;
  std::deque<EValue> slots_;
  std::deque<std::vector<EValue*>> lists_;
};

// Faults injected into the environment of a call.
struct CallFaults {
  int failing_resize = -1;  // index of the output resize that fails, from 0
  bool no_scratch = false;
  bool scratch_if_accepted = false;  // no scratch memory if the kernel does not accept the call
  bool constant_arguments = false;   // arguments are not writable
  bool plan_only = false;            // only selects a kernel and computes its scratch size
  ThreadPool* threads = nullptr;
};

struct CallOutcome {
  absl::Status status;
  std::string kernel;
  std::vector<EValue> outputs;  // stored in `memory`
  int resizes = 0;
  uint64_t scratch_bytes = 0;
  std::shared_ptr<ValueMemory> memory;

  // "f32[2]=1,2", numbers with six digits, outputs separated by "; ". For an error, its code and
  // message.
  std::string ToString() const;
};

// Maximal number of elements of an output; more is kOutOfRange.
inline constexpr int64_t kMostTestElements = int64_t{1} << 20;

// Runs the registry's kernel that accepts the call. kNotFound if no kernel accepts it, kUnavailable
// if the kernel requests more than 1 GiB of scratch memory.
CallOutcome RunCall(const KernelRegistry& kernels, const TextCall& call,
                    const CallFaults& faults = {});
// Runs this kernel, even if it does not accept the call.
CallOutcome RunCall(const Kernel& kernel, const TextCall& call, const CallFaults& faults = {});

// Lines of a text file that are neither empty nor comments (#).
std::vector<std::string> LinesOf(const std::string& path);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_TESTING_H_
