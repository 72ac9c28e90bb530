// Mutated programs and archives are rejected, or run within limits. BELAY_PROGRAM_MUTATIONS and
// BELAY_ARCHIVE_MUTATIONS set their numbers, BELAY_TEST_SEED the seed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/aot_backends.h"
#include "exir/import/byte_budget.h"
#include "exir/import/testing/zip_writer.h"
#include "exir/import/zip_reader.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "google/protobuf/stubs/common.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/testing.h"
#include "tools/belay/crash_report.h"
#include "tools/belay/stress_target.h"
#include "tools/mutate/mutator.h"
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include "google/protobuf/stubs/logging.h"
#endif

namespace belay::tools {
namespace {

// Small programs of all kinds: control flow, state, dynamic sizes, several dtypes, delegates.
struct Model {
  std::string_view name;
  std::string_view backend;  // "" for none
};
constexpr Model kModels[] = {
    {"digits_cnn", ""},        {"digits_cnn", "demo"},
    {"digits_cnn_int8", ""},   {"cond_nested", ""},
    {"cond_on_size", "demo"},  {"while_loop", ""},
    {"map_rows", ""},          {"scan_recurrence", "demo"},
    {"counter_buffer", ""},    {"input_mutation", ""},
    {"dynamic_batch_mlp", ""}, {"dynamic_int8_mlp", ""},
    {"symint_arithmetic", ""}, {"nonzero_select", ""},
    {"item_sizes", ""},        {"sort_gather_scatter", ""},
    {"indexing", ""},          {"unusual_dtypes", ""},
    {"bf16_mlp", ""},          {"constant_arguments", ""},
    {"pool_kinds", ""},        {"conv_kinds", ""},
    {"complex_rotary", ""},    {"tiny_llama", "demo"},
};

uint64_t Setting(const char* name, uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

// Mutations per model, rounded up.
uint64_t Share(uint64_t mutations) {
  return (mutations + std::size(kModels) - 1) / std::size(kModels);
}

std::string ArchivePath(const Model& model) {
  return absl::StrCat("conformance/models/zoo/", std::string(model.name), "/model.pt2");
}

std::string LowerModel(const Model& model) {
  const auto ops = exir::CreateStandardOps();
  EXPECT_OK(ops);
  exir::PipelineOptions options;
  options.backends = &AotBackends();
  std::unique_ptr<exir::Partitioner> partitioner;
  if (!model.backend.empty()) {
    auto created = CreatePartitioner(std::string(model.backend), {});
    EXPECT_OK(created);
    if (!created.ok()) return "";
    partitioner = *std::move(created);
    options.partitioners.all.push_back(partitioner.get());
  }
  const auto image = exir::LowerFiles({{"forward", ArchivePath(model)}}, **ops, options);
  EXPECT_OK(image);
  if (!image.ok()) return "";
  const auto serialized = exir::SerializeProgram(*image);
  EXPECT_OK(serialized);
  return serialized.ok() ? serialized->ToString() : "";
}

class Counts {
 public:
  void Add(const StressOutcome& outcome) {
    ++counts_[absl::StrCat(std::string(outcome.stage), ": ",
                           absl::StatusCodeToString(outcome.status.code()))];
    late_ += outcome.stage == "execute" || outcome.stage == "to_edge";
  }
  void Print() const {
    for (const auto& [outcome, count] : counts_) {
      std::printf("  %6llu %s\n", static_cast<unsigned long long>(count), outcome.c_str());
    }
  }
  uint64_t late() const { return late_; }

 private:
  std::map<std::string, uint64_t> counts_;
  uint64_t late_ = 0;
};

class MutationTest : public ::testing::TestWithParam<Model> {
 protected:
  // Tries mutations 0, 1, … of `make`.
  template <class Make>
  void TryAll(const StressTarget& target, uint64_t mutations, Make make) {
    InstallCrashReport(absl::StrCat(std::string(GetParam().name), " ",
                                    std::string(GetParam().backend), ", mutation "));
#if GOOGLE_PROTOBUF_VERSION < 4022000
    const google::protobuf::LogSilencer quiet;  // suppresses reports of strings that are not UTF-8
#endif
    Counts counts;
    for (uint64_t i = 0; i < mutations; ++i) {
      SetCurrentMutation(i);
      const StressOutcome outcome = target.Try(make(i));
      counts.Add(outcome);
      // kInternal: a check failed on data that Belay itself created.
      if (absl::IsInternal(outcome.status)) {
        std::printf("mutation %llu: %s\n", static_cast<unsigned long long>(i),
                    outcome.status.ToString().c_str());
      }
    }
    counts.Print();
    // Some must be rejected late; otherwise mutations only test the first check.
    if (mutations >= 100) EXPECT_GT(counts.late(), mutations / 50);
  }
};

TEST_P(MutationTest, ProgramIsRejectedOrRunsWithinLimits) {
  const std::string program = LowerModel(GetParam());
  ASSERT_FALSE(program.empty());
  ASSERT_OK_AND_ASSIGN(const auto target, CreateProgramTarget(/*companion_root=*/""));
  const StressOutcome whole = target->Try(program);
  // Random inputs are not valid indices for every model.
  if (whole.status.code() != absl::StatusCode::kOutOfRange) ASSERT_OK(whole.status);
  const mutate::Mutator mutator({program});
  TryAll(*target, Share(Setting("BELAY_PROGRAM_MUTATIONS", 100)),
         [&](uint64_t i) { return mutator.Mutate(TestSeed(), i).bytes; });
}

// --- Archives ---

// An archive with mutated JSON and unchanged weights.
class ArchiveMutator {
 public:
  static absl::StatusOr<ArchiveMutator> Create(const std::string& path) {
    ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
    ArchiveMutator mutator;
    ABSL_ASSIGN_OR_RETURN(
        const exir::ZipReader zip,
        exir::ZipReader::Open({.owner = file, .bytes = file->bytes()}, /*max_entries=*/10'000));
    exir::ByteBudget budget("test", uint64_t{1} << 30);
    for (const exir::ZipReader::Entry& entry : zip.entries()) {
      ABSL_ASSIGN_OR_RETURN(const exir::Storage content, zip.Read(entry, budget, true));
      if (entry.name.ends_with(".json")) mutator.texts_.push_back(mutator.entries_.size());
      mutator.entries_.push_back(
          {.name = std::string(entry.name),
           .content = std::string(reinterpret_cast<const char*>(content.bytes.data()),
                                  content.bytes.size())});
    }
    mutator.bytes_ = std::make_unique<mutate::Mutator>(std::vector<std::string>{
        std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size())});
    return mutator;
  }

  std::string Mutate(uint64_t seed, uint64_t index) const {
    Random random(seed, index);
    if (texts_.empty() || random.OneIn(8)) return bytes_->Mutate(seed, index).bytes;
    std::vector<exir::ZipWriterEntry> entries = entries_;
    for (size_t edits = random.OneIn(4) ? 2 : 1; edits > 0; --edits) {
      EditText(random, entries[texts_[random.Below(texts_.size())]].content);
    }
    return exir::WriteZip(entries);
  }

 private:
  // The range of one JSON value: a number, a word, a string, or a list or object with its content.
  static std::string_view ValueAt(std::string_view text, size_t at) {
    const char first = text[at];
    if (first == '"') {
      size_t end = at + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      return text.substr(at, end + 1 - at);
    }
    if (first == '{' || first == '[') {
      size_t depth = 0, end = at;
      for (; end < text.size(); ++end) {
        if (text[end] == '"') {
          end += ValueAt(text, end).size() - 1;
        } else if (text[end] == '{' || text[end] == '[') {
          ++depth;
        } else if ((text[end] == '}' || text[end] == ']') && --depth == 0) {
          break;
        }
      }
      return text.substr(at, end + 1 - at);
    }
    return text.substr(at, text.find_first_of(",]} \n", at) - at);
  }
  // Returns the start of a value near a random position; npos if no value is near.
  static size_t FindValue(Random& random, std::string_view text) {
    const size_t before = text.find_first_of(":,[", random.Below(text.size()));
    if (before == std::string_view::npos) return before;
    return text.find_first_not_of(" \n", before + 1);
  }

  static void EditText(Random& random, std::string& text) {
    if (text.empty()) return;
    if (random.OneIn(6)) {
      mutate::FlipBits(random, text);
      return;
    }
    const size_t at = FindValue(random, text);
    if (at == std::string::npos || at >= text.size()) return;
    const size_t size = ValueAt(text, at).size();
    const size_t other = FindValue(random, text);
    std::string_view donor = "null";
    if (other < text.size()) donor = ValueAt(text, other);
    constexpr std::string_view kValues[] = {
        "null", "true", "[]", "{}", "\"\"", "-1", "1e999", "0.5", "[[[[[[[[]]]]]]]]"};
    switch (random.Below(5)) {
      case 0:
        text.replace(at, size, absl::StrCat(static_cast<int64_t>(random.Interesting())));
        return;
      case 1:
        text.replace(at, size, std::string(kValues[random.Below(std::size(kValues))]));
        return;
      case 2:  // without the comma
        text.erase(at, std::min(size + 1, text.size() - at));
        return;
      case 3:
        text.insert(at, absl::StrCat(std::string(donor.substr(0, 10'000)), ","));
        return;
      default:
        text.replace(at, size, std::string(donor.substr(0, 10'000)));
    }
  }

  std::vector<exir::ZipWriterEntry> entries_;
  std::vector<size_t> texts_;
  std::unique_ptr<mutate::Mutator> bytes_;
};

TEST_P(MutationTest, ArchiveIsRejectedOrImports) {
  ASSERT_OK_AND_ASSIGN(const ArchiveMutator mutator,
                       ArchiveMutator::Create(ArchivePath(GetParam())));
  ASSERT_OK_AND_ASSIGN(const auto target, CreateArchiveTarget());
  TryAll(*target, Share(Setting("BELAY_ARCHIVE_MUTATIONS", 100)),
         [&](uint64_t i) { return mutator.Mutate(TestSeed(), i); });
}

INSTANTIATE_TEST_SUITE_P(Zoo, MutationTest, ::testing::ValuesIn(kModels), [](const auto& info) {
  return absl::StrCat(std::string(info.param.name), info.param.backend.empty() ? "" : "_",
                      std::string(info.param.backend));
});

}  // namespace
}  // namespace belay::tools
