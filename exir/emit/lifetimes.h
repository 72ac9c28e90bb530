// When each planned tensor of a method holds a value.
#ifndef BELAY_EXIR_EMIT_LIFETIMES_H_
#define BELAY_EXIR_EMIT_LIFETIMES_H_

#include <cstdint>
#include <vector>

#include "exir/emit/memory_planner.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

struct MethodLifetimes {
  std::vector<uint32_t> values;     // arena tensors of the method, ascending
  std::vector<Lifetime> lifetimes;  // parallel
};

// From the first instruction that mentions a tensor to the last; around a loop for tensors that are
// older than the loop; to the end of the method for results. Conservative where branches meet.
MethodLifetimes ComputeLifetimes(const schema::Method& method);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_LIFETIMES_H_
