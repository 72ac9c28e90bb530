// Tests of decompositions for ExecuTorch by values.
#ifndef BELAY_EXECUTORCH_WRITER_EXPECT_PORTABLE_H_
#define BELAY_EXECUTORCH_WRITER_EXPECT_PORTABLE_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "exir/decompositions/expect_values.h"

namespace belay::pte {

struct PortableOptions {
  double tolerance = 0;  // of the larger one of 1 and the magnitude of an element
  // Besides with sizes that are numbers, with a symbol for every size of an input above 1.
  bool symbolic = true;
  // Elements are looked at; of random numbers only types are.
  bool values = true;
};

// An edge program of one node, which calls its inputs %a, %b, %c … ("aten.sort.default(%a, 0)"):
// after PortablePasses all tensors are row-major, it can be written as a .pte file, and gives, with the reference kernels, the
// dtypes, sizes and elements that it gave before. NaN equals NaN.
void ExpectPortable(std::string_view call, const std::vector<exir::Values>& inputs, size_t results,
                    const PortableOptions& options = {});

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_EXPECT_PORTABLE_H_
