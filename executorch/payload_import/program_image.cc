#include "executorch/payload_import/program_image.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "exir/ir/constant.h"
#include "runtime/core/annotate.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"
#include "runtime/schema/file_format.h"

namespace belay::pte {
namespace {

using Indices = google::protobuf::RepeatedField<uint32_t>;

// A tensor in the arena, at its largest size.
struct Block {
  uint64_t begin = 0, end = 0;
  int value = 0;
};

std::vector<Block> ArenaBlocks(const schema::Method& method) {
  std::vector<Block> blocks;
  for (int i = 0; i < method.values_size(); ++i) {
    const schema::Value& value = method.values(i);
    if (!value.has_tensor() || value.tensor().location_case() != schema::Tensor::kArenaOffset) {
      continue;
    }
    const schema::Tensor& tensor = value.tensor();
    uint64_t bytes = DTypeSize(static_cast<DType>(tensor.dtype()));
    // Validated: no overflow.
    for (const int64_t size : tensor.sizes()) bytes *= static_cast<uint64_t>(size);
    blocks.push_back({tensor.arena_offset(), tensor.arena_offset() + bytes, i});
  }
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.value < b.value;
  });
  return blocks;
}

// Calls `call` with each value and each element of a list.
void ForEachValue(const schema::Method& method, const Indices& values,
                  absl::FunctionRef<void(uint32_t)> call) {
  for (const uint32_t value : values) {
    call(value);
    for (const uint32_t element : method.values(static_cast<int>(value)).list().elements()) {
      call(element);
    }
  }
}

// Whether an instruction writes the whole value: it is an output, and not an argument as well.
std::vector<bool> WrittenValues(const schema::Method& method) {
  std::vector<bool> written(static_cast<size_t>(method.values_size()), false);
  std::vector<int> argument_of(written.size(), -1);  // the last instruction with this argument
  for (int i = 0; i < method.instructions_size(); ++i) {
    const schema::Instruction& instruction = method.instructions(i);
    const auto add = [&](const Indices& arguments, const Indices& outputs) {
      ForEachValue(method, arguments, [&](uint32_t value) { argument_of[value] = i; });
      ForEachValue(method, outputs, [&](uint32_t value) {
        if (argument_of[value] != i) written[value] = true;
      });
    };
    if (instruction.has_kernel()) {
      add(instruction.kernel().arguments(), instruction.kernel().outputs());
    } else if (instruction.has_delegate()) {
      add(instruction.delegate().arguments(), instruction.delegate().outputs());
    } else if (instruction.has_move()) {
      written[instruction.move().to()] = true;
    }
  }
  return written;
}

// The tensors that wrote the bytes of the arena last.
class LastWriters {
 public:
  void Write(const Block& block) {
    if (block.begin == block.end) return;
    SplitAt(block.begin);
    SplitAt(block.end);
    pieces_.erase(pieces_.lower_bound(block.begin), pieces_.lower_bound(block.end));
    pieces_[block.begin] = {block.end, block.begin};
  }
  // Whether one tensor at the block's offset wrote all its bytes.
  bool IsFromItsOffset(const Block& block) const {
    const auto piece = pieces_.find(block.begin);
    return piece != pieces_.end() && piece->second.writer == block.begin &&
           piece->second.end >= block.end;
  }

 private:
  struct Piece {
    uint64_t end = 0;
    uint64_t writer = 0;  // offset of the tensor
  };
  void SplitAt(uint64_t offset) {
    auto piece = pieces_.upper_bound(offset);
    if (piece == pieces_.begin()) return;
    --piece;
    if (piece->first == offset || piece->second.end <= offset) return;
    const Piece after = piece->second;
    piece->second.end = offset;
    pieces_[offset] = after;
  }
  absl::btree_map<uint64_t, Piece> pieces_;  // by begin
};

// Whether each tensor that is never written as a whole has the content of one at its offset
// whenever it is read. False also for methods with jumps.
bool AliasesHaveOneOffset(const schema::Method& method, absl::Span<const Block> blocks,
                          const std::vector<bool>& written) {
  std::vector<const Block*> block_of(written.size(), nullptr);
  for (const Block& block : blocks) block_of[static_cast<size_t>(block.value)] = &block;
  LastWriters writers;
  bool same = true;
  const auto read = [&](uint32_t value) {
    const Block* const block = block_of[value];
    if (block == nullptr || written[value] || block->begin == block->end) return;
    same = same && writers.IsFromItsOffset(*block);
  };
  const auto write = [&](uint32_t value) {
    if (block_of[value] != nullptr) writers.Write(*block_of[value]);
  };
  for (const schema::Input& input : method.inputs()) write(input.value());
  for (const schema::Instruction& instruction : method.instructions()) {
    if (instruction.has_kernel()) {
      ForEachValue(method, instruction.kernel().arguments(), read);
      ForEachValue(method, instruction.kernel().outputs(), write);
    } else if (instruction.has_delegate()) {
      ForEachValue(method, instruction.delegate().arguments(), read);
      ForEachValue(method, instruction.delegate().outputs(), write);
    } else if (instruction.has_move()) {
      read(instruction.move().from());
      write(instruction.move().to());
    } else {
      return false;
    }
  }
  ForEachValue(method, method.outputs(), read);
  return same;
}

// Checks that a tensor that is never written as a whole, whose content is that of others, overlaps
// only tensors at its own offset.
absl::Status CheckOverlaps(absl::Span<const Block> blocks, const std::vector<bool>& written) {
  const auto check = [&](const Block& alias, const Block& other) -> absl::Status {
    if (written[static_cast<size_t>(alias.value)] || alias.begin == other.begin ||
        alias.begin >= other.end || other.begin >= alias.end) {
      return absl::OkStatus();
    }
    return absl::UnimplementedError(
        absl::StrCat("value ", alias.value, " reads the memory of value ", other.value, ", ",
                     alias.begin, " and ", other.begin, " bytes from the start of the arena"));
  };
  Block longest;       // of those at smaller offsets: the one that ends last
  Block longest_here;  // of those at this offset
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i > 0 && blocks[i].begin != blocks[i - 1].begin) {
      if (longest_here.end > longest.end) longest = longest_here;
      longest_here = {};
    }
    if (blocks[i].end > longest_here.end) longest_here = blocks[i];
    ABSL_RETURN_IF_ERROR(check(blocks[i], longest));
  }
  // The next larger offset, from the last block to the first.
  const Block* next = nullptr;
  for (size_t i = blocks.size(); i-- > 0;) {
    if (i + 1 < blocks.size() && blocks[i + 1].begin != blocks[i].begin) next = &blocks[i + 1];
    if (next != nullptr) ABSL_RETURN_IF_ERROR(check(blocks[i], *next));
  }
  return absl::OkStatus();
}

absl::Status CheckAliases(const schema::Method& method, absl::Span<const Block> blocks) {
  const std::vector<bool> written = WrittenValues(method);
  const absl::Status disjoint = CheckOverlaps(blocks, written);
  if (disjoint.ok() || AliasesHaveOneOffset(method, blocks, written)) return absl::OkStatus();
  return disjoint;
}

exir::ProgramImage::Segment& NewSegment(exir::ProgramImage& image, schema::Segment::Kind kind) {
  exir::ProgramImage::Segment& segment = image.segments.emplace_back();
  segment.kind = kind;
  return segment;
}

// Adds the constants, each once, to a segment. Tensors refer to them by index.
void AddConstants(const TranslatedProgram& program, exir::ProgramImage& image) {
  if (program.parts.constants.empty()) return;
  const auto index = static_cast<uint32_t>(image.segments.size());
  exir::ProgramImage::Segment& segment = NewSegment(image, schema::Segment::CONSTANTS);
  absl::flat_hash_map<std::pair<const std::byte*, size_t>, uint64_t> offsets;
  uint64_t end = 0;
  for (const absl::Span<const std::byte> bytes : program.parts.constants) {
    const auto [it, added] = offsets.try_emplace({bytes.data(), bytes.size()}, end);
    if (added) {
      segment.pieces.push_back({program.parts.owner, bytes});
      end = *CheckedAlignUp(end + bytes.size(), kTensorAlignment);
    }
    schema::Constant& constant = *image.metadata.add_constants();
    constant.set_segment(index);
    constant.set_offset(it->second);
    constant.set_size(bytes.size());
  }
}

// Adds the blobs of the delegates, and their named data.
void AddDelegates(const TranslatedProgram& program, exir::ProgramImage& image) {
  absl::flat_hash_map<uint32_t, uint32_t> segments;  // of the program -> of the image
  for (schema::Method& method : *image.metadata.mutable_methods()) {
    for (schema::Delegate& delegate : *method.mutable_delegates()) {
      const absl::Span<const std::byte> blob = program.parts.segments[delegate.segment()].bytes;
      const auto [it, added] =
          segments.try_emplace(delegate.segment(), static_cast<uint32_t>(image.segments.size()));
      if (added) {
        NewSegment(image, schema::Segment::DELEGATE).pieces = {{program.parts.owner, blob}};
      }
      delegate.set_segment(it->second);
    }
  }
  if (segments.empty()) return;
  for (const NamedDataPlan& plan : program.parts.named_data) {
    schema::NamedData& named = *image.metadata.add_named_data();
    named.set_key(plan.key);
    named.set_segment(static_cast<uint32_t>(image.segments.size()));
    named.set_size(plan.bytes.size());
    named.set_alignment(plan.alignment);
    exir::ProgramImage::Segment& segment = NewSegment(image, schema::Segment::NAMED_DATA);
    segment.pieces = {{program.parts.owner, plan.bytes}};
    segment.alignment = std::max(kSegmentAlignment, std::bit_ceil(plan.alignment));
  }
}

bool HasContent(const schema::DebugInfo& debug) {
  for (const schema::MethodDebugInfo& method : debug.methods()) {
    for (const schema::InstructionDebugInfo& instruction : method.instructions()) {
      if (instruction.ByteSizeLong() != 0) return true;
    }
  }
  return false;
}

}  // namespace

absl::Status AlignArena(schema::Method& method) {
  const std::vector<Block> blocks = ArenaBlocks(method);
  ABSL_RETURN_IF_ERROR(CheckAliases(method, blocks));
  // Tensors begin after all that ended before them.
  using Ends = std::pair<uint64_t, uint64_t>;  // of a tensor: before, now
  std::priority_queue<Ends, std::vector<Ends>, std::greater<>> placed;
  uint64_t after = 0, arena_bytes = 0;
  for (size_t first = 0, last = 0; first < blocks.size(); first = last) {
    for (; !placed.empty() && placed.top().first <= blocks[first].begin; placed.pop()) {
      after = std::max(after, placed.top().second);
    }
    const std::optional<uint64_t> begin = CheckedAlignUp(after, kTensorAlignment);
    for (last = first; last < blocks.size() && blocks[last].begin == blocks[first].begin; ++last) {
      const uint64_t bytes = blocks[last].end - blocks[last].begin;
      const std::optional<uint64_t> end = begin.has_value() ? CheckedAdd(*begin, bytes) : begin;
      if (!end.has_value()) return absl::ResourceExhaustedError("the arena has 2^64 bytes");
      method.mutable_values(blocks[last].value)->mutable_tensor()->set_arena_offset(*begin);
      placed.emplace(blocks[last].end, *end);
      arena_bytes = std::max(arena_bytes, *end);
    }
  }
  method.set_arena_bytes(arena_bytes);
  return absl::OkStatus();
}

absl::StatusOr<exir::ProgramImage> ImageOf(const TranslatedProgram& program) {
  exir::ProgramImage image;
  image.metadata = program.metadata;
  for (schema::Method& method : *image.metadata.mutable_methods()) {
    const absl::Status status = AlignArena(method);
    if (!status.ok()) return Annotate(status, absl::StrCat("method ", Quoted(method.name())));
  }
  AddConstants(program, image);
  AddDelegates(program, image);
  if (HasContent(program.debug)) image.debug = program.debug;
  return image;
}

}  // namespace belay::pte
