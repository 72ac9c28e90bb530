// What the kernels of this folder do to sums before they store them.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace belay {

// Functions of one number. NaN gives NaN.
enum class Activation : uint8_t {
  kNone,
  kSigmoid,
  kTanh,
  kHardsigmoid,  // min(max(x + 3, 0), 6) / 6
  kHardswish,    // x times that
  kSilu,         // x * sigmoid(x)
  kGelu,         // x * (1 + erf(x / sqrt(2))) / 2
  kGeluTanh,     // its approximation by tanh
};
// "none", "sigmoid", "tanh", "hardsigmoid", "hardswish", "silu", "gelu", "gelu_tanh".
std::optional<Activation> ActivationOf(std::string_view name);
std::string ActivationNames();  // all, for messages

// clamp(activation(sum + bias + other), low, high), or clamp(activation(sum + bias) * other, …). A
// result of bfloat16 is rounded to it after each of sum + bias, + other, activation, * other, as the
// operators in a row would; its bounds are numbers of bfloat16.
template <class T>
struct EpilogueOn {
  const float* bias = nullptr;  // one per column; null for none
  const T* other = nullptr;     // like the result, with its strides; null for none
  bool multiply = false;
  Activation activation = Activation::kNone;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
using EpilogueF32 = EpilogueOn<float>;

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_H_
