// Accuracy of a classifier, for the examples of this folder.
#ifndef EXAMPLES_CPP_ACCURACY_H_
#define EXAMPLES_CPP_ACCURACY_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/evalue.h"
#include "runtime/core/npy.h"

// Counts the rows of `output`, f32[images, classes], whose label [images] has the highest score.
inline absl::StatusOr<std::string> Accuracy(const belay::EValue& output,
                                            const belay::NpyArray& labels) {
  const belay::TensorView* scores = output.get_if<belay::TensorView>();
  if (scores == nullptr || scores->dtype != belay::DType::kFloat32 || !scores->is_contiguous() ||
      scores->sizes.size() != 2 || scores->sizes[1] == 0 || labels.sizes.size() != 1 ||
      labels.dtype != belay::DType::kInt64 || labels.sizes[0] != scores->sizes[0]) {
    return absl::InvalidArgumentError("expected f32[images, classes] and i64[images] labels");
  }
  const int64_t count = scores->sizes[0], classes = scores->sizes[1];
  int64_t correct = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float* row = scores->as<const float>() + classes * i;
    correct +=
        std::max_element(row, row + classes) - row == labels.view().as<const int64_t>()[i] ? 1 : 0;
  }
  return absl::StrCat(correct, " of ", count, " images are classified as labeled");
}

#endif  // EXAMPLES_CPP_ACCURACY_H_
