// Named data: compares the backends' store with a map, also after a round trip through a program
// file.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "exir/backend/named_data_store.h"
#include "exir/import/testing/zip_writer.h"
#include "exir/ir/constant.h"
#include "fuzz/generators/byte_source.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/utf8.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/program/program.h"

namespace {

using namespace belay;

// Keys and the expected contents of the store.
using Model = std::map<std::string, std::string>;

void Violated(std::string_view what) { fuzz::Require(absl::InternalError(std::string(what))); }

std::string_view Text(absl::Span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void CheckAdd(fuzz::ByteSource& source, exir::NamedDataStore& store, Model& model) {
  const std::string key(source.Text(4)), data(source.Text(40));
  exir::NamedDataOptions options;
  options.alignment = source.Chance(20) ? source.Interesting() : source.Between(1, 64);
  if (source.Chance(20)) options.external_tag = std::string(source.Text(3));
  const absl::Status status = store.Add(key, exir::ToStorage(data), options);
  fuzz::Require(fuzz::CheckTyped(
      "add", status, {absl::StatusCode::kInvalidArgument, absl::StatusCode::kAlreadyExists}));
  const auto found = model.find(key);
  if (status.ok()) {
    if (key.empty() || !IsUtf8(key)) Violated("a key that no file can hold");
    if (found != model.end() && found->second != data) Violated("a key was given other bytes");
    model.emplace(key, data);
  } else if (status.code() == absl::StatusCode::kAlreadyExists) {
    if (found == model.end()) Violated("a key that is new was there already");
  }
}

// Checks that every entry of `output` has the model's bytes; returns the number of entries.
size_t CheckEntries(const exir::NamedDataOutput& output, const Model& model) {
  size_t entries = 0;
  const auto check = [&](const std::string& key, const exir::NamedDataEntry& entry) {
    ++entries;
    const auto found = model.find(key);
    if (found == model.end()) Violated("a key that was never added");
    if (entry.buffer >= output.buffers.size()) Violated("an entry without a buffer");
    if (Text(output.buffers[entry.buffer].bytes) != found->second) Violated("other bytes");
  };
  for (const auto& [key, entry] : output.program_data) check(key, entry);
  for (const auto& [tag, file] : output.external_data) {
    for (const auto& [key, entry] : file) check(key, entry);
  }
  return entries;
}

// Checks a round trip through a program file, some of whose fields are edited.
void CheckFile(fuzz::ByteSource& source, const Model& model) {
  TestProgram program;
  for (const auto& [key, data] : model) program.AddNamedData(key, data);
  bool edited = false;
  const std::string file = program.Serialize();
  std::string changed = file;
  for (uint64_t edits = source.Below(4); edits > 0; --edits) {
    const uint64_t at = 64 + source.Below(256);
    if (at >= changed.size()) continue;
    changed[at] = static_cast<char>(source.Byte());
    edited = true;
  }
  if (edited) FixHeader(changed);
  const absl::StatusOr<Program> opened = OpenFileBytes(changed);
  if (edited) fuzz::Require(fuzz::CheckTyped("open", opened.status(), fuzz::kReaderCodes));
  if (!edited) fuzz::Require(opened.status());
  if (!opened.ok()) return;
  for (const NamedDataPlan& data : opened->named_data()) {
    const auto bytes = opened->FindNamedData(data.key);
    fuzz::Require(bytes.status());
    if (bytes->data() != data.bytes.data() || bytes->size() != data.bytes.size()) {
      Violated("the map finds something else than the list has");
    }
    if (!edited && Text(*bytes) != model.at(data.key)) Violated("a file with other bytes");
  }
  const std::string key(source.Text(4));
  if (!edited && opened->FindNamedData(key).ok() != model.contains(key)) {
    Violated("a key that is not there is found, or the other way round");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::ByteSource source(data, size);
  exir::NamedDataStore store;
  Model model;
  for (uint64_t steps = source.Below(16); steps > 0; --steps) {
    switch (source.Below(8)) {
      case 0: {
        const uint64_t cap = source.Below(100);
        fuzz::Require(fuzz::CheckTyped(
            "externalize", store.Externalize(cap, source.Text(3)),
            {absl::StatusCode::kInvalidArgument, absl::StatusCode::kAlreadyExists}));
        break;
      }
      case 1: {
        exir::NamedDataStore merged;
        fuzz::Require(merged.Merge(store.output()));
        if (CheckEntries(merged.output(), model) != model.size()) Violated("merging lost a key");
        break;
      }
      default:
        CheckAdd(source, store, model);
    }
    if (CheckEntries(store.output(), model) != model.size()) Violated("a key is missing");
  }
  CheckFile(source, model);
  return 0;
}
