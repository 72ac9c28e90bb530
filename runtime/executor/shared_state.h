// Memory for state buffers shared by methods, such as the KV cache of a prefill and a decode
// method.
#ifndef BELAY_RUNTIME_EXECUTOR_SHARED_STATE_H_
#define BELAY_RUNTIME_EXECUTOR_SHARED_STATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/arena.h"
#include "runtime/core/tensor_view.h"
#include "runtime/program/program.h"

namespace belay {

// The state buffers of several methods of one program, one per name. Passed to Method::Load; must
// outlive the methods. Methods that share it must not run concurrently. Pages that are zero
// initially use no memory until they are written. Move-only.
class SharedState {
 public:
  // Creates the state of these methods, or of all methods if empty, with its initial content.
  //   kNotFound           unknown method
  //   kInvalidArgument    buffers of one name differ in dtype, sizes, order or initial content;
  //                       names the buffer and both methods
  //   kResourceExhausted  out of memory, or Limits::arena_bytes; or constants overlap so that
  //                       comparing initial contents would cost more than the program's bytes
  // `allocator`: source of the memory, null for the system's; must outlive the result.
  static absl::StatusOr<SharedState> Create(const Program& program,
                                            absl::Span<const std::string> methods = {},
                                            BlockAllocator* allocator = nullptr);

  // Creates the state of these methods in row `row` of a state whose buffers have a row per
  // sequence: buffer X of sizes [1, ...] is X[row, ...] of `rows`, or batch.X[row, ...]. Nothing is
  // copied or reset; Reset() and Restore() only write to this row. `rows` must outlive the result.
  //   kNotFound         unknown method
  //   kOutOfRange       `row` outside [0, R), for buffers [R, ...]
  //   kInvalidArgument  a buffer is missing in `rows`, or has another dtype, order or other sizes;
  //                     the bytes of a row are not a multiple of kArenaAlignment; errors of Create
  static absl::StatusOr<SharedState> CreateRow(
      const Program& program, absl::Span<const std::string> methods,
      const SharedState& rows ABSL_ATTRIBUTE_LIFETIME_BOUND, int64_t row);

  // Returns a view into the memory, valid as long as the object. The next call sees writes to it.
  //   kNotFound  lists the names of all buffers
  absl::StatusOr<TensorView> Find(std::string_view name) const;
  // The names of all buffers, sorted.
  std::vector<std::string> names() const;
  // Resets all buffers to their initial content. Does not affect the internal state of delegates.
  void Reset();

  // Saves and restores the content of all buffers, in the order of their names, for use with the
  // same program.
  std::string Save() const;
  //   kInvalidArgument  the size differs from that of Save()
  absl::Status Restore(std::string_view saved);

  // Bytes of own memory; 0 for a row of another state.
  uint64_t memory_bytes() const { return memory_.size(); }

 private:
  struct Buffer {
    TensorView view;
    uint64_t offset = 0, bytes = 0;
    const MethodPlan* method = nullptr;  // the first method that has it
    const StatePlan* plan = nullptr;
  };
  SharedState() = default;
  // Writes the initial content; `is_zero`: to memory that is zero.
  void Write(bool is_zero);
  // Adds the buffers of these methods, without memory, and checks that they can be shared.
  absl::Status AddBuffers(const Program& program, absl::Span<const std::string> methods);

  std::map<std::string, Buffer, std::less<>> buffers_;
  AlignedBuffer memory_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_SHARED_STATE_H_
