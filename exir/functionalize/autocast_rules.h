// Which dtypes operators compute in inside an autocast region.
//
// Source: PyTorch's aten/src/ATen/autocast_mode.cpp, the table of the CPU.
#ifndef BELAY_EXIR_FUNCTIONALIZE_AUTOCAST_RULES_H_
#define BELAY_EXIR_FUNCTIONALIZE_AUTOCAST_RULES_H_

#include <string_view>

namespace belay::exir {

enum class AutocastRule : unsigned char {
  kNone,     // as the operands are
  kLower,    // floating point operands become the region's dtype
  kFloat32,  // half precision operands become float32
  kWidest,   // float32 if some operand is, else the region's dtype
};

// By the name of an overload ("aten.linear.default"). float64 is never cast.
AutocastRule AutocastRuleOf(std::string_view op);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_AUTOCAST_RULES_H_
