// Calibration data and weights for tests.
#ifndef BELAY_EXIR_QUANTIZE_CALIBRATION_TESTING_H_
#define BELAY_EXIR_QUANTIZE_CALIBRATION_TESTING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "exir/ir/constant.h"
#include "exir/ir/mapped_pages.h"
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

// A float32 tensor in a temporary file.
struct MappedTensor {
  ConstantTensor tensor;
  absl::Span<const std::byte> bytes;

  // The elements are PseudoRandom, and all of its pages are in memory. nullopt if the system has no
  // temporary files without a name.
  static std::optional<MappedTensor> Create(const Sizes& sizes);
  // Bytes that are in the memory of the process, by /proc/self/smaps.
  size_t ResidentBytes() const {
    std::ifstream file("/proc/self/smaps");
    const std::string maps(std::istreambuf_iterator<char>(file), {});
    const size_t mapping =
        maps.find(absl::StrFormat("%x-", reinterpret_cast<uintptr_t>(bytes.data())));
    if (mapping == std::string::npos) return 0;
    return std::stoul(maps.substr(maps.find("\nRss:", mapping) + 5)) * 1024;
  }
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

inline std::optional<MappedTensor> MappedTensor::Create(const Sizes& sizes) {
  size_t count = 1;
  for (int64_t size : sizes) count *= static_cast<size_t>(size);
  const std::optional<FileBytes> file = CreateFileBytes(count * sizeof(float));
  if (!file.has_value()) return std::nullopt;
  const std::vector<float> elements = PseudoRandom(count, 7);
  std::memcpy(file->bytes.data(), elements.data(), file->bytes.size());
  return MappedTensor{
      *ConstantTensor::Contiguous(DType::kFloat32, sizes, {file->owner, file->bytes}), file->bytes};
}

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_CALIBRATION_TESTING_H_
