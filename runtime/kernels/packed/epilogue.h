// Epilogues: operations on accumulators before they are stored.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace belay {

// Elementwise activation functions. NaN gives NaN.
enum class Activation : uint8_t {
  kNone,
  kSigmoid,
  kTanh,
  kHardsigmoid,  // min(max(x + 3, 0), 6) / 6
  kHardswish,    // x * hardsigmoid(x)
  kSilu,         // x * sigmoid(x)
  kGelu,         // x * (1 + erf(x / sqrt(2))) / 2
  kGeluTanh,     // tanh approximation of gelu
};
// "none", "sigmoid", "tanh", "hardsigmoid", "hardswish", "silu", "gelu", "gelu_tanh".
std::optional<Activation> ActivationOf(std::string_view name);
std::string ActivationNames();  // all names, for error messages

//   clamp(activation(sum + bias + other), low, high)     or
//   clamp(activation(sum + bias) * other, low, high)
// A bfloat16 result is rounded after each of sum + bias, + other, activation and * other, as by
// separate operators. Its bounds are bfloat16 values.
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
