#include "runtime/kernels/packed/epilogue.h"

#include <cstddef>
#include <iterator>

namespace belay {
namespace {

// In the order of the enumerators.
constexpr std::string_view kNames[] = {"none",      "sigmoid", "tanh", "hardsigmoid",
                                       "hardswish", "silu",    "gelu", "gelu_tanh"};

}  // namespace

std::optional<Activation> ActivationOf(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Activation>(i);
  }
  return std::nullopt;
}

std::string ActivationNames() {
  std::string names;
  for (std::string_view name : kNames) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

}  // namespace belay
