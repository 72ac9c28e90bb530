#include "runtime/executor/shared_state.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/state_content.h"
#include "runtime/program/metadata_path.h"

namespace belay {
namespace {

// Overhead per buffer of its map entry and of its entry in the list of contents.
constexpr uint64_t kEntry = 64 + 3 * 32;

// Total bytes of the program's segments, including companion files.
uint64_t SegmentBytes(const Program& program) {
  MemoryBound bound;
  for (const SegmentPlan& segment : program.segments()) bound.Add(1, segment.bytes.size());
  return bound.bytes();
}

// Equivalence classes of initial contents. A constant usually occurs once in a file, so that equal
// contents have the same address. Other pairs are compared at most once: equal contents are merged,
// so that n contents need n - 1 comparisons. Without overlapping constants, this costs less than
// the program's bytes; `max_bytes` rejects files with more.
class InitialContents {
 public:
  // Add all contents before the first Same().
  void Add(const StatePlan& state) {
    if (state.initial.has_value()) contents_.push_back({*state.initial, 0});
  }
  void Sort() {
    std::sort(contents_.begin(), contents_.end(), Before);
    contents_.erase(std::unique(contents_.begin(), contents_.end(),
                                [](const Content& a, const Content& b) {
                                  return a.bytes.data() == b.bytes.data() &&
                                         a.bytes.size() == b.bytes.size();
                                }),
                    contents_.end());
    for (size_t i = 0; i < contents_.size(); ++i) contents_[i].equal = i;
  }
  // For buffers with equal tensors, whose contents have the same size (plan.h).
  //   kResourceExhausted  the sum of compared bytes over all calls exceeds `max_bytes`
  absl::StatusOr<bool> Same(const StatePlan& a, const StatePlan& b, uint64_t max_bytes) {
    if (a.initial.has_value() != b.initial.has_value()) return false;
    if (!a.initial.has_value() || a.initial->data() == b.initial->data()) return true;
    const size_t first = Root(*a.initial), second = Root(*b.initial);
    if (first == second || a.initial->empty()) return true;
    const uint64_t bytes = a.initial->size();
    if (bytes > max_bytes - compared_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("comparing the initial content of shared state takes more than the ",
                       max_bytes, " bytes of the program's segments: constants overlap"));
    }
    compared_ += bytes;
    if (std::memcmp(a.initial->data(), b.initial->data(), a.initial->size()) != 0) return false;
    contents_[second].equal = first;
    return true;
  }

 private:
  struct Content {
    absl::Span<const std::byte> bytes;
    size_t equal;  // another content, or itself
  };
  static bool Before(const Content& a, const Content& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  }
  size_t Root(absl::Span<const std::byte> bytes) {
    size_t i = static_cast<size_t>(
        std::lower_bound(contents_.begin(), contents_.end(), Content{bytes, 0}, Before) -
        contents_.begin());
    for (; contents_[i].equal != i; i = contents_[i].equal) {
      contents_[i].equal = contents_[contents_[i].equal].equal;
    }
    return i;
  }

  std::vector<Content> contents_;  // by address and size
  uint64_t compared_ = 0;
};

bool SameTensor(const TensorPlan& a, const TensorPlan& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.dim_order == b.dim_order;
}

}  // namespace

absl::Status SharedState::AddBuffers(const Program& program,
                                     absl::Span<const std::string> methods) {
  std::vector<const MethodPlan*> plans;
  for (const std::string& name : methods) {
    ABSL_ASSIGN_OR_RETURN(const MethodPlan* plan, program.FindMethod(name));
    plans.push_back(plan);
  }
  if (methods.empty()) {
    for (const MethodPlan& plan : program.methods()) plans.push_back(&plan);
  }
  const auto unlike = [](std::string_view name, const Buffer& buffer, const MethodPlan& method,
                         const TensorPlan& tensor, std::string_view detail) {
    const auto describe = [](const TensorPlan& t) {
      return absl::StrCat(std::string(DTypeShortName(t.dtype)), FormatSizes(t.sizes));
    };
    return absl::InvalidArgumentError(
        absl::StrCat("state ", Quoted(name), " can't be shared: it is ",
                     describe(std::get<TensorPlan>(buffer.method->values[buffer.plan->value])),
                     " in method ", Quoted(buffer.method->name), " and ", describe(tensor),
                     " in method ", Quoted(method.name), detail));
  };
  InitialContents contents;
  MemoryBound bound;
  for (const MethodPlan* method : plans) {
    bound.Add(method->state.size(), sizeof(std::pair<const std::string, Buffer>) + kEntry);
    for (const StatePlan& state : method->state) bound.Add(state.name.size(), 1);
  }
  ABSL_RETURN_IF_ERROR(CheckMemory(bound.bytes(), "the tables of shared state"));
  for (const MethodPlan* method : plans) {
    for (const StatePlan& state : method->state) {
      const auto& tensor = std::get<TensorPlan>(method->values[state.value]);
      contents.Add(state);
      const auto [it, inserted] = buffers_.try_emplace(state.name);
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
      if (SameTensor(tensor, other)) continue;
      return unlike(
          state.name, buffer, *method, tensor,
          tensor.dtype == other.dtype && tensor.sizes == other.sizes ? ", in another order" : "");
    }
  }
  contents.Sort();
  const uint64_t comparable = SegmentBytes(program);
  for (const MethodPlan* method : plans) {
    for (const StatePlan& state : method->state) {
      const Buffer& buffer = buffers_.find(state.name)->second;
      ABSL_ASSIGN_OR_RETURN(const bool same, contents.Same(state, *buffer.plan, comparable));
      if (same) continue;
      return unlike(state.name, buffer, *method, std::get<TensorPlan>(method->values[state.value]),
                    ", with other initial content");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SharedState> SharedState::Create(const Program& program,
                                                absl::Span<const std::string> methods,
                                                BlockAllocator* allocator) {
  SharedState shared;
  ABSL_RETURN_IF_ERROR(shared.AddBuffers(program, methods));
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
  // Not Create(): a huge page would use memory for the neighbors of a written row.
  ABSL_ASSIGN_OR_RETURN(shared.memory_, AlignedBuffer::Reserve(bytes, allocator));
  ABSL_RETURN_IF_ERROR(shared.memory_.Commit(0, bytes));
  for (auto& [name, buffer] : shared.buffers_) {
    if (buffer.bytes > 0) buffer.view.data = shared.memory_.data() + buffer.offset;
  }
  shared.Write(/*is_zero=*/true);
  return shared;
}

absl::StatusOr<SharedState> SharedState::CreateRow(const Program& program,
                                                   absl::Span<const std::string> methods,
                                                   const SharedState& rows, int64_t row) {
  SharedState shared;
  ABSL_RETURN_IF_ERROR(shared.AddBuffers(program, methods));
  for (auto& [name, buffer] : shared.buffers_) {
    auto it = rows.buffers_.find(absl::StrCat("batch.", name));
    if (it == rows.buffers_.end()) it = rows.buffers_.find(name);
    if (it == rows.buffers_.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "state ", Quoted(name), ": expected ", Quoted(name), " or ",
          Quoted(absl::StrCat("batch.", name)), " in the state with a row per sequence"));
    }
    const TensorView &from = it->second.view, &to = buffer.view;
    const int rank = to.rank();
    const bool fits =
        rank > 0 && from.rank() == rank && from.dtype == to.dtype && to.sizes[0] == 1 &&
        from.strides[0] * from.sizes[0] == from.numel() &&
        std::equal(from.sizes.begin() + 1, from.sizes.end(), to.sizes.begin() + 1) &&
        std::equal(from.strides.begin() + 1, from.strides.end(), to.strides.begin() + 1);
    if (!fits || buffer.bytes % kArenaAlignment != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("state ", Quoted(name), ": expected sizes [1, n, ...] of a multiple of ",
                       kArenaAlignment, " bytes, and [rows, n, ...] in the state with a row per ",
                       "sequence, got ", to.ToString(), " and ", from.ToString()));
    }
    if (row < 0 || row >= from.sizes[0]) {
      return absl::OutOfRangeError(
          absl::StrCat("expected a row in [0, ", from.sizes[0], "), got ", row));
    }
    if (buffer.bytes == 0) continue;
    buffer.view.data =
        static_cast<std::byte*>(from.data) + static_cast<uint64_t>(row) * buffer.bytes;
  }
  return shared;
}

absl::StatusOr<TensorView> SharedState::Find(std::string_view name) const {
  const auto it = buffers_.find(name);
  if (it != buffers_.end()) return it->second.view;
  std::vector<std::string> names;
  for (const auto& [known, buffer] : buffers_) names.push_back(Quoted(known));
  return absl::NotFoundError(
      absl::StrCat("unknown state ", Quoted(name), "; the state has: ", ListFirst(names, ", ")));
}

std::vector<std::string> SharedState::names() const {
  std::vector<std::string> names;
  for (const auto& [name, buffer] : buffers_) names.push_back(name);
  return names;
}

void SharedState::Write(bool is_zero) {
  for (auto& [name, buffer] : buffers_) {
    WriteInitialContent(*buffer.plan, buffer.bytes, is_zero, buffer.view.data);
  }
}

void SharedState::Reset() { Write(/*is_zero=*/false); }

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
        absl::StrCat("the state has ", bytes, " bytes, got ", saved.size()));
  }
  for (auto& [name, buffer] : buffers_) {
    WriteContent(reinterpret_cast<const std::byte*>(saved.data()), buffer.bytes, /*is_zero=*/false,
                 buffer.view.data);
    saved.remove_prefix(buffer.bytes);
  }
  return absl::OkStatus();
}

}  // namespace belay
