// The operators that the demo backend supports.
#ifndef BELAY_BACKENDS_DEMO_DEMO_OPS_H_
#define BELAY_BACKENDS_DEMO_DEMO_OPS_H_

#include <string_view>

#include "backends/demo/demo_blob.pb.h"

namespace belay::demo {

struct DemoOpRow {
  std::string_view name;  // OpOverload::name()
  DemoOp op;
  int tensors;                // number of leading tensor arguments
  int alpha = -1, beta = -1;  // indices of these arguments
};

inline constexpr DemoOpRow kDemoOps[] = {
    {"aten.add.Tensor", DEMO_OP_ADD, 2, 2}, {"aten.addmm.default", DEMO_OP_ADDMM, 3, 4, 3},
    {"aten.mm.default", DEMO_OP_MM, 2},     {"aten.mul.Tensor", DEMO_OP_MUL, 2},
    {"aten.relu.default", DEMO_OP_RELU, 1}, {"aten.sigmoid.default", DEMO_OP_SIGMOID, 1},
    {"aten.sub.Tensor", DEMO_OP_SUB, 2, 2}, {"aten.tanh.default", DEMO_OP_TANH, 1},
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_DEMO_OPS_H_
