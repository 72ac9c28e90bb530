// Edits the tables of a built file in ways that flatc's object API cannot.
#ifndef BELAY_EXECUTORCH_READER_TESTING_TABLE_EDITS_H_
#define BELAY_EXECUTORCH_READER_TESTING_TABLE_EDITS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "flatbuffers/flatbuffers.h"

namespace belay::pte {

// Writes `number` at byte `at`. Precondition: it is inside the file.
template <class T>
void Put(std::string& file, size_t at, T number) {
  std::memcpy(file.data() + at, &number, sizeof(number));
}

// Returns the offset of an object that the file's accessors returned.
inline size_t OffsetIn(const std::string& file, const void* object) {
  return static_cast<size_t>(static_cast<const char*>(object) - file.data());
}

// Returns the offset of a field (VT_ of its table). Precondition: the table has the field.
inline size_t FieldIn(const std::string& file, const void* table, flatbuffers::voffset_t field) {
  return OffsetIn(file, table) +
         static_cast<const flatbuffers::Table*>(table)->GetOptionalFieldOffset(field);
}

// Redirects the reference at `at` to a table, vector or string at the later offset `to`.
inline void Refer(std::string& file, size_t at, size_t to) {
  Put<flatbuffers::uoffset_t>(file, at, static_cast<flatbuffers::uoffset_t>(to - at));
}

// Redirects all elements of a vector of tables to the first one.
template <class List>
void ShareFirst(std::string& file, const List& list) {
  const size_t begin = OffsetIn(file, list.Data());
  const size_t first = begin + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(&file[begin]);
  for (size_t i = 1; i < list.size(); ++i) {
    Refer(file, begin + i * sizeof(flatbuffers::uoffset_t), first);
  }
}

// Removes a field: appends a vtable without it, for this table only. Precondition: the file has no
// segments.
inline void Remove(std::string& file, const void* table, flatbuffers::voffset_t field) {
  using flatbuffers::ReadScalar;
  const size_t at = OffsetIn(file, table);
  const size_t vtable = at - ReadScalar<flatbuffers::soffset_t>(file.data() + at);
  file.resize((file.size() + 7) / 8 * 8);
  const size_t copy = file.size();
  file.append(file.substr(vtable, ReadScalar<flatbuffers::voffset_t>(file.data() + vtable)));
  Put<flatbuffers::voffset_t>(file, copy + field, 0);
  Put<flatbuffers::soffset_t>(file, at, static_cast<int32_t>(at) - static_cast<int32_t>(copy));
}

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_TESTING_TABLE_EDITS_H_
