#include "runtime/program/limits.h"

#include <initializer_list>

namespace belay {
namespace {

constexpr uint64_t kInProportion = Limits::kInProportion;
constexpr uint64_t k384MiB = 402'653'184, k128MiB = 134'217'728;

void Resolve(uint64_t& limit, uint64_t least, uint64_t per_byte, uint64_t bytes) {
  if (limit != kInProportion) return;
  uint64_t more = 0;
  const bool fits = !__builtin_mul_overflow(bytes, per_byte, &more) &&
                    !__builtin_add_overflow(least, more, &limit);
  if (!fits) limit = UINT64_MAX;
}

}  // namespace

Limits LimitsOfFile(const Limits& limits, uint64_t file_bytes) {
  Limits resolved = limits;
  Resolve(resolved.arena_bytes, k384MiB, 16, file_bytes);
  Resolve(resolved.delegate_bytes, k384MiB, 16, file_bytes);
  Resolve(resolved.scratch_bytes, k128MiB, 16, file_bytes);
  Resolve(resolved.executed_work, 50'000'000'000, 50'000, file_bytes);
  return resolved;
}

Limits LimitsOfDelegate(const Limits& limits) {
  constexpr uint64_t kRemainder = 1'099'511'627'776;
  Limits resolved = limits;
  for (uint64_t* limit :
       {&resolved.arena_bytes, &resolved.delegate_bytes, &resolved.scratch_bytes}) {
    if (*limit == kInProportion) *limit = kRemainder;
  }
  return resolved;
}

}  // namespace belay
