// Writes the content of state buffers.
#ifndef BELAY_RUNTIME_EXECUTOR_STATE_CONTENT_H_
#define BELAY_RUNTIME_EXECUTOR_STATE_CONTENT_H_

#include <cstddef>
#include <cstdint>

#include "runtime/program/plan.h"

namespace belay {

// Writes `content`, zeros if it is null, to `bytes` bytes. Pages that do not change are not
// written, so they use no memory if they never were: the caches of a language model use memory only
// as far as they are filled. `is_zero`: `to` is known to be zero, and unchanged pages are not read
// either.
void WriteContent(const std::byte* content, uint64_t bytes, bool is_zero, void* to);

// Writes the initial content of a buffer of `bytes` bytes.
void WriteInitialContent(const StatePlan& state, uint64_t bytes, bool is_zero, void* to);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_STATE_CONTENT_H_
