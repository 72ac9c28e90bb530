#include "runtime/program/wire_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/core/str_cat.h"

namespace belay {
namespace {

constexpr char kTooLong[] = "it is longer than the enclosing message";
constexpr char kNotAMessage[] =
    "the metadata is not a Protocol Buffers message belay.schema.Program: ";

uint64_t LittleEndian64(const uint8_t* at) {
  uint64_t bits = 0;
  for (int i = 7; i >= 0; --i) bits = bits << 8 | at[i];
  return bits;
}

}  // namespace

uint64_t CountNumbers(absl::Span<const std::byte> numbers) {
  return static_cast<uint64_t>(std::count_if(numbers.begin(), numbers.end(), [](std::byte b) {
    return (b & std::byte{0x80}) == std::byte{0};
  }));
}

const char WireReader::kTooDeep[] = "too deep";

Varint ReadLongVarint(const uint8_t* at, const uint8_t* end) {
  // Decodes up to eight bytes at once: the first without a continuation bit is the last, and the
  // seven-bit payloads are packed in three steps.
  if (end - at >= 8) [[likely]] {
    uint64_t bytes = LittleEndian64(at);
    const uint64_t ends = ~bytes & 0x8080808080808080;
    if (ends != 0) [[likely]] {
      bytes &= (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7f;
      bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x7f007f007f007f00) >> 1;
      bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x3fff00003fff0000) >> 2;
      bytes = (bytes & 0x000000000fffffff) | (bytes & 0x0fffffff00000000) >> 4;
      return {.end = at + std::countr_zero(ends) / 8 + 1, .number = bytes};
    }
  }
  uint64_t number = 0;
  for (int shift = 0; at != end; shift += 7) {
    const uint64_t byte = *at++;
    if (shift == 63 && byte > 1) return {};  // the tenth byte is always the last
    number |= (byte & 0x7f) << shift;
    if (byte < 0x80) return {.end = at, .number = number};
  }
  return {};
}

bool WireReader::Field::ReadTag(const uint8_t* end) {
  const Varint tag = ReadVarint(at, end);
  if (tag.end == nullptr) return Fail("its tag is unterminated");
  at = tag.end;
  number = static_cast<uint32_t>(tag.number >> 3);
  type = static_cast<WireType>(tag.number & 7);
  if (tag.number > UINT32_MAX || number == 0) return Fail("it has no valid number");
  return true;
}

bool WireReader::Field::ReadValue(const uint8_t* end) {
  switch (type) {
    case kVarint: {
      const Varint read = ReadVarint(at, end);
      if (read.end == nullptr) return Fail("a number is unterminated or has more than 64 bits");
      varint = read.number;
      at = read.end;
      return true;
    }
    case kFixed64:
      size = 8;
      break;
    case kFixed32:
      size = 4;
      break;
    case kBytes: {
      const Varint read = ReadVarint(at, end);
      if (read.end == nullptr) return Fail("its size is unterminated or has more than 64 bits");
      at = read.end;
      if (read.number > static_cast<uint64_t>(end - at)) return Fail(kTooLong);
      size = static_cast<size_t>(read.number);
      break;
    }
    default:
      return Fail("unknown wire type");
  }
  if (size > static_cast<size_t>(end - at)) return Fail(kTooLong);
  value = at;
  at += size;
  return true;
}

// A group is a message between two tags. The schema has none, but newer writers may use them. Open
// groups are only counted: each must end somewhere.
bool WireReader::Field::ReadGroup(const uint8_t* end, uint32_t nesting) {
  Field inside;
  for (uint32_t open = 1; open > 0;) {
    if (open > nesting) return Fail(kTooDeep);
    inside.at = at;
    if (at == end) return Fail("a group is unterminated");
    if (!inside.ReadTag(end)) return Fail(inside.problem);
    if (inside.type == kGroup) {
      ++open;
    } else if (inside.type == kEndGroup) {
      --open;
    } else if (!inside.ReadValue(end)) {
      return Fail(inside.problem);
    }
    at = inside.at;
  }
  if (inside.number != number)
    return Fail("a group ends with another field number than it began with");
  return true;
}

WireReader::Field WireReader::ReadField(const uint8_t* at, const uint8_t* end, uint32_t nesting) {
  Field field;
  field.at = at;
  if (field.ReadTag(end)) {
    field.type == kGroup ? field.ReadGroup(end, nesting) : field.ReadValue(end);
  }
  return field;
}

double WireReader::Double(const uint8_t* value) {
  return std::bit_cast<double>(LittleEndian64(value));
}

absl::Status WireReader::Error(const char* problem, uint32_t number, uint32_t nesting,
                               const MetadataPath& path) {
  if (problem == kTooDeep) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the metadata's messages are nested deeper than the limit 'nesting' of ",
                     nesting, ", in ", path.ToString()));
  }
  return absl::DataLossError(
      absl::StrCat(kNotAMessage, path.ToString(), ", field ", number, ": ", problem));
}

absl::Status NumbersError(const MetadataPath& path) {
  return absl::DataLossError(absl::StrCat(kNotAMessage, path.ToString(),
                                          ": a number is unterminated or has too many bits"));
}

}  // namespace belay
