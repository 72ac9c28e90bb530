// Storage sharing: a method in, the storage of each value out.
#include "exir/emit/storage_sharing.h"

#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/emit/testing/text_method.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

// Prints "value=storage" or "value=storage+offset" for each tensor that shares a storage, ordered
// by name, and "value=constant 7" for views of constants. The elided instructions follow.
std::string Print(const TextMethod& text, const StorageSharing& sharing) {
  std::string result;
  for (const auto& [name, value] : text.values) {
    const std::string separator = result.empty() ? "" : " ";
    if (const std::optional<uint32_t> constant = sharing.constants()[value]) {
      absl::StrAppend(&result, separator, name, "=constant ", *constant);
      continue;
    }
    const std::optional<StorageSharing::Place> place = sharing.PlaceOf(value);
    if (!place.has_value() || place->storage == value) continue;
    for (const auto& [other, storage] : text.values) {
      if (storage == place->storage) absl::StrAppend(&result, separator, name, "=", other);
    }
    if (place->offset != 0) absl::StrAppend(&result, "+", place->offset);
  }
  for (size_t i = 0; i < sharing.elided().size(); ++i) {
    if (sharing.elided()[i]) absl::StrAppend(&result, result.empty() ? "-" : " -", i);
  }
  return result;
}

std::string SharedViews(std::string_view method, const SharingOptions& options = {}) {
  const TextMethod text(method);
  StorageSharing sharing(text.written.method, text.written.operators);
  sharing.ShareViews(options);
  return Print(text, sharing);
}

// Sharing of elementwise results only, in the original order.
std::string SharedOperands(std::string_view method, bool views = false) {
  const TextMethod text(method);
  StorageSharing sharing(text.written.method, text.written.operators);
  if (views) sharing.ShareViews({});
  std::vector<uint32_t> order(text.written.method.instructions_size());
  std::iota(order.begin(), order.end(), 0);
  sharing.ShareDyingOperands(order, text.written.shapes);
  return Print(text, sharing);
}

struct Case {
  const char* method;
  const char* expected;
};

TEST(StorageSharingTest, ViewsShareSourceStorage) {
  const Case cases[] = {
      {R"(%x: f32[4,16] = test.make.default()
          %v: f32[64] = aten.view_copy.default(%x, [64])
          %w: f32[32] = aten.slice_copy.Tensor(%v, 0, 16, 48, 1))",
       "v=x w=x+64 -1 -2"},
      {R"(%x: f32[4,16] = test.make.default()
          [%v: f32[3,16], %w: f32[1,16]] = aten.split_copy.Tensor(%x, 3, 0))",
       "v=x w=x+192 -1"},
      // Misaligned slices.
      {R"(%x: f32[4,8] = test.make.default()
          [%v: f32[3,8], %w: f32[1,8]] = aten.split_copy.Tensor(%x, 3, 0))",
       ""},
      // Memory of the caller, and state.
      {R"(input %x: f32[4,16]
          %v: f32[64] = aten.view_copy.default(%x, [64]))",
       ""},
      {R"(state %x: f32[4,16]
          %v: f32[64] = aten.view_copy.default(%x, [64]))",
       ""},
      {R"(input %v: f32[64]
          %x: f32[4,16] = test.make.default()
          %v = aten.view_copy.default(%x, [64]))",
       ""},
      // One of the values has several writers.
      {R"(%x: f32[4,16] = test.make.default()
          %v: f32[64] = aten.view_copy.default(%x, [64])
          %v = test.make.default())",
       ""},
      {R"(%x: f32[4,16] = test.make.default()
          %v: f32[64] = aten.view_copy.default(%x, [64])
          %x = test.make.default())",
       ""},
      {R"(%x: f32[64] = aten.view_copy.default(%x, [64]))", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.method);
    EXPECT_EQ(SharedViews(c.method), c.expected);
  }
}

TEST(StorageSharingTest, SmallSlicesShareOnlyIfAllowed) {
  constexpr std::string_view kQuarter = R"(%x: f32[4,16] = test.make.default()
      %v: f32[1,16] = aten.slice_copy.Tensor(%x, 0, 1, 2, 1))";
  EXPECT_EQ(SharedViews(kQuarter, {.slices = true}), "v=x+64 -1");
  EXPECT_EQ(SharedViews(kQuarter, {.slices = false}), "");
  // Sizes of all pieces are added; half is not small.
  EXPECT_EQ(SharedViews(R"(%x: f32[4,16] = test.make.default()
      [%v: f32[2,16], %w: f32[2,16]] = aten.split_copy.Tensor(%x, 2, 0))",
                        {.slices = false}),
            "v=x w=x+128 -1");
  EXPECT_EQ(SharedViews(R"(%x: f32[4,16] = test.make.default()
      %v: f32[2,16] = aten.slice_copy.Tensor(%x, 0, 1, 3, 1))",
                        {.slices = false}),
            "v=x+64 -1");
}

TEST(StorageSharingTest, FullViewOfConstantIsTheConstant) {
  const Case cases[] = {
      {R"(constant 7 %c: f32[4,16]
          %v: f32[64] = aten.view_copy.default(%c, [64])
          %w: f32[1,64] = aten.unsqueeze_copy.default(%v, 0))",
       "v=constant 7 w=constant 7 -0 -1"},
      // A slice would need another constant.
      {R"(constant 7 %c: f32[4,16]
          %v: f32[2,16] = aten.slice_copy.Tensor(%c, 0, 0, 2, 1))",
       ""},
      {R"(constant 7 %c: f32[4,16]
          [%v: f32[2,16], %w: f32[2,16]] = aten.split_copy.Tensor(%c, 2, 0))",
       ""},
      {R"(constant 7 %c: f32[4,16]
          %v: f32[64] = aten.view_copy.default(%c, [64])
          %w: f32[16] = aten.slice_copy.Tensor(%v, 0, 0, 16, 1))",
       "v=constant 7 -0"},
      {R"(constant 7 %c: f32[4,16]
          %v: f32[64] = aten.view_copy.default(%c, [64])
          [%w: f32[32], %u: f32[32]] = aten.split_copy.Tensor(%v, 32, 0))",
       "v=constant 7 -0"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.method);
    EXPECT_EQ(SharedViews(c.method), c.expected);
  }
}

TEST(StorageSharingTest, ConcatenationOperandsShareResultStorage) {
  const Case cases[] = {
      {R"(%x: f32[2,16] = test.make.default()
          %y: f32[3,16] = test.make.default()
          %z: f32[5,16] = aten.cat.default([%x, %y], 0))",
       "x=z y=z+128 -2"},
      {R"(%x: f32[2,8] = test.make.default()
          %y: f32[1,8] = test.make.default()
          %w: f32[1,8] = test.make.default()
          %z: f32[4,8] = aten.cat.default([%y, %x, %w], 0))",
       ""},  // 32 bytes are not a multiple of the alignment
      // An operand that is a slice of another tensor, at offset 0 and at a later offset.
      {R"(%x: f32[4,16] = test.make.default()
          %v: f32[2,16] = aten.slice_copy.Tensor(%x, 0, 0, 2, 1)
          %z: f32[2,16] = aten.cat.default([%v], 0))",
       "v=x -1"},
      {R"(%x: f32[4,16] = test.make.default()
          %v: f32[2,16] = aten.slice_copy.Tensor(%x, 0, 2, 4, 1)
          %z: f32[2,16] = aten.cat.default([%v], 0))",
       "v=x+128 -1"},
      {R"(%x: f32[2,16] = test.make.default()
          %z: f32[4,16] = aten.cat.default([%x, %x], 0))",
       ""},
      {R"(%z: f32[2,16] = aten.cat.default([%z], 0))", ""},
      {R"(constant 0 %x: f32[2,16]
          %z: f32[2,16] = aten.cat.default([%x], 0))",
       ""},
      {R"(input %z: f32[2,16]
          %x: f32[2,16] = test.make.default()
          %z = aten.cat.default([%x], 0))",
       ""},
      {R"(%x: f32[2,16] = test.make.default()
          %x = test.make.default()
          %z: f32[2,16] = aten.cat.default([%x], 0))",
       ""},
      {R"(%x: f32[2,16] = test.make.default()
          %z: f32[2,16] = test.make.default()
          %z = aten.cat.default([%x], 0))",
       ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.method);
    EXPECT_EQ(SharedViews(c.method), c.expected);
  }
  EXPECT_EQ(SharedViews(cases[0].method, {.joins = false}), "");
}

TEST(StorageSharingTest, DynamicViewsShareAndAreKept) {
  const Case cases[] = {
      {R"(%x: f32[?4,16]#1 = test.make.default()
          %v: f32[?64]#2 = aten.view_copy.default(%x, [-1]))",
       "v=x"},
      // One of them may be a result of the method, but not both.
      {R"(%x: f32[?4,16]#1 = test.make.default()
          %v: f32[?64]#2 = aten.view_copy.default(%x, [-1])
          return %v)",
       "v=x"},
      {R"(%x: f32[?4,16]#1 = test.make.default()
          %v: f32[?64]#2 = aten.view_copy.default(%x, [-1])
          return %x)",
       "v=x"},
      {R"(%x: f32[?4,16]#1 = test.make.default()
          %v: f32[?64]#2 = aten.view_copy.default(%x, [-1])
          return %x, %v)",
       ""},
      {R"(%x: f32[?64]#1 = aten.view_copy.default(%x, [-1]))", ""},
      {R"(input %x: f32[?4,16]#1
          %v: f32[?64]#2 = aten.view_copy.default(%x, [-1]))",
       ""},
      {R"(input %v: f32[?64]#2
          %x: f32[?4,16]#1 = test.make.default()
          %v = aten.view_copy.default(%x, [-1]))",
       ""},
      {R"(%x: f32[?4,16]#1 = test.make.default()
          %v: f32[?64]#2 = aten.view_copy.default(%x, [-1])
          %x = test.make.default())",
       ""},
      {R"(%x: f32[?4,16]#1 = test.make.default()
          %v: f32[?64]#2 = aten.view_copy.default(%x, [-1])
          %v = test.make.default())",
       ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.method);
    EXPECT_EQ(SharedViews(c.method), c.expected);
  }
}

TEST(StorageSharingTest, ElementwiseResultsReuseDyingOperand) {
  const Case cases[] = {
      {R"(%x: f32[16] = test.make.default()
          %y: f32[16] = aten.relu.default(%x))",
       "y=x"},
      // Another dtype, other sizes, another order.
      {R"(%x: f32[16] = test.make.default()
          %y: i32[16] = aten.relu.default(%x))",
       ""},
      {R"(%x: f32[16] = test.make.default()
          %y: f32[32] = aten.relu.default(%x))",
       ""},
      {R"(%x: f32[4,4] = test.make.default()
          %y: f32[4,4]{1,0} = aten.relu.default(%x))",
       ""},
      {R"(%x: f32[?16]#1 = test.make.default()
          %y: f32[16] = aten.relu.default(%x))",
       ""},
      // Later use.
      {R"(%x: f32[16] = test.make.default()
          %y: f32[16] = aten.relu.default(%x)
          = test.use.default(%x))",
       ""},
      {R"(input %x: f32[16]
          %y: f32[16] = aten.relu.default(%x))",
       ""},
      {R"(input %y: f32[16]
          %x: f32[16] = test.make.default()
          %y = aten.relu.default(%x))",
       ""},
      {R"(%x: f32[16] = test.make.default()
          %y: f32[16] = aten.relu.default(%x)
          %y = test.make.default())",
       ""},
      // Empty tensors; the value itself; an operator whose schema differs from its name's.
      {R"(%x: f32[0] = test.make.default()
          %y: f32[0] = aten.relu.default(%x))",
       ""},
      {R"(%y: f32[16] = aten.relu.default(%y))", ""},
      {R"(%x: f32[16] = test.make.default()
          %y: f32[16], %z: f32[16] = aten.relu.default(%x))",
       ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.method);
    EXPECT_EQ(SharedOperands(c.method), c.expected);
  }
}

TEST(StorageSharingTest, ElementwiseResultsReuseOnlyWholeStorages) {
  const Case cases[] = {
      // The operand is a slice, at offset 0 and at a later offset.
      {R"(%x: f32[4,16] = test.make.default()
          %v: f32[2,16] = aten.slice_copy.Tensor(%x, 0, 0, 2, 1)
          %y: f32[2,16] = aten.relu.default(%v))",
       "v=x -1"},
      {R"(%x: f32[4,16] = test.make.default()
          %v: f32[2,16] = aten.slice_copy.Tensor(%x, 0, 2, 4, 1)
          %y: f32[2,16] = aten.relu.default(%v))",
       "v=x+128 -1"},
      // The result is part of another storage.
      {R"(%x: f32[2,16] = test.make.default()
          %u: f32[2,16] = test.make.default()
          %y: f32[2,16] = aten.relu.default(%x)
          %z: f32[4,16] = aten.cat.default([%y, %u], 0))",
       "u=z+128 y=z -3"},
      {R"(%x: f32[2,16] = test.make.default()
          %u: f32[2,16] = test.make.default()
          %y: f32[2,16] = aten.relu.default(%x)
          %z: f32[4,16] = aten.cat.default([%u, %y], 0))",
       "u=z y=z+128 -3"},
      // The other operand is in the same storage: read in step, and out of step.
      {R"(%x: f32[2,16] = test.make.default()
          %v: f32[2,16] = aten.alias_copy.default(%x)
          %y: f32[2,16] = aten.add.Tensor(%x, %v, 1))",
       "v=x y=x -1"},
      {R"(%x: f32[2,16] = test.make.default()
          %v: f32[1,16] = aten.slice_copy.Tensor(%x, 0, 0, 1, 1)
          %y: f32[2,16] = aten.add.Tensor(%x, %v, 1))",
       "v=x -1"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.method);
    EXPECT_EQ(SharedOperands(c.method, /*views=*/true), c.expected);
  }
}

}  // namespace
}  // namespace belay::exir
