// Division of packed attention (runtime/kernels/packed/attention.h) among threads.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_ATTENTION_RANGES_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_ATTENTION_RANGES_H_

#include <algorithm>
#include <cstdint>

#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/operands/ranges.h"

namespace belay {

// Computes all units of an AttentionArgs on the threads of the context. `scratch` has `floats` floats
// per thread.
template <class Args>
void RunAttention(const KernelContext& context, Args args, float* scratch, int64_t floats) {
  args.threads = context.num_threads();
  // With few queries, most time is spent on reading keys and values.
  const double queries = static_cast<double>(args.heads) * static_cast<double>(args.queries);
  const double reads = static_cast<double>(args.kv_heads) * kElementWork;
  const double work = static_cast<double>(args.batch) * std::max(queries, reads) *
                      static_cast<double>(args.keys) *
                      static_cast<double>(args.head_size + args.value_size);
  RunRanges(context, AttentionUnits(args), 1, work, [&](int part, int64_t first, int64_t last) {
    Args mine = args;
    mine.scratch = scratch + part * floats;
    AttentionRange(mine, first, last);
  });
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_ATTENTION_RANGES_H_
