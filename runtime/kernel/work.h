// Cost model of calls, computed from operand sizes, for limits on work (runtime/core/budget.h).
#ifndef BELAY_RUNTIME_KERNEL_WORK_H_
#define BELAY_RUNTIME_KERNEL_WORK_H_

#include <cstdint>
#include <string_view>

#include "runtime/kernel/kernel.h"

namespace belay {

// The cost term of an operator that grows faster than its operands. Elements are always counted.
struct WorkRule {
  enum class Kind : uint8_t {
    kElements,     // no such term
    kProduct,      // rows of argument `first` times elements of one matrix of `second`
    kPairs,        // elements of `first` times elements of `second`
    kRows,         // elements of `first` times the size of its last dimension
    kConvolution,  // output pixels times elements of argument 1
    kChain,        // pixels of `first`, an image, times elements of `second`, which may be a list
    kGradient,     // 3 * pixels of `first` times elements of argument 2
    kWindow,       // output elements times the window, given by the ints of argument `first`
    kBags,         // elements of argument 1 times row length of argument 0
  };
  Kind kind = Kind::kElements;
  uint8_t first = 0, second = 1;
  uint8_t factor = 1;  // multiplies the cost of operators that are slow per element
};

// Returns the rule of `op`; unlisted operators count elements.
WorkRule WorkRuleOf(std::string_view op);

// Cost in multiply-adds or operations of similar cost. Saturates.
//   WorkOfArguments: the part determined by arguments only, kProduct included
//   WorkOfOutputs: the rest; outputs must have their sizes
uint64_t WorkOfArguments(const WorkRule& rule, const KernelContext& context);
uint64_t WorkOfOutputs(const WorkRule& rule, const KernelContext& context);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_WORK_H_
