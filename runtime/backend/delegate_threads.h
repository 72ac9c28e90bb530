// The option `threads`, for backends whose delegates use DelegateInitContext::threads.
#ifndef BELAY_RUNTIME_BACKEND_DELEGATE_THREADS_H_
#define BELAY_RUNTIME_BACKEND_DELEGATE_THREADS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/backend/backend_options.h"
#include "runtime/backend/backend_runtime.h"
#include "runtime/core/thread_pool.h"

namespace belay {

// The table of a backend whose only option is "threads", which is changeable.
BackendOptionTable ThreadsOptionTable();

// Threads of a delegate: those of the context, but at most as many as the option `threads`.
// Neither copyable nor movable.
class DelegateThreads {
 public:
  // Without the option in the context's values: all threads of the context.
  explicit DelegateThreads(const DelegateInitContext& context);

  // Null: only the calling thread. Valid as long as this object.
  ThreadPool* pool() { return pool_.has_value() ? &*pool_ : nullptr; }
  // As the functions of DelegateHandle, for backends whose only option is `threads`. Calls use at
  // most as many threads as when the delegate was created, since its working memory is for those.
  OptionValue GetOption(std::string_view name) const { return limit_; }
  void SetOption(std::string_view name, const OptionValue& value);

 private:
  int64_t limit_;  // value of the option
  std::optional<ThreadPool> pool_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_BACKEND_DELEGATE_THREADS_H_
