#include "runtime/executor/shared_state.h"

#include <cstring>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"

namespace belay {
namespace {

// Constants lie once in a file, so that equal initial content is at one address.
bool SameInitial(const StatePlan& a, const StatePlan& b) {
  if (a.initial.has_value() != b.initial.has_value()) return false;
  if (!a.initial.has_value() || a.initial->data() == b.initial->data()) return true;
  return a.initial->size() == b.initial->size() &&
         (a.initial->empty() ||
          std::memcmp(a.initial->data(), b.initial->data(), a.initial->size()) == 0);
}

bool SameTensor(const TensorPlan& a, const TensorPlan& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.dim_order == b.dim_order;
}

}  // namespace

absl::StatusOr<SharedState> SharedState::Create(const Program& program,
                                                absl::Span<const std::string> methods) {
  std::vector<const MethodPlan*> plans;
  for (const std::string& name : methods) {
    ABSL_ASSIGN_OR_RETURN(const MethodPlan* plan, program.FindMethod(name));
    plans.push_back(plan);
  }
  if (methods.empty()) {
    for (const MethodPlan& plan : program.methods()) plans.push_back(&plan);
  }
  SharedState shared;
  for (const MethodPlan* method : plans) {
    for (const StatePlan& state : method->state) {
      const auto& tensor = std::get<TensorPlan>(method->values[state.value]);
      const auto [it, inserted] = shared.buffers_.try_emplace(state.name);
      Buffer& buffer = it->second;
      if (inserted) {
        buffer.view.dtype = tensor.dtype;
        buffer.view.sizes = tensor.sizes;
        buffer.view.strides = DenseStrides(tensor.sizes, tensor.dim_order);
        buffer.bytes = tensor.max_bytes;
        buffer.method = method;
        buffer.plan = &state;
        continue;
      }
      const auto& other = std::get<TensorPlan>(buffer.method->values[buffer.plan->value]);
      const bool same_tensor = SameTensor(tensor, other);
      if (same_tensor && SameInitial(state, *buffer.plan)) continue;
      const auto describe = [](const TensorPlan& t) {
        return absl::StrCat(std::string(DTypeShortName(t.dtype)), FormatSizes(t.sizes));
      };
      return absl::InvalidArgumentError(absl::StrCat(
          "state ", Quoted(state.name), " can't be shared: it is ", describe(other), " in method ",
          Quoted(buffer.method->name), " and ", describe(tensor), " in method ",
          Quoted(method->name), same_tensor ? ", with other initial content or order" : ""));
    }
  }
  uint64_t bytes = 0;
  for (auto& [name, buffer] : shared.buffers_) {
    buffer.offset = bytes;
    const std::optional<uint64_t> end = CheckedAdd(bytes, buffer.bytes);
    const std::optional<uint64_t> aligned =
        end.has_value() ? CheckedAlignUp(*end, kArenaAlignment) : std::nullopt;
    if (!aligned.has_value() || *aligned > program.limits().arena_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("state up to ", Quoted(name),
                                                       " exceeds the limit 'arena_bytes' of ",
                                                       program.limits().arena_bytes));
    }
    bytes = *aligned;
  }
  ABSL_ASSIGN_OR_RETURN(shared.memory_, AlignedBuffer::Create(bytes));
  for (auto& [name, buffer] : shared.buffers_) {
    if (buffer.bytes > 0) buffer.view.data = shared.memory_.data() + buffer.offset;
  }
  shared.Reset();
  return shared;
}

absl::StatusOr<TensorView> SharedState::Find(std::string_view name) const {
  const auto it = buffers_.find(name);
  if (it != buffers_.end()) return it->second.view;
  std::vector<std::string> names;
  for (const auto& [known, buffer] : buffers_) names.push_back(Quoted(known));
  return absl::NotFoundError(
      absl::StrCat("there is no state ", Quoted(name), "; there are: ", ListFirst(names, ", ")));
}

void SharedState::Reset() {
  for (auto& [name, buffer] : buffers_) {
    if (buffer.bytes == 0) continue;
    if (buffer.plan->initial.has_value()) {
      std::memcpy(buffer.view.data, buffer.plan->initial->data(), buffer.bytes);
    } else {
      std::memset(buffer.view.data, 0, buffer.bytes);
    }
  }
}

std::string SharedState::Save() const {
  std::string saved;
  for (const auto& [name, buffer] : buffers_) {
    if (buffer.bytes > 0) saved.append(static_cast<const char*>(buffer.view.data), buffer.bytes);
  }
  return saved;
}

absl::Status SharedState::Restore(std::string_view saved) {
  uint64_t bytes = 0;
  for (const auto& [name, buffer] : buffers_) bytes += buffer.bytes;
  if (saved.size() != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the state has ", bytes, " bytes, given are ", saved.size()));
  }
  for (auto& [name, buffer] : buffers_) {
    if (buffer.bytes == 0) continue;
    std::memcpy(buffer.view.data, saved.data(), buffer.bytes);
    saved.remove_prefix(buffer.bytes);
  }
  return absl::OkStatus();
}

}  // namespace belay
