// Edits of the tables of a built file, for what flatc's objects do not write.
#ifndef BELAY_EXECUTORCH_READER_TESTING_TABLE_EDITS_H_
#define BELAY_EXECUTORCH_READER_TESTING_TABLE_EDITS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "flatbuffers/flatbuffers.h"

namespace belay::pte {

// At byte `at`, which the file has.
template <class T>
void Put(std::string& file, size_t at, T number) {
  std::memcpy(file.data() + at, &number, sizeof(number));
}

// Where something that the file's accessors gave lies in it.
inline size_t PlaceIn(const std::string& file, const void* object) {
  return static_cast<size_t>(static_cast<const char*>(object) - file.data());
}

// Where a field lies (VT_ of its table), which the table has.
inline size_t FieldIn(const std::string& file, const void* table, flatbuffers::voffset_t field) {
  return PlaceIn(file, table) +
         static_cast<const flatbuffers::Table*>(table)->GetOptionalFieldOffset(field);
}

// Makes the reference at `at` one to a table, vector or string that lies behind it.
inline void Refer(std::string& file, size_t at, size_t to) {
  Put<flatbuffers::uoffset_t>(file, at, static_cast<flatbuffers::uoffset_t>(to - at));
}

// Makes all elements of a vector of tables the first one, which is there once then.
template <class List>
void ShareFirst(std::string& file, const List& list) {
  const size_t begin = PlaceIn(file, list.Data());
  const size_t first = begin + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(&file[begin]);
  for (size_t i = 1; i < list.size(); ++i) {
    Refer(file, begin + i * sizeof(flatbuffers::uoffset_t), first);
  }
}

// Takes a field away: the table gets a vtable of its own, without the field, behind a file that has
// no segments.
inline void Remove(std::string& file, const void* table, flatbuffers::voffset_t field) {
  using flatbuffers::ReadScalar;
  const size_t at = PlaceIn(file, table);
  const size_t vtable = at - ReadScalar<flatbuffers::soffset_t>(file.data() + at);
  file.resize((file.size() + 7) / 8 * 8);
  const size_t copy = file.size();
  file.append(file.substr(vtable, ReadScalar<flatbuffers::voffset_t>(file.data() + vtable)));
  Put<flatbuffers::voffset_t>(file, copy + field, 0);
  Put<flatbuffers::soffset_t>(file, at, static_cast<int32_t>(at) - static_cast<int32_t>(copy));
}

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_TESTING_TABLE_EDITS_H_
