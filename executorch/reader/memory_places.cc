#include "executorch/reader/memory_places.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "executorch/reader/problems.h"
#include "runtime/core/annotate.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"

namespace belay::pte {
namespace {

using Memory = ValueFacts::Memory;
using Place = ValueFacts::Place;

struct Range {
  uint64_t begin = 0, end = 0;
  uint32_t value = 0;
};

class Placer {
 public:
  Placer(const Limits& limits, MethodFacts& facts)
      : limits_(limits), facts_(facts), values_(facts.values) {}

  absl::Status Place() {
    FindOverlaps();
    Problems problems;
    for (uint32_t v = 0; v < values_.size(); ++v) {
      if (!values_[v].is_tensor()) continue;
      const absl::Status status = PlaceTensor(v, values_[v]);
      if (!status.ok()) {
        problems.Add(Annotate(status, absl::StrCat(facts_.name, ", value ", v)));
      }
    }
    ABSL_RETURN_IF_ERROR(problems.ToStatus());
    // The base of a view precedes the view.
    for (const Step& step : facts_.steps) {
      if (step.op == nullptr || !IsView(*step.op)) continue;
      ValueFacts& view = values_[step.args->Get(2)];
      if (view.place != ValueFacts::Place::kUnused) continue;
      ABSL_RETURN_IF_ERROR(PlaceView(values_[step.args->Get(0)], view));
    }
    const std::optional<uint64_t> sum = CheckedAdd(facts_.arena_bytes, facts_.state_bytes);
    if (sum.has_value() && *sum <= limits_.arena_bytes) return absl::OkStatus();
    return TooMuch(sum.value_or(UINT64_MAX));
  }

 private:
  absl::Status TooMuch(uint64_t bytes) const {
    return absl::ResourceExhaustedError(absl::StrCat(facts_.name, ": its tensors take ", bytes,
                                                     " bytes, the limit 'arena_bytes' is ",
                                                     limits_.arena_bytes));
  }

  // Appends `bytes` to `memory` and returns the offset.
  absl::StatusOr<uint64_t> Append(uint64_t bytes, uint64_t& memory) const {
    const std::optional<uint64_t> begin = CheckedAlignUp(memory, kTensorAlignment);
    if (!begin.has_value()) return TooMuch(UINT64_MAX);
    const std::optional<uint64_t> end = CheckedAdd(*begin, bytes);
    if (!end.has_value() || *end > limits_.arena_bytes) return TooMuch(end.value_or(UINT64_MAX));
    memory = *end;
    return *begin;
  }

  static bool IsNeverWritten(const ValueFacts& value) {
    return !value.written && value.view_of < 0 && !value.input;
  }

  // Sets overlapped_: planned tensors that share bytes with another one. Sets aliases_: the ranges
  // of tensors that no instruction writes, so that their content is another tensor's.
  void FindOverlaps() {
    overlapped_.assign(values_.size(), false);
    std::vector<Range> ranges;
    for (uint32_t v = 0; v < values_.size(); ++v) {
      const ValueFacts& value = values_[v];
      if (value.memory != Memory::kPlanned || value.layout.bytes == 0) continue;
      // Inside the arena: no overflow.
      ranges.push_back({value.offset, *CheckedAdd(value.offset, value.layout.bytes), v});
      if (IsNeverWritten(value)) aliases_.push_back(ranges.back());
    }
    const auto by_begin = [](const Range& a, const Range& b) { return a.begin < b.begin; };
    std::sort(ranges.begin(), ranges.end(), by_begin);
    std::sort(aliases_.begin(), aliases_.end(), by_begin);
    uint64_t end = 0;
    for (size_t k = 0; k < ranges.size(); ++k) {
      const bool before = ranges[k].begin < end;
      overlapped_[ranges[k].value] = before;
      if (k > 0 && ranges[k].begin < ranges[k - 1].end) overlapped_[ranges[k - 1].value] = true;
      end = std::max(end, ranges[k].end);
    }
    // Replaces each end by the maximum end so far.
    for (size_t k = 1; k < aliases_.size(); ++k) {
      aliases_[k].end = std::max(aliases_[k].end, aliases_[k - 1].end);
    }
  }

  // Returns whether a tensor that no instruction writes overlaps this one.
  bool IsReadThroughAlias(const ValueFacts& value) const {
    const std::optional<uint64_t> end = CheckedAdd(value.offset, value.layout.bytes);
    const auto after = std::lower_bound(
        aliases_.begin(), aliases_.end(), end.value_or(UINT64_MAX),
        [](const Range& range, uint64_t position) { return range.begin < position; });
    return after != aliases_.begin() && (after - 1)->end > value.offset;
  }

  absl::Status PlaceTensor(uint32_t index, ValueFacts& value) {
    if (value.input) {
      const bool changed = value.written || value.updated || value.view_of >= 0;
      const bool copied =
          value.memory == Memory::kPlanned && (changed || IsReadThroughAlias(value));
      value.place = copied ? Place::kCopiedInput : Place::kExternal;
      return absl::OkStatus();
    }
    if (!value.read && !value.written && value.view_of < 0) {
      return absl::OkStatus();  // unused
    }
    if (value.memory == Memory::kPlanned) return PlacePlanned(index, value);
    if (value.memory == Memory::kConstant) {
      if (value.view_of >= 0) {
        return absl::UnimplementedError("it has content, but et_view makes it an alias");
      }
      value.place = Place::kConstant;
      return absl::OkStatus();
    }
    if (value.view_of >= 0) return absl::OkStatus();  // later
    if (value.written) return PlaceAfterPools(value);
    return absl::InvalidArgumentError(
        "it is read, but has neither memory nor content, and no instruction writes it");
  }

  absl::Status PlacePlanned(uint32_t index, ValueFacts& value) {
    value.place = Place::kArena;
    if (!value.content.has_value() && !IsNeverWritten(value)) return absl::OkStatus();
    if (!overlapped_[index] && !value.dynamic) {
      ABSL_ASSIGN_OR_RETURN(value.offset, Append(value.layout.bytes, facts_.state_bytes));
      value.place = Place::kState;
      return absl::OkStatus();
    }
    if (!value.content.has_value()) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat("initial content of a tensor ",
                     value.dynamic ? "of dynamic sizes" : "that shares its memory with others"));
  }

  absl::Status PlaceAfterPools(ValueFacts& value) {
    ABSL_ASSIGN_OR_RETURN(value.offset, Append(value.layout.bytes, facts_.arena_bytes));
    value.place = Place::kArena;
    return absl::OkStatus();
  }

  absl::Status PlaceView(const ValueFacts& base, ValueFacts& view) {
    // Both have the same dtype.
    const bool same_bytes = base.layout.bytes == view.layout.bytes;
    const bool alone = !view.several_views && !view.written && !view.updated;
    if (same_bytes && alone && (base.place == Place::kArena || base.place == Place::kCopiedInput)) {
      view.place = Place::kArena;
      view.offset = base.offset;
      return absl::OkStatus();
    }
    if (same_bytes && alone && base.place == Place::kConstant && !view.dynamic) {
      view.place = Place::kConstant;
      view.content = base.content;
      return absl::OkStatus();
    }
    return PlaceAfterPools(view);
  }

  const Limits& limits_;
  MethodFacts& facts_;
  std::vector<ValueFacts>& values_;
  std::vector<bool> overlapped_;
  std::vector<Range> aliases_;  // sorted by begin
};

}  // namespace

absl::Status PlaceTensors(const Limits& limits, MethodFacts& facts) {
  return Placer(limits, facts).Place();
}

}  // namespace belay::pte
