// How much work a call is, by the sizes of its operands: what limits on work count
// (runtime/core/budget.h).
#ifndef BELAY_RUNTIME_KERNEL_WORK_H_
#define BELAY_RUNTIME_KERNEL_WORK_H_

#include <cstdint>
#include <string_view>

#include "runtime/kernel/kernel.h"

namespace belay {

// What grows faster than the operands of an operator. Elements are counted in any case.
struct WorkRule {
  enum class Kind : uint8_t {
    kElements,     // nothing
    kProduct,      // each row of argument `first` with all of argument `second`
    kPairs,        // each element of `first` with each of `second`
    kRows,         // each element of `first` with its row or column
    kConvolution,  // each place of the output with all of argument 1
    kChain,  // each place of `first`, which are images, with all of `second`, which may be a list
    kGradient,  // the same of argument 0 instead of the output, three times
    kWindow,    // each element of the output with a window, the ints of argument `first`
    kBags,      // each element of argument 1 with a row of argument 0
  };
  Kind kind = Kind::kElements;
  uint8_t first = 0, second = 1;
  uint8_t factor = 1;  // of elements and the like: for operators that take long for each
};

// What is not listed counts elements.
WorkRule WorkRuleOf(std::string_view op);

// In multiply-adds or what takes as long. Saturates.
//   of arguments: what they alone decide, kProduct included
//   of outputs: the rest; they have their sizes
uint64_t WorkOfArguments(const WorkRule& rule, const KernelContext& context);
uint64_t WorkOfOutputs(const WorkRule& rule, const KernelContext& context);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_WORK_H_
