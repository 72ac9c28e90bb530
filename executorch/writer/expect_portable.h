// Tests decompositions for ExecuTorch by comparing values.
#ifndef BELAY_EXECUTORCH_WRITER_EXPECT_PORTABLE_H_
#define BELAY_EXECUTORCH_WRITER_EXPECT_PORTABLE_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "exir/decompositions/expect_values.h"

namespace belay::pte {

struct PortableOptions {
  double tolerance = 0;  // relative to max(1, |element|)
  // Also tests with a symbol for every input size above 1.
  bool symbolic = true;
  // Compares elements; false for random numbers, where only types are compared.
  bool values = true;
};

// Builds an edge program of one node whose inputs are %a, %b, %c … ("aten.sort.default(%a, 0)").
// Expects that after PortablePasses all tensors are row-major and the program can be written as a
// .pte file. With the reference kernels, dtypes, sizes and elements must equal those of the
// original program. NaN equals NaN.
void ExpectPortable(std::string_view call, const std::vector<exir::Values>& inputs, size_t results,
                    const PortableOptions& options = {});

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_EXPECT_PORTABLE_H_
