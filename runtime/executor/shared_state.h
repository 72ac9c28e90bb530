// Memory for state buffers that methods have in common: a prefill and a decode step that work on
// one cache.
#ifndef BELAY_RUNTIME_EXECUTOR_SHARED_STATE_H_
#define BELAY_RUNTIME_EXECUTOR_SHARED_STATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/arena.h"
#include "runtime/core/tensor_view.h"
#include "runtime/program/program.h"

namespace belay {

// The state buffers of methods of one program, one per name. Given to Method::Load, which it must
// outlive. Methods that share it run one at a time. Move-only.
class SharedState {
 public:
  // State of these methods, or of all for none. It has its initial content.
  //   kNotFound           no such method
  //   kInvalidArgument    buffers of one name differ in dtype, sizes, order or initial content;
  //                       names the buffer and both methods
  //   kResourceExhausted  no memory, or Limits::arena_bytes; or so many constants overlap that
  //                       comparing initial contents would take more than the program's bytes
  static absl::StatusOr<SharedState> Create(const Program& program,
                                            absl::Span<const std::string> methods = {});

  // A view into the memory, as long as the object. What is written to it, the next call reads.
  //   kNotFound lists the names there are
  absl::StatusOr<TensorView> Find(std::string_view name) const;
  // Gives all buffers their initial content. What delegates keep to themselves is not among them.
  void Reset();

  // Content of all buffers in the order of their names, and back: a state can be put aside and
  // taken up again, by the same program.
  std::string Save() const;
  //   kInvalidArgument  not as many bytes as Save() gives
  absl::Status Restore(std::string_view saved);

  uint64_t memory_bytes() const { return memory_.size(); }

 private:
  struct Buffer {
    TensorView view;
    uint64_t offset = 0, bytes = 0;
    const MethodPlan* method = nullptr;  // the first that has it
    const StatePlan* plan = nullptr;
  };
  SharedState() = default;

  std::map<std::string, Buffer, std::less<>> buffers_;
  AlignedBuffer memory_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_SHARED_STATE_H_
