#include "exir/import/pickle.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/core/bytes.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kOrderedDict = "collections OrderedDict";
constexpr int kMaxProtocol = 5;

enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kPersId = 'Q',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kReduce = 'R',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
};

class Machine {
 public:
  Machine(absl::Span<const std::byte> bytes, absl::FunctionRef<bool(std::string_view)> allowed,
          uint64_t max_values)
      : bytes_(bytes), allowed_(allowed), max_values_(max_values) {}

  absl::StatusOr<Pickle> Run() {
    ABSL_RETURN_IF_ERROR(CheckMemoryForAll());
    while (true) {
      opcode_at_ = at_;
      ABSL_ASSIGN_OR_RETURN(const uint64_t opcode, Number(1));
      if (opcode == kStop) break;
      ABSL_RETURN_IF_ERROR(Step(static_cast<uint8_t>(opcode)));
      // An instruction creates at most one value or one mark.
      if (pickle_.values.size() > max_values_ || marks_.size() > max_values_) {
        return absl::ResourceExhaustedError(
            absl::StrCat("pickle, byte ", opcode_at_,
                         ": it creates more than max_pickle_values = ", max_values_, " values"));
      }
    }
    if (stack_.size() != 1 || !marks_.empty())
      return Error("the pickle does not end with one value");
    pickle_.root = stack_[0];
    return std::move(pickle_);
  }

 private:
  // Checks an upper bound of the memory that the instructions can allocate.
  absl::Status CheckMemoryForAll() const {
    // Per value: the value while its list grows by doubling, the block of its first items, and a
    // mark.
    constexpr uint64_t kValue = 3 * (sizeof(PickleValue) + sizeof(size_t)) + 32;
    // Per byte: a memoized value is pushed by two bytes and moved to the items of another. It is
    // memoized by five.
    constexpr uint64_t kByte = 12;
    MemoryBound bound;
    bound.Add(std::min<uint64_t>(bytes_.size(), max_values_), kValue);
    bound.Add(1, kValue);  // the value that exceeds the limit
    bound.Add(bytes_.size(), kByte);
    return CheckMemory(bound.bytes(), absl::StrCat("a pickle of ", bytes_.size(), " bytes"));
  }

  absl::Status Error(std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("pickle, byte ", opcode_at_, ": ", what));
  }
  absl::Status Refused(std::string_view what) const {
    return absl::UnimplementedError(
        absl::StrCat("pickle, byte ", opcode_at_, ": ", what,
                     "; only plain tensors are read, nothing is ever executed"));
  }

  // --- Input ---

  absl::StatusOr<absl::Span<const std::byte>> Take(uint64_t count) {
    if (!RangeFits(at_, count, bytes_.size())) {
      return absl::DataLossError(
          absl::StrCat("pickle: ends at byte ", bytes_.size(), ", within an instruction"));
    }
    const absl::Span<const std::byte> taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }
  // Little-endian, `size` <= 8.
  absl::StatusOr<uint64_t> Number(uint64_t size) {
    ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> raw, Take(size));
    uint64_t number = 0;
    for (size_t i = 0; i < raw.size(); ++i) number |= static_cast<uint64_t>(raw[i]) << (8 * i);
    return number;
  }
  absl::StatusOr<std::string_view> Text(uint64_t size) {
    ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> raw, Take(size));
    return AsString(raw);
  }
  absl::StatusOr<std::string_view> Line() {
    const std::string_view rest = AsString(bytes_.subspan(at_));
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return absl::DataLossError("pickle: ends within a name");
    at_ += end + 1;
    return rest.substr(0, end);
  }

  // --- Stack ---

  PickleValue& Push(Kind kind) {
    stack_.push_back(static_cast<uint32_t>(pickle_.values.size()));
    PickleValue& value = pickle_.values.emplace_back();
    value.kind = kind;
    return value;
  }
  // Number of values above the last mark.
  size_t Above() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  PickleValue& Top() { return pickle_.values[stack_.back()]; }
  // Pushes a value whose items are the last `count` values.
  absl::Status Collect(Kind kind, size_t count) {
    if (Above() < count) return Error("the stack is too short");
    std::vector<uint32_t> items(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    Push(kind).items = std::move(items);
    return absl::OkStatus();
  }
  // Pops the last mark; returns the number of values above it.
  absl::StatusOr<size_t> PopMark() {
    if (marks_.empty()) return Error("there is no mark");
    const size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return count;
  }
  // Moves the last `count` values to the container below them.
  absl::Status Extend(Kind kind, size_t count) {
    if (Above() < count + 1) return Error("the stack is too short");
    PickleValue& container = pickle_.values[stack_[stack_.size() - count - 1]];
    if (container.kind != kind || (kind == Kind::kDict && count % 2 != 0)) {
      return Error("the container for these items is of another kind");
    }
    container.items.insert(container.items.end(), stack_.end() - static_cast<ptrdiff_t>(count),
                           stack_.end());
    stack_.resize(stack_.size() - count);
    return absl::OkStatus();
  }

  // --- Instructions ---

  absl::Status PushInt(int64_t value, Kind kind = Kind::kInt) {
    Push(kind).integer = value;
    return absl::OkStatus();
  }

  absl::Status Step(uint8_t opcode) {
    switch (opcode) {
      case kProto: {
        ABSL_ASSIGN_OR_RETURN(const uint64_t protocol, Number(1));
        if (protocol <= kMaxProtocol) return absl::OkStatus();
        return Refused(absl::StrCat("protocol ", protocol));
      }
      case kMark:
        marks_.push_back(stack_.size());
        return absl::OkStatus();
      case kNone:
        Push(Kind::kNone);
        return absl::OkStatus();
      case kNewTrue:
      case kNewFalse:
        return PushInt(opcode == kNewTrue ? 1 : 0, Kind::kBool);
      case kBinInt1:
      case kBinInt2: {
        ABSL_ASSIGN_OR_RETURN(const uint64_t value, Number(opcode == kBinInt1 ? 1 : 2));
        return PushInt(static_cast<int64_t>(value));
      }
      case kBinInt: {
        ABSL_ASSIGN_OR_RETURN(const uint64_t value, Number(4));
        return PushInt(static_cast<int32_t>(static_cast<uint32_t>(value)));
      }
      case kLong1:
        return Long1();
      case kBinFloat: {
        ABSL_ASSIGN_OR_RETURN(const uint64_t bits, Number(8));
        Push(Kind::kFloat).number = std::bit_cast<double>(__builtin_bswap64(bits));
        return absl::OkStatus();
      }
      case kBinUnicode: {
        ABSL_ASSIGN_OR_RETURN(const uint64_t size, Number(4));
        ABSL_ASSIGN_OR_RETURN(const std::string_view text, Text(size));
        Push(Kind::kString).text = text;
        return absl::OkStatus();
      }
      case kEmptyDict:
        Push(Kind::kDict);
        return absl::OkStatus();
      case kEmptyList:
        Push(Kind::kList);
        return absl::OkStatus();
      case kEmptyTuple:
        Push(Kind::kTuple);
        return absl::OkStatus();
      case kTuple: {
        ABSL_ASSIGN_OR_RETURN(const size_t count, PopMark());
        return Collect(Kind::kTuple, count);
      }
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return Collect(Kind::kTuple, static_cast<size_t>(opcode - kTuple1 + 1));
      case kAppend:
        return Extend(Kind::kList, 1);
      case kSetItem:
        return Extend(Kind::kDict, 2);
      case kAppends:
      case kSetItems: {
        ABSL_ASSIGN_OR_RETURN(const size_t count, PopMark());
        return Extend(opcode == kAppends ? Kind::kList : Kind::kDict, count);
      }
      case kBinPut:
      case kLongBinPut: {
        ABSL_ASSIGN_OR_RETURN(const uint64_t key, Number(opcode == kBinPut ? 1 : 4));
        if (Above() == 0) return Error("there is no value to memoize");
        memo_[static_cast<uint32_t>(key)] = stack_.back();
        return absl::OkStatus();
      }
      case kBinGet:
      case kLongBinGet: {
        ABSL_ASSIGN_OR_RETURN(const uint64_t key, Number(opcode == kBinGet ? 1 : 4));
        const auto it = memo_.find(static_cast<uint32_t>(key));
        if (it == memo_.end()) return Error(absl::StrCat("no memoized value ", key));
        stack_.push_back(it->second);
        return absl::OkStatus();
      }
      case kGlobal:
        return Global();
      case kReduce:
      case kNewObj:  // a class called by object.__new__: as little done as of any call
        return Reduce();
      case kBuild:
        // Attributes of the object below (an OrderedDict's _metadata, a tensor's state) are
        // ignored.
        if (Above() < 2) return Error("the stack is too short");
        stack_.pop_back();
        return absl::OkStatus();
      case kPersId:
        return Collect(Kind::kPersistent, 1);
      default:
        return Refused(absl::StrCat("the instruction 0x", absl::Hex(opcode, absl::kZeroPad2)));
    }
  }

  absl::Status Long1() {
    ABSL_ASSIGN_OR_RETURN(const uint64_t size, Number(1));
    if (size > 8) return Refused(absl::StrCat("an integer of ", size, " bytes"));
    ABSL_ASSIGN_OR_RETURN(uint64_t value, Number(size));
    // Sign extension.
    if (size > 0 && size < 8 && (value >> (8 * size - 1)) != 0) value |= ~uint64_t{0} << (8 * size);
    return PushInt(static_cast<int64_t>(value));
  }

  absl::Status Global() {
    const size_t begin = at_;
    ABSL_ASSIGN_OR_RETURN(const std::string_view module, Line());
    ABSL_ASSIGN_OR_RETURN(const std::string_view name, Line());
    const std::string full = absl::StrCat(module, " ", name);
    if (full != kOrderedDict && !allowed_(full)) {
      return Refused(absl::StrCat("it names '", full.substr(0, 200),
                                  "' (call run_decompositions() on the exported program before it "
                                  "is saved: tensors of other classes become plain ones)"));
    }
    // The pickle has "module\nname". Spaces in either name would be rejected by the allow-list.
    Push(Kind::kGlobal).text = AsString(bytes_.subspan(begin, at_ - begin - 1));
    return absl::OkStatus();
  }

  absl::Status Reduce() {
    if (Above() < 2) return Error("the stack is too short");
    const PickleValue& arguments = Top();
    const PickleValue& callee = pickle_.values[stack_[stack_.size() - 2]];
    if (callee.kind != Kind::kGlobal || arguments.kind != Kind::kTuple) {
      return Error("a call of something that is not a name with a tuple");
    }
    if (callee.text != "collections\nOrderedDict") return Collect(Kind::kCall, 2);
    // OrderedDict() or OrderedDict([[key, value], …]).
    std::vector<uint32_t> items;
    if (arguments.items.size() > 1) return Error("OrderedDict takes one argument");
    if (arguments.items.size() == 1) {
      const PickleValue& pairs = pickle_.values[arguments.items[0]];
      if (pairs.kind != Kind::kList && pairs.kind != Kind::kTuple)
        return Error("OrderedDict takes a list");
      // Bound the copies: the same list may be passed repeatedly.
      const uint64_t copies = 2 * pairs.items.size();
      copied_ += copies;
      if (copied_ > bytes_.size()) return Error("lists are copied too often");
      items.reserve(copies);
      for (uint32_t index : pairs.items) {
        const PickleValue& pair = pickle_.values[index];
        if ((pair.kind != Kind::kList && pair.kind != Kind::kTuple) || pair.items.size() != 2) {
          return Error("OrderedDict takes a list of pairs");
        }
        items.insert(items.end(), pair.items.begin(), pair.items.end());
      }
    }
    stack_.resize(stack_.size() - 2);
    Push(Kind::kDict).items = std::move(items);
    return absl::OkStatus();
  }

  absl::Span<const std::byte> bytes_;
  absl::FunctionRef<bool(std::string_view)> allowed_;
  const uint64_t max_values_;
  uint64_t at_ = 0;
  uint64_t opcode_at_ = 0;
  uint64_t copied_ = 0;
  Pickle pickle_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;  // stack heights
  absl::flat_hash_map<uint32_t, uint32_t> memo_;
};

}  // namespace

absl::StatusOr<Pickle> ParsePickle(absl::Span<const std::byte> bytes,
                                   absl::FunctionRef<bool(std::string_view)> allowed,
                                   uint64_t max_values) {
  return Machine(bytes, allowed, max_values).Run();
}

}  // namespace belay::exir
