#include "runtime/program/wire_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/core/str_cat.h"
#include "runtime/core/utf8.h"

namespace belay {
namespace {

constexpr char kNotAMessage[] =
    "the metadata is not a Protocol Buffers message belay.schema.Program: ";

}  // namespace

uint64_t WireNumbers::count() const {
  return static_cast<uint64_t>(std::count_if(bytes.begin(), bytes.end(), [](std::byte b) {
    return (b & std::byte{0x80}) == std::byte{0};
  }));
}

const char WireReader::kTooDeep[] = "too deep";

bool ReadLongVarint(const uint8_t*& at, const uint8_t* end, uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 64 && at != end; shift += 7) {
    const uint64_t byte = *at++;
    if (shift == 63 && byte > 1) return false;
    number |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireReader::ReadTag(uint32_t& number, WireType& type) {
  uint64_t tag;
  if (!ReadVarint(at_, end_, tag)) {
    Fail("its tag has no end");
    return false;
  }
  number = static_cast<uint32_t>(tag >> 3);
  type = static_cast<WireType>(tag & 7);
  if (tag <= UINT32_MAX && number != 0) return true;
  Fail("it has no valid number");
  return false;
}

// All but groups.
bool WireReader::SkipValue(WireType type) {
  size_ = 0;
  switch (type) {
    case kVarint:
      if (ReadVarint(at_, end_, varint_)) return true;
      Fail("a number has no end within 64 bits");
      return false;
    case kFixed64:
      size_ = 8;
      break;
    case kFixed32:
      size_ = 4;
      break;
    case kBytes: {
      uint64_t size;
      if (!ReadVarint(at_, end_, size)) {
        Fail("its size has no end within 64 bits");
        return false;
      }
      if (size > static_cast<uint64_t>(end_ - at_)) {
        Fail("it is longer than what it lies in");
        return false;
      }
      size_ = static_cast<size_t>(size);
      break;
    }
    default:
      Fail("there is no such wire type");
      return false;
  }
  if (size_ > static_cast<size_t>(end_ - at_)) {
    Fail("it is longer than what it lies in");
    return false;
  }
  value_ = at_;
  at_ += size_;
  return true;
}

// A group is a message between two tags; none is known here, but a newer writer may use them. Those
// that are open are counted, not remembered: each must end somewhere.
bool WireReader::SkipGroup(uint32_t number) {
  uint32_t open = 1;
  uint32_t last = number;
  while (open > 0) {
    if (open > nesting_ - std::min(depth_, nesting_)) {
      Fail(kTooDeep);
      return false;
    }
    WireType type;
    if (at_ == end_) {
      Fail("a group has no end");
      return false;
    }
    if (!ReadTag(last, type)) return false;
    if (type == kGroup) {
      ++open;
    } else if (type == kEndGroup) {
      --open;
    } else if (!SkipValue(type)) {
      return false;
    }
  }
  if (last == number) return true;
  Fail("a group ends with another number than it began with");
  return false;
}

bool WireReader::NextOfAnyKind() {
  if (!ReadTag(number_, type_)) return false;
  return type_ == kGroup ? SkipGroup(number_) : SkipValue(type_);
}

void WireReader::Read(bool& value) {
  if (!IsOnce(kVarint)) return;
  if (varint_ > 1) return Fail("a bool is 0 or 1");
  value = varint_ == 1;
}

void WireReader::Read(double& value) {
  if (!IsOnce(kFixed64)) return;
  uint64_t bits = 0;
  for (int i = 7; i >= 0; --i) bits = bits << 8 | value_[i];
  value = std::bit_cast<double>(bits);
}

void WireReader::Read(std::string_view& value) {
  if (!IsOnce(kBytes)) return;
  if (!IsUtf8(text())) return Fail("the text is not UTF-8");
  value = text();
}

void WireReader::Add(WireList& list) {
  if (!Is(kBytes)) return;
  const auto* tag = reinterpret_cast<const std::byte*>(tag_);
  const auto* end = reinterpret_cast<const std::byte*>(at_);
  const std::byte* begin = list.count == 0 ? tag : list.in.bytes.data();
  list.in = {.bytes = absl::MakeConstSpan(begin, static_cast<size_t>(end - begin)),
             .nesting = nesting_,
             .depth = depth_};
  list.field = number_;
  ++list.count;
  list.total_bytes += size_;  // at most the file's
}

void WireReader::AddMessage(WireList& list) {
  if (depth_ >= nesting_) return Fail(kTooDeep);
  Add(list);
}

void WireReader::AddText(WireList& list) {
  if (type_ == kBytes && !IsUtf8(text())) return Fail("the text is not UTF-8");
  Add(list);
}

absl::Status WireReader::Error(const MetadataPath& path) const {
  if (problem_ == kTooDeep) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the metadata's messages are nested deeper than the limit 'nesting' of ",
                     nesting_, ", in ", path.ToString()));
  }
  return absl::DataLossError(
      absl::StrCat(kNotAMessage, path.ToString(), ", field ", number_, ": ", problem_));
}

void WireElements::Next() {
  while (fields_.Next() && fields_.number() != field_) {
  }
}

WireMessage WireElements::NextMessage() {
  Next();
  return {.bytes = fields_.bytes(), .nesting = fields_.nesting_, .depth = fields_.depth_ + 1};
}

std::string_view WireElements::NextText() {
  Next();
  return fields_.text();
}

absl::Status NumbersError(const MetadataPath& path) {
  return absl::DataLossError(
      absl::StrCat(kNotAMessage, path.ToString(), ": a number has no end or too many bits"));
}

}  // namespace belay
