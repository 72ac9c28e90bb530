// Calls of kernels as text, for tests of what they give and of what they refuse:
//
//   aten.index_select.default f32[2,3]=1,2,3,4,5,6 1 i64[2]=2,0 -> f32
//
// An operator, its arguments in the order of its schema, and its outputs, with a space between them.
//
//   f32[2,3]             a tensor, by the short name of its dtype; its elements are 1, 2, 3, …
//   f32[2,3]=1,nan,2+1j  its elements; from the first again where there are more
//   f32[2,3]:t           its dimensions lie in the opposite order; :l channels last, :g with gaps
//                        between elements, :r one element everywhere, :n without memory
//   3 0.5 1+2j true none float32 'mean' <channels_last>
//   [1,2] [f32[2],none]  a list; the element "null" is a slot that is missing; elements of its
//                        tensors end with ";": [f32[2]=1,2;,none]
//
// An argument "@2" is the same tensor as argument 2. An output is a tensor that is given any sizes
// ("f32", or in another layout "f32:l"), or one that keeps those it has ("f32[2]"); or "self" or "@2",
// which are the slots of arguments 0 and 2. Anything else is what stands in the slot before.
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
#include "runtime/kernel/kernel_registry.h"

namespace belay {

// The parts between separators that stand outside of brackets. Elements of a tensor in a list end
// with ";" where another element of the list follows: "[f32[2]=1,2;,none]".
std::vector<std::string> SplitOutsideOfBrackets(std::string_view text, char separator);

// A call as words. Copies are independent.
struct TextCall {
  // Ends the process for what is no call.
  static TextCall Parse(std::string_view text);
  // The same but for one argument, or one output.
  TextCall With(size_t argument, std::string_view value) const;
  TextCall WithOutput(size_t output, std::string_view value) const;
  std::string ToString() const;

  std::string op;
  std::vector<std::string> arguments, outputs;
};

// Values from words, and their memory. No byte lies behind a tensor's last element, so that asan
// sees what runs over.
class ValueMemory {
 public:
  // Ends the process for what is no value.
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

// What is wrong with the surroundings of a call.
struct CallFaults {
  int failing_resize = -1;  // this one of the outputs' resizes fails, counted from 0
  bool no_scratch = false;
  bool constant_arguments = false;  // none may be written
  bool plan_only = false;           // a kernel is chosen and asked for its working memory, no more
  ThreadPool* threads = nullptr;
};

struct CallOutcome {
  absl::Status status;
  std::string kernel;
  std::vector<EValue> outputs;  // in the memory below
  int resizes = 0;
  uint64_t scratch_bytes = 0;
  std::shared_ptr<ValueMemory> memory;

  // "f32[2]=1,2", numbers with six digits; "; " between outputs. Of an error, its code and message.
  std::string ToString() const;
};

// The most elements of an output; more is kOutOfRange.
inline constexpr int64_t kMostTestElements = int64_t{1} << 20;

// Runs the kernel of the registry that takes the call. kNotFound when there is none, kUnavailable
// when it asks for more working memory than 1 GiB.
CallOutcome RunCall(const KernelRegistry& kernels, const TextCall& call,
                    const CallFaults& faults = {});
// The same by this kernel, whether it takes the call or not.
CallOutcome RunCall(const Kernel& kernel, const TextCall& call, const CallFaults& faults = {});

// The names of the operator's arguments.
std::vector<std::string> ArgumentNames(const KernelRegistry& kernels, std::string_view op);

// The lines of a text file that are neither empty nor comments (#).
std::vector<std::string> LinesOf(const std::string& path);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_TESTING_H_
