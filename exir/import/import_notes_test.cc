#include "exir/import/import_notes.h"

#include <string>
#include <vector>

#include "exir/import/import_options.h"
#include "exir/import/testing/archive.h"
#include "exir/import/testing/node_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the notes of an imported archive.
std::vector<std::string> NotesOn(const ArchiveFiles& files) {
  std::vector<std::string> notes;
  ImportOptions options;
  options.notes = &notes;
  EXPECT_OK(ImportText(PackArchive(files), options));
  return notes;
}

TEST(ImportNotesTest, OrdinaryArchivesHaveNoNotes) {
  EXPECT_THAT(NotesOn(DefaultFiles(ProgramJson())), IsEmpty());
}

TEST(ImportNotesTest, ReportsWeightsWithoutData) {
  ArchiveFiles files = DefaultFiles(ProgramJson());
  const std::string empty;
  SetFile(files, "data/weights/weight_0", &empty);
  EXPECT_THAT(NotesOn(files),
              ElementsAre("1 tensor without data in the archive, filled with zeros: 'w'"));
  // Empty tensors lack no data.
  const std::string config =
      "{\"config\": {\"w\": {\"path_name\": \"weight_0\", \"tensor_meta\": " + MetaJson({2, 3}) +
      "}, \"e\": {\"path_name\": \"weight_1\", \"tensor_meta\": " + MetaJson({0, 3}) + "}}}";
  const std::string record(24, '\0');
  SetFile(files, "data/weights/weight_0", &record);
  SetFile(files, "data/weights/weight_1", &empty);
  SetFile(files, "data/weights/model_weights_config.json", &config);
  EXPECT_THAT(NotesOn(files), IsEmpty());
}

TEST(ImportNotesTest, ReportsValuesOnOtherDevices) {
  std::string meta = MetaJson({2, 3});
  meta.replace(meta.find("cpu"), 3, "cuda");
  EXPECT_THAT(
      NotesOn(DefaultFiles(ProgramJson({{"\"x\": " + MetaJson({2, 3}), "\"x\": " + meta},
                                        {Tensor("add"), Tensor("add", meta)}}))),
      ElementsAre("2 values on another device, moved to the CPU: 'x (cuda)', 'add (cuda)'"));
}

TEST(ImportNotesTest, ReportsUnusedSymbols) {
  EXPECT_THAT(NotesOn(DefaultFiles(
                  ProgramJson({{"\"range_constraints\": {}",
                                R"("range_constraints": {"s0": {"min_val": 2, "max_val": 8}})"}}))),
              ElementsAre("1 symbol with a range, but not used in the graphs' types: 's0'"));
}

// Symbols in sizes of tensors, and in scalars.
TEST(ImportNotesTest, DoesNotReportUsedSymbols) {
  std::string meta = MetaJson({2, 3});
  meta.replace(meta.find(R"({"as_int": 2})"), 13,
               R"({"as_expr": {"expr_str": "s0", "hint": {"as_int": 2}}})");
  Changes changes = WithNodes(NodeJson("torch.ops.mine.op.default", {},
                                       TensorArg("t") + R"(, {"as_sym_int": {"as_name": "n"}})"),
                              Tensor("t", meta), R"("n": {"as_expr": {"expr_str": "u0"}})");
  changes.push_back({"\"range_constraints\": {}",
                     R"("range_constraints": {"s0": {"max_val": 8}, "u0": {"max_val": 8},
                                              "u1": {"max_val": 8}})"});
  EXPECT_THAT(NotesOn(DefaultFiles(ProgramJson(changes))),
              ElementsAre("1 symbol with a range, but not used in the graphs' types: 'u1'"));
}

TEST(ImportNotesTest, FailedImportsHaveNoNotes) {
  std::vector<std::string> notes;
  ImportOptions options;
  options.notes = &notes;
  ArchiveFiles files = DefaultFiles("{}");
  EXPECT_FALSE(ImportText(PackArchive(files), options).ok());
  EXPECT_THAT(notes, IsEmpty());
}

}  // namespace
}  // namespace belay::exir
