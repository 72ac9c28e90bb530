#include "tools/mutate/wire_tree.h"

#include <algorithm>
#include <utility>

namespace belay::mutate {
namespace {

// Deeper levels are kept as bytes.
constexpr int kMaxDepth = 12;
constexpr size_t kMaxGrowth = 64 << 10;

std::optional<uint64_t> ReadVarint(std::string_view& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 10 && i < bytes.size(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

void WriteVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

std::optional<uint64_t> ReadFixed(std::string_view& bytes, size_t size) {
  if (bytes.size() < size) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  bytes.remove_prefix(size);
  return value;
}

void WriteFixed(uint64_t value, size_t size, std::string& out) {
  for (size_t i = 0; i < size; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::optional<std::vector<WireField>> Parse(std::string_view bytes, int depth) {
  std::vector<WireField> fields;
  while (!bytes.empty()) {
    const std::optional<uint64_t> tag = ReadVarint(bytes);
    if (!tag.has_value() || (*tag >> 3) == 0 || (*tag >> 3) > 0x1fffffff) return std::nullopt;
    WireField field;
    field.number = static_cast<uint32_t>(*tag >> 3);
    std::optional<uint64_t> value;
    switch (*tag & 7) {
      case 0:
        field.type = WireField::Type::kVarint;
        value = ReadVarint(bytes);
        break;
      case 1:
        field.type = WireField::Type::kFixed64;
        value = ReadFixed(bytes, 8);
        break;
      case 2: {
        field.type = WireField::Type::kBytes;
        value = ReadVarint(bytes);
        if (!value.has_value() || *value > bytes.size()) return std::nullopt;
        const std::string_view content = bytes.substr(0, static_cast<size_t>(*value));
        bytes.remove_prefix(content.size());
        std::optional<std::vector<WireField>> children;
        if (!content.empty() && depth < kMaxDepth) children = Parse(content, depth + 1);
        field.is_message = children.has_value();
        if (field.is_message) {
          field.children = *std::move(children);
        } else {
          field.bytes = std::string(content);
        }
        break;
      }
      case 5:
        field.type = WireField::Type::kFixed32;
        value = ReadFixed(bytes, 4);
        break;
      default:
        return std::nullopt;
    }
    if (!value.has_value()) return std::nullopt;
    if (field.type != WireField::Type::kBytes) field.value = *value;
    fields.push_back(std::move(field));
  }
  return fields;
}

void Write(const std::vector<WireField>& fields, std::string& out) {
  for (const WireField& field : fields) {
    WriteVarint(static_cast<uint64_t>(field.number) << 3 | static_cast<uint64_t>(field.type), out);
    switch (field.type) {
      case WireField::Type::kVarint:
        WriteVarint(field.value, out);
        break;
      case WireField::Type::kFixed64:
        WriteFixed(field.value, 8, out);
        break;
      case WireField::Type::kFixed32:
        WriteFixed(field.value, 4, out);
        break;
      case WireField::Type::kBytes: {
        const std::string content = field.is_message ? WriteWire(field.children) : field.bytes;
        WriteVarint(content.size(), out);
        out += content;
        break;
      }
    }
  }
}

struct Place {
  std::vector<WireField>* list;
  size_t index;
  WireField& field() const { return (*list)[index]; }
};

void Collect(std::vector<WireField>& fields, std::vector<Place>& places) {
  for (size_t i = 0; i < fields.size(); ++i) {
    places.push_back({&fields, i});
    if (fields[i].is_message) Collect(fields[i].children, places);
  }
}

WireField UnknownField(Random& random) {
  WireField field;
  field.number = static_cast<uint32_t>(1 + random.Below(random.OneIn(2) ? 40 : 0x1fffffff));
  constexpr WireField::Type kTypes[] = {WireField::Type::kVarint, WireField::Type::kFixed64,
                                        WireField::Type::kBytes, WireField::Type::kFixed32};
  field.type = kTypes[random.Below(4)];
  field.value = random.Interesting();
  if (field.type == WireField::Type::kBytes) {
    field.bytes.assign(random.Below(20), static_cast<char>(random.Next()));
  }
  return field;
}

// Edits a packed repeated field of varints.
void EditPacked(Random& random, std::string& bytes) {
  std::vector<uint64_t> values;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::optional<uint64_t> value = ReadVarint(rest);
    if (!value.has_value()) return;
    values.push_back(*value);
  }
  const size_t at = random.Below(values.size() + 1);
  if (at == values.size() || random.OneIn(4)) {
    values.insert(values.begin() + static_cast<ptrdiff_t>(at), random.Interesting());
  } else if (random.OneIn(4)) {
    values.erase(values.begin() + static_cast<ptrdiff_t>(at));
  } else {
    values[at] = random.Interesting();
  }
  bytes.clear();
  for (const uint64_t value : values) WriteVarint(value, bytes);
}

void EditBytes(Random& random, std::string& bytes) {
  switch (random.Below(5)) {
    case 0:
      if (!bytes.empty()) bytes[random.Below(bytes.size())] = static_cast<char>(random.Next());
      break;
    case 1:
      bytes.resize(random.Below(bytes.size() + 1));
      break;
    case 2:
      bytes.append(1 + random.Below(8), static_cast<char>(random.Next()));
      break;
    case 3:
      bytes.append(random.Below(2000), 'x');
      break;
    default:
      EditPacked(random, bytes);
  }
}

void EditContent(Random& random, const std::vector<Place>& places, WireField& field) {
  if (field.is_message) {  // the parse may have been a guess
    field.bytes = WriteWire(field.children);
    field.children.clear();
    field.is_message = false;
  }
  if (field.type == WireField::Type::kBytes) return EditBytes(random, field.bytes);
  switch (random.Below(4)) {
    case 0:
      field.value = places[random.Below(places.size())].field().value;
      break;
    case 1:
      field.value += random.Below(5) - 2;
      break;
    case 2:
      field.value ^= uint64_t{1} << random.Below(64);
      break;
    default:
      field.value = random.Interesting();
  }
}

size_t SizeOf(const WireField& field) {
  std::string bytes;
  Write({field}, bytes);
  return bytes.size();
}

// Applies one edit; places refer to the tree before it.
void EditOnce(Random& random, std::vector<WireField>& fields, size_t& growth) {
  std::vector<Place> places;
  Collect(fields, places);
  if (places.empty()) {
    fields.push_back(UnknownField(random));
    return;
  }
  const size_t edit = random.Below(12);
  Place place = places[random.Below(places.size())];
  if (edit > 5) {  // the numbers are in the leaves
    for (int tries = 0; tries < 20 && place.field().is_message; ++tries) {
      place = places[random.Below(places.size())];
    }
  }
  const auto at = place.list->begin() + static_cast<ptrdiff_t>(place.index);
  switch (edit) {
    case 0:
      place.list->erase(at);
      break;
    case 1: {  // duplicate once or many times
      const WireField copy = *at;
      const size_t bytes = std::max<size_t>(SizeOf(copy), 1);
      const size_t room = (kMaxGrowth - std::min(growth, kMaxGrowth)) / bytes;
      const size_t count = std::min(random.OneIn(4) ? 1 + random.Below(1000) : size_t{1}, room);
      growth += count * bytes;
      place.list->insert(at, count, copy);
      break;
    }
    case 2:
      std::swap(place.field(), (*place.list)[random.Below(place.list->size())]);
      break;
    case 3: {  // a copy of another field, with its own or this field's number
      WireField copy = places[random.Below(places.size())].field();
      if (random.OneIn(2)) copy.number = at->number;
      growth += SizeOf(copy);
      if (growth > kMaxGrowth) break;
      if (random.OneIn(2)) {
        *at = std::move(copy);
      } else {
        place.list->insert(at, std::move(copy));
      }
      break;
    }
    case 4:
      at->number = static_cast<uint32_t>(1 + random.Below(16));
      break;
    case 5:
      place.list->insert(at, UnknownField(random));
      break;
    default:
      EditContent(random, places, *at);
  }
}

}  // namespace

std::optional<std::vector<WireField>> ParseWire(std::string_view bytes) { return Parse(bytes, 0); }

std::string WriteWire(const std::vector<WireField>& fields) {
  std::string out;
  Write(fields, out);
  return out;
}

void EditFields(Random& random, std::vector<WireField>& fields) {
  size_t growth = 0;
  for (size_t edits = 1 + random.Below(4); edits > 0; --edits) EditOnce(random, fields, growth);
}

}  // namespace belay::mutate
