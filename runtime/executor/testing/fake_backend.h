// A backend whose delegates add a constant: the blob is "add" and one digit, optionally separated
// by a space.
#ifndef BELAY_RUNTIME_EXECUTOR_TESTING_FAKE_BACKEND_H_
#define BELAY_RUNTIME_EXECUTOR_TESTING_FAKE_BACKEND_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/backend_runtime.h"

namespace belay {

// out = x + constant for f32 tensors, through a copy of x in working memory. Execute() returns
// kUnavailable if x contains a negative element.
class FakeBackend : public BackendRuntime {
 public:
  std::string_view id() const override { return "fake"; }
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;

  // Description of the last Init(). Not thread-safe.
  const std::string& last_init() const { return last_init_; }
  int live_handles() const { return live_handles_; }
  int resets() const { return resets_; }  // calls of ResetState on all handles
  // Working memory of the last call.
  const void* last_scratch() const { return last_scratch_; }

 private:
  mutable std::string last_init_;
  mutable std::atomic<int> live_handles_{0};
  mutable std::atomic<int> resets_{0};
  mutable std::atomic<const void*> last_scratch_{nullptr};
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_TESTING_FAKE_BACKEND_H_
