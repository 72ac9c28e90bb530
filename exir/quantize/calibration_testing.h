// Calibration data and weights for tests.
#ifndef BELAY_EXIR_QUANTIZE_CALIBRATION_TESTING_H_
#define BELAY_EXIR_QUANTIZE_CALIBRATION_TESTING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/constant.h"
#include "exir/quantize/calibration.h"

namespace belay::exir {

// Calls whose only input is a float32 tensor.
class TensorCalls : public CalibrationData {
 public:
  TensorCalls(Sizes sizes, std::vector<std::vector<float>> calls)
      : sizes_(std::move(sizes)), calls_(std::move(calls)) {}
  int calls() const override { return static_cast<int>(calls_.size()); }
  std::string Name(int call) const override { return absl::StrCat("tensor ", call); }
  absl::StatusOr<absl::Span<const EValue>> Inputs(int call) override {
    value_ =
        TensorView::Contiguous(DType::kFloat32, sizes_, calls_[static_cast<size_t>(call)].data());
    return absl::MakeConstSpan(&value_, 1);
  }

 private:
  Sizes sizes_;
  std::vector<std::vector<float>> calls_;
  EValue value_;
};

// Returns numbers from -1 to 1 that look random; the same for the same seed.
inline std::vector<float> PseudoRandom(size_t count, uint32_t seed) {
  std::vector<float> numbers(count);
  uint32_t state = seed * 2654435761U + 1;
  for (float& number : numbers) {
    state = state * 1664525U + 1013904223U;
    number = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return numbers;
}

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_CALIBRATION_TESTING_H_
