#include "exir/backend/named_data_store.h"

#include <string>
#include <vector>

#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/to_backend.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

absl::Status Add(NamedDataStore& store, std::string_view key, std::string_view text,
                 int64_t alignment = 1, std::string external = "") {
  NamedDataOptions options;
  options.alignment = alignment;
  options.external_tag = std::move(external);
  return store.Add(key, TextStorage(text), options);
}

// "key=buffer@alignment" of all entries.
std::string Show(const NamedDataStore& store) {
  std::string text;
  for (const auto& [key, entry] : store.output().program_data) {
    absl::StrAppend(&text, key, "=", TextOf(store.output().buffers[entry.buffer]), "@",
                    entry.alignment, " ");
  }
  for (const auto& [tag, entries] : store.output().external_data) {
    absl::StrAppend(&text, tag, "[ ");
    for (const auto& [key, entry] : entries) {
      absl::StrAppend(&text, key, "=", TextOf(store.output().buffers[entry.buffer]), " ");
    }
    text += "] ";
  }
  return text;
}

TEST(NamedDataStoreTest, EqualBytesShareABufferAndKeepTheirAlignments) {
  NamedDataStore store;
  EXPECT_TRUE(Add(store, "x", "ab", 4).ok());
  EXPECT_TRUE(Add(store, "y", "ab", 6).ok());
  EXPECT_TRUE(Add(store, "z", "ac").ok());
  EXPECT_EQ(Show(store), "x=ab@4 y=ab@6 z=ac@1 ");
  EXPECT_EQ(store.output().buffers.size(), 2);
}

TEST(NamedDataStoreTest, EmptyDataIsEqual) {
  NamedDataStore store;
  EXPECT_OK(Add(store, "x", ""));
  EXPECT_OK(Add(store, "y", ""));
  EXPECT_OK(Add(store, "x", ""));
  EXPECT_EQ(store.output().buffers.size(), 1u);
  EXPECT_THAT(Add(store, "x", "a"), StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST(NamedDataStoreTest, RejectsAlignmentsWithoutCommonMultiple) {
  NamedDataStore store;
  ASSERT_OK(Add(store, "x", "ab", INT64_MAX));
  for (const int64_t alignment : {int64_t{2}, INT64_MAX - 1}) {
    EXPECT_THAT(Add(store, "x", "ab", alignment),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("key x: no alignment is a multiple of ", INT64_MAX, " and ",
                                      alignment)));
  }
}

TEST(NamedDataStoreTest, AcceptsOnlyTheTensorsOwnLayout) {
  NamedDataStore store;
  ASSERT_OK_AND_ASSIGN(const ConstantTensor tensor,
                       ConstantTensor::Contiguous(DType::kUint8, {2, 3}, TextStorage("abcdef")));
  NamedDataOptions options;
  options.layout = NamedDataEntry::TensorLayout{DType::kUint8, {2, 3}, {0, 1}};
  EXPECT_OK(store.AddTensor("x", tensor, options));
  options.layout->dim_order = {1, 0};
  EXPECT_THAT(store.AddTensor("y", tensor, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the given layout is not that of the tensor")));
}

TEST(NamedDataStoreTest, DoesNotMergeEmptyFiles) {
  NamedDataStore from, store;
  ASSERT_OK(Add(from, "x", "ab"));
  NamedDataOutput output = from.output();
  output.external_data["empty"];
  EXPECT_OK(store.Merge(output));
  EXPECT_EQ(Show(store), "x=ab@1 ");
}

TEST(NamedDataStoreTest, RepeatedKeyKeepsBothAlignments) {
  NamedDataStore store;
  EXPECT_TRUE(Add(store, "x", "ab", 4).ok());
  EXPECT_TRUE(Add(store, "x", "ab", 6).ok());
  EXPECT_EQ(Show(store), "x=ab@12 ");
}

TEST(NamedDataStoreTest, RepeatedKeyAcceptsItsCombinedAlignment) {
  NamedDataStore store, merged;
  EXPECT_TRUE(Add(store, "x", "ab", int64_t{1} << 62).ok());
  // 3 * 2^62 does not fit int64_t.
  EXPECT_THAT(Add(store, "x", "ab", 3), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 HasSubstr("no alignment is a multiple")));
  EXPECT_EQ(Show(store), "x=ab@4611686018427387904 ");
  EXPECT_OK(merged.Merge(store.output()));
}

TEST(NamedDataStoreTest, RepeatedKeyWithOtherBytesFailsAndChangesNothing) {
  NamedDataStore store;
  EXPECT_TRUE(Add(store, "x", "ab").ok());
  EXPECT_TRUE(Add(store, "e", "ab", 1, "w").ok());
  const absl::Status status = Add(store, "x", "abc");
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::string(status.message()),
            "Duplicate key x with different data. Existing data size: 2 bytes. New data size: 3 "
            "bytes.");
  EXPECT_EQ(Add(store, "e", "no").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Add(store, "e", "ab").ok());
  EXPECT_EQ(Show(store), "x=ab@1 w[ e=ab ] ");
}

TEST(NamedDataStoreTest, AlignmentMustBePositive) {
  NamedDataStore store;
  for (int64_t alignment : {0, -1}) {
    const absl::Status status = Add(store, "x", "a", alignment);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("must be greater than 0, received ", alignment)));
  }
  EXPECT_EQ(store.output().buffers.size(), 0);
}

TEST(NamedDataStoreTest, RejectsKeysAndTagsInvalidInFiles) {
  NamedDataStore store;
  struct {
    std::string key, tag, message;
  } refused[] = {
      {"", "", "the key of named data is empty"},
      {"a\xff", "", "key a\\xff is not UTF-8"},
      {"a", "w\xc0\x80", "key a: external tag w\\xc0\\x80 is not UTF-8"},
  };
  for (const auto& c : refused) {
    EXPECT_THAT(Add(store, c.key, "1", 1, c.tag),
                StatusIs(absl::StatusCode::kInvalidArgument, c.message));
  }
  EXPECT_EQ(Show(store), "");
  EXPECT_OK(Add(store, "é", "1", 1, "ü"));
  EXPECT_EQ(Show(store), "ü[ é=1 ] ");
}

TEST(NamedDataStoreTest, EqualLengthAndPrefixIsNotEqualContent) {
  NamedDataStore store;
  const std::string zeros(32, '0');
  EXPECT_TRUE(Add(store, "x", zeros + "1").ok());
  EXPECT_TRUE(Add(store, "y", zeros + "2").ok());
  EXPECT_TRUE(Add(store, "z", zeros + "2").ok());
  EXPECT_EQ(store.output().buffers.size(), 2);
  EXPECT_EQ(store.output().program_data.at("z").buffer, 1);
}

TEST(NamedDataStoreTest, TensorsInRowMajorAndChannelsLastOrder) {
  NamedDataStore store;
  const Storage bytes = TextStorage(std::string(1 * 2 * 3 * 4 * 4, 'x'));
  const auto tensor = [&](Strides strides) {
    return *ConstantTensor::Create(DType::kFloat32, {1, 2, 3, 4}, strides, 0, bytes);
  };
  EXPECT_TRUE(store.AddTensor("row", tensor({24, 12, 4, 1})).ok());
  EXPECT_TRUE(store.AddTensor("last", tensor({24, 1, 8, 2})).ok());
  const auto& data = store.output().program_data;
  EXPECT_THAT(data.at("row").layout->dim_order, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(data.at("last").layout->dim_order, testing::ElementsAre(0, 2, 3, 1));
  EXPECT_EQ(store.output().buffers.size(), 1);
  EXPECT_EQ(store.AddTensor("odd", tensor({24, 12, 1, 3})).code(),
            absl::StatusCode::kInvalidArgument);
  NamedDataOptions options;
  options.layout = data.at("row").layout;
  EXPECT_EQ(store.AddTensor("wrong", tensor({24, 1, 8, 2}), options).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(NamedDataStoreTest, MergeSharesAppendsAndUnites) {
  NamedDataStore store, other;
  EXPECT_TRUE(Add(store, "x", "1").ok());
  EXPECT_TRUE(Add(store, "e", "5", 1, "w").ok());
  EXPECT_TRUE(Add(other, "y", "2", 16).ok());
  EXPECT_TRUE(Add(other, "z", "1").ok());
  EXPECT_TRUE(Add(other, "f", "6", 1, "w").ok());
  EXPECT_TRUE(store.Merge(other.output()).ok());
  EXPECT_EQ(Show(store), "x=1@1 y=2@16 z=1@1 w[ e=5 f=6 ] ");
  EXPECT_EQ(store.output().buffers.size(), 4);
  NamedDataStore conflict;
  EXPECT_TRUE(Add(conflict, "y", "3").ok());
  EXPECT_EQ(store.Merge(conflict.output()).code(), absl::StatusCode::kAlreadyExists);
}

TEST(NamedDataStoreTest, MergeKeepsInsertionOrder) {
  NamedDataStore store, merged;
  EXPECT_OK(Add(store, "z", "1"));
  EXPECT_OK(Add(store, "b", "2", 1, "second"));
  EXPECT_OK(Add(store, "m", "3"));
  EXPECT_OK(Add(store, "d", "4", 1, "first"));
  EXPECT_OK(Add(store, "a", "5", 1, "second"));
  EXPECT_OK(Add(store, "k", "1"));  // shares a buffer
  EXPECT_OK(merged.Merge(store.output()));
  std::string buffers;
  for (const Storage& buffer : merged.output().buffers) buffers += TextOf(buffer);
  // The program file's own entries first, then file by file.
  EXPECT_EQ(buffers, "13254");
  EXPECT_EQ(Show(merged), Show(store));
}

TEST(NamedDataStoreTest, MergeRejectsInvalidEntries) {
  NamedDataOutput output;
  output.program_data["k"] = {.buffer = 3};
  NamedDataStore store;
  EXPECT_THAT(store.Merge(output), StatusIs(absl::StatusCode::kInvalidArgument,
                                            ::testing::HasSubstr("names buffer 3 of 0")));
  output.buffers.resize(4);
  output.program_data["k"].alignment = uint64_t{1} << 63;
  EXPECT_THAT(store.Merge(output),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("has alignment 9223372036854775808")));
}

TEST(NamedDataStoreTest, MergeStopsAtTheFirstConflict) {
  NamedDataStore store, other;
  EXPECT_OK(Add(store, "m", "1"));
  EXPECT_OK(Add(other, "z", "2"));
  EXPECT_OK(Add(other, "m", "3"));
  EXPECT_OK(Add(other, "a", "4"));
  EXPECT_EQ(store.Merge(other.output()).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Show(store), "m=1@1 z=2@1 ");
}

TEST(NamedDataStoreTest, ExternalizeFillsFilesInKeyOrder) {
  NamedDataStore store;
  EXPECT_TRUE(Add(store, "c", "333333").ok());
  EXPECT_TRUE(Add(store, "a", "111111").ok());
  EXPECT_TRUE(Add(store, "b", "222222").ok());
  EXPECT_TRUE(Add(store, "old", "9", 1, "kept").ok());
  EXPECT_TRUE(store.Externalize(12, "w").ok());
  const std::string expected =
      "kept[ old=9 ] "
      "w_2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6[ c=333333 ] "
      "w_59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138[ a=111111 b=222222 ] ";
  EXPECT_EQ(Show(store), expected);
  EXPECT_TRUE(store.Externalize(12, "w").ok());
  EXPECT_EQ(Show(store), expected);
  // Keys are found in the file to which they moved.
  EXPECT_EQ(Add(store, "a", "other").code(), absl::StatusCode::kAlreadyExists);
}

TEST(NamedDataStoreTest, ExternalizeCountsASharedBufferOnce) {
  NamedDataStore store;
  EXPECT_TRUE(Add(store, "a", "111111").ok());
  EXPECT_TRUE(Add(store, "b", "111111").ok());
  EXPECT_TRUE(store.Externalize(6, "w").ok());
  EXPECT_EQ(store.output().external_data.size(), 1);
}

TEST(NamedDataStoreTest, ExternalizeRejectsBadArgumentsWithoutChanges) {
  NamedDataStore store;
  EXPECT_TRUE(Add(store, "a", "111111").ok());
  EXPECT_EQ(store.Externalize(0, "w").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store.Externalize(6, "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      store.Externalize(6, "w\xff"),
      StatusIs(absl::StatusCode::kInvalidArgument, "external data tag prefix w\\xff is not UTF-8"));
  const absl::Status status = store.Externalize(5, "w");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "buffer 0 has 6 bytes and exceeds external data shard cap 5");
  // SHA-256 of "a".
  EXPECT_TRUE(
      Add(store, "k", "k", 1, "w_ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb")
          .ok());
  EXPECT_EQ(store.Externalize(6, "w").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store.output().program_data.size(), 1);
}

TEST(NamedDataStoreTest, DelegatesOfAllGraphsAreMerged) {
  const FunctionBackend backend(
      "recorder",
      [](ExportedProgram program,
         absl::Span<const CompileSpec> specs) -> absl::StatusOr<PreprocessResult> {
        NamedDataStore store;
        for (NodeId node : program.top().nodes()) {
          const std::string& op = program.top().node(node).target->name();
          ABSL_RETURN_IF_ERROR(
              store.Add(op, TextStorage(specs.empty() ? op : program.top().node(node).name)));
        }
        return PreprocessResult{
            .processed = {}, .debug_handle_map = {}, .named_data = store.output()};
      });
  BackendSet backends;
  ASSERT_TRUE(backends.Add(&backend).ok());
  const ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %x)  tag="t"
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%a])
      return (%c user_output)
    }
    graph g1(%y: f32[2]) {
      %t: f32[2] = edge.aten.add.Tensor(%y, %y)  tag="t"
      return (%t)
    }
    graph g2(%y: f32[2]) {
      %f: f32[2] = edge.aten.sub.Tensor(%y, %y)  tag="t"
      return (%f)
    }
  })",
                                             TestOps());
  MethodPrograms methods;
  methods.emplace_back("forward", program.Clone());
  TextPartitioner partitioner;
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       ToBackend(methods, {{"forward", &partitioner}}, backends));
  ASSERT_OK_AND_ASSIGN(const NamedDataOutput data, CollectNamedData(lowered));
  EXPECT_EQ(data.buffers.size(), 2);
  EXPECT_EQ(data.program_data.size(), 2);
  // The same key with other bytes.
  partitioner.delegation = {{"t", {"recorder", {{"by", "name"}}}}};
  const absl::Status status = ToBackend(methods, {{"forward", &partitioner}}, backends).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("named data of backend recorder, method 'forward': Duplicate key "
                        "aten.add.Tensor with different data"));
}

TEST(NamedDataStoreTest, CollectsDataInCallOrder) {
  const auto preprocess = [](ExportedProgram program, auto) {
    NamedDataStore store;
    const std::string& op = program.top().node(program.top().first()).target->name();
    ABSL_CHECK(store.Add(op, TextStorage(op)).ok());
    return PreprocessResult{.processed = {}, .debug_handle_map = {}, .named_data = store.output()};
  };
  const FunctionBackend first("first", preprocess), second("second", preprocess);
  BackendSet backends;
  ASSERT_TRUE(backends.Add(&first).ok());
  ASSERT_TRUE(backends.Add(&second).ok());
  TextPartitioner partitioner;
  partitioner.delegation = {{"late", {"first", {}}}, {"early", {"second", {}}}};
  ASSERT_OK_AND_ASSIGN(ExportedProgram lowered, ToBackend(ParseOrDie(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      %a: f32[2] = edge.aten.add.Tensor(%c, %c)  tag="early"
      %b: f32[2] = edge.aten.sub.Tensor(%a, %x)  tag="late"
      return (%b user_output)
    }
    graph t(%y: f32[2]) {
      %t: f32[2] = edge.aten.relu.default(%y)  tag="late"
      return (%t)
    }
    graph f(%y: f32[2]) {
      %f: f32[2] = edge.aten.neg.default(%y)  tag="early"
      return (%f)
    }
  })",
                                                                     TestOps()),
                                                          partitioner, backends));
  ASSERT_EQ(TextOf(lowered.lowered_modules[ModuleId(0)]->named_data.buffers[0]), "aten.sub.Tensor");
  MethodPrograms methods;
  methods.emplace_back("forward", std::move(lowered));
  ASSERT_OK_AND_ASSIGN(const NamedDataOutput data, CollectNamedData(methods));
  ASSERT_EQ(data.buffers.size(), 4u);
  EXPECT_EQ(TextOf(data.buffers[0]), "aten.add.Tensor");
  EXPECT_EQ(TextOf(data.buffers[1]), "aten.sub.Tensor");
  EXPECT_EQ(TextOf(data.buffers[2]), "aten.relu.default");
  EXPECT_EQ(TextOf(data.buffers[3]), "aten.neg.default");
}

}  // namespace
}  // namespace belay::exir
