// The main use case: runs a trained classifier of handwritten digits, starting from PyTorch's
// archive.
#ifndef BELAY_EXAMPLES_DIGITS_DIGITS_H_
#define BELAY_EXAMPLES_DIGITS_DIGITS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/pipeline.h"

namespace belay::examples {

struct DigitsOptions {
  std::string archive;   // the exported classifier
  std::string images;    // [n, 1, 8, 8] float32
  std::string labels;    // [n] int64
  std::string program;   // output path of the program file
  bool delegate = true;  // delegates to the CPU backend; false: kernels only
};

struct DigitsResult {
  exir::PipelineReport lowering;
  std::vector<int> predicted;
  int correct = 0;
  std::array<std::array<int, 10>, 10> confusion = {};  // [label][predicted]
  double lower_ms = 0, load_ms = 0, batch_ms = 0,
         single_ms = 0;  // all images at once; one image, median
  uint64_t file_bytes = 0;
  uint64_t peak_rss_bytes = 0;
};

// Lowers the archive, writes the program file, opens it and runs all images. Returns the errors of
// the stages; kNotFound if the network has operators whose kernels are not linked.
absl::StatusOr<DigitsResult> RunDigits(const DigitsOptions& options);

}  // namespace belay::examples

#endif  // BELAY_EXAMPLES_DIGITS_DIGITS_H_
