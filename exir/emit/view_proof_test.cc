// View proofs of hand-written calls with hand-written locations.
#include "exir/emit/view_proof.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/dtype.h"

namespace belay::exir {
namespace {

struct Place {
  std::vector<int64_t> sizes;
  uint64_t offset = 0;
  std::string order = {};  // dimension order as digits; row-major if empty
  DType dtype = DType::kFloat32;
  int constant = -1;  // constant index; -1: in the arena
  bool dynamic = false;
  bool external = false;  // memory of the caller
};

class Method {
 public:
  uint32_t Tensor(const Place& place) {
    schema::Tensor* t = method_.add_values()->mutable_tensor();
    t->set_dtype(static_cast<uint32_t>(place.dtype));
    for (size_t d = 0; d < place.sizes.size(); ++d) {
      t->add_sizes(place.sizes[d]);
      t->mutable_dim_order()->push_back(
          static_cast<char>(place.order.empty() ? d : place.order[d] - '0'));
    }
    t->set_dynamic_dims(place.dynamic ? 1 : 0);
    if (place.constant >= 0) {
      t->set_constant(static_cast<uint32_t>(place.constant));
    } else if (place.external) {
      t->mutable_external();
    } else {
      t->set_arena_offset(place.offset);
    }
    return Last();
  }
  uint32_t Int(int64_t value) {
    method_.add_values()->set_int_(value);
    return Last();
  }
  uint32_t None() {
    method_.add_values()->mutable_none();
    return Last();
  }
  uint32_t Double() {
    method_.add_values()->set_double_(1);
    return Last();
  }
  uint32_t List(const std::vector<uint32_t>& elements) {
    schema::List* list = method_.add_values()->mutable_list();
    for (const uint32_t element : elements) list->add_elements(element);
    return Last();
  }
  uint32_t Ints(const std::vector<int64_t>& values) {
    std::vector<uint32_t> elements;
    for (const int64_t value : values) elements.push_back(Int(value));
    return List(elements);
  }
  uint32_t Tensors(const std::vector<Place>& places) {
    std::vector<uint32_t> elements;
    for (const Place& place : places) elements.push_back(Tensor(place));
    return List(elements);
  }
  std::string Prove(std::string_view op, const std::vector<uint32_t>& arguments,
                    const std::vector<uint32_t>& outputs) const {
    return ProveBytesAreInPlace(method_, op, Call(arguments, outputs));
  }
  std::string ProveKept(std::string_view op, uint32_t from, uint32_t to) const {
    return ProveKeptViewIsInPlace(method_, op, Call({from}, {to}));
  }

 private:
  uint32_t Last() const { return static_cast<uint32_t>(method_.values_size() - 1); }
  static schema::KernelCall Call(const std::vector<uint32_t>& arguments,
                                 const std::vector<uint32_t>& outputs) {
    schema::KernelCall call;
    for (const uint32_t v : arguments) call.add_arguments(v);
    for (const uint32_t v : outputs) call.add_outputs(v);
    return call;
  }

  schema::Method method_;
};

constexpr std::string_view kUnknown = "its tensors are not static, or not in known memory";

// An operator of one tensor and integers, with the argument at 0 and the result at its offset.
struct Case {
  std::string_view op;
  Place from, to;
  std::vector<int64_t> ints;
  std::string want;
};

void ExpectAll(const std::vector<Case>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    Method m;
    std::vector<uint32_t> arguments = {m.Tensor(c.from)};
    for (const int64_t value : c.ints) arguments.push_back(m.Int(value));
    const uint32_t to = m.Tensor(c.to);
    EXPECT_EQ(m.Prove(c.op, arguments, {to}), c.want) << c.op << ", case " << i;
  }
}

TEST(ViewProofTest, CopiesPreserveElementAddresses) {
  constexpr std::string_view kCopy = "aten.clone.default";
  ExpectAll({
      {kCopy, {{2, 3}}, {{2, 3}}, {}, ""},
      {kCopy, {{2, 3}, 64}, {{2, 3}, 64}, {}, ""},
      {kCopy, {{2, 3}}, {{2, 3}, 64}, {}, "element 0 would have to move"},
      {kCopy, {{2, 3}}, {{2, 3}, 0, "10"}, {}, "element 1 would have to move"},
      {kCopy, {{2, 3}, 0, "10"}, {{2, 3}, 0, "10"}, {}, ""},
      {kCopy, {{2, 3}}, {{3, 3}}, {}, "element 6 has no source"},
      {kCopy, {{6}}, {{1, 6}}, {}, "element 0 has no source"},
      {kCopy, {{6}}, {{6}, 0, "", DType::kInt32}, {}, "its dtypes differ"},
      {kCopy, {{6}}, {{6}, 0, "", DType::kFloat64}, {}, "its dtypes differ"},
      {kCopy,
       {{6}},
       {.sizes = {6}, .constant = 0},
       {},
       "its argument and its result are in different memory"},
      {kCopy,
       {.sizes = {6}, .constant = 1},
       {.sizes = {6}, .constant = 0},
       {},
       "its argument and its result are in different memory"},
      {kCopy, {.sizes = {6}, .constant = 1}, {.sizes = {6}, .constant = 1}, {}, ""},
      {kCopy, {{6}}, {.sizes = {6}, .dynamic = true}, {}, std::string(kUnknown)},
      {kCopy,
       {.sizes = {6}, .dynamic = true},
       {{6}},
       {},
       "its argument is not static, or not in known memory"},
      {kCopy,
       {.sizes = {6}, .external = true},
       {{6}},
       {},
       "its argument is not static, or not in known memory"},
      {kCopy, {{6}}, {.sizes = {6}, .external = true}, {}, std::string(kUnknown)},
      {"aten.relu.default", {{6}}, {{6}}, {}, "'aten.relu.default' computes something"},
  });
}

TEST(ViewProofTest, ReshapesPreserveRowMajorIndex) {
  constexpr std::string_view kView = "aten.view_copy.default";
  ExpectAll({
      {kView, {{4, 6}}, {{3, 8}}, {}, ""},
      {kView, {{4, 6}}, {{3, 9}}, {}, "its argument and its result differ in elements"},
      {kView, {{4, 6}, 0, "10"}, {{24}}, {}, "element 1 would have to move"},
      {"aten.unsqueeze_copy.default", {{4, 6}, 0, "10"}, {{4, 1, 6}, 0, "210"}, {0}, ""},
  });
}

TEST(ViewProofTest, ExpandCannotRepeatInPlace) {
  constexpr std::string_view kExpand = "aten.expand_copy.default";
  ExpectAll({
      {kExpand, {{6}}, {{1, 6}}, {}, ""},
      {kExpand, {{1, 6}}, {{1, 6}}, {}, ""},
      {kExpand, {{1, 6}}, {{2, 6}}, {}, "element 6 would have to move"},
      {kExpand, {{3, 6}}, {{6}}, {}, "element 0 has no source"},
  });
}

TEST(ViewProofTest, PermutationsRequirePermutedDimOrder) {
  ExpectAll({
      {"aten.transpose_copy.int", {{2, 3}}, {{3, 2}, 0, "10"}, {0, -1}, ""},
      {"aten.transpose_copy.int", {{2, 3}}, {{3, 2}}, {0, 1}, "element 1 would have to move"},
      {"aten.transpose_copy.int",
       {{2, 3}},
       {{3, 2}, 0, "10"},
       {0, 2},
       "its dimensions are unknown"},
      {"aten.transpose_copy.int",
       {{2, 3}},
       {{3, 2}, 0, "10"},
       {-3, 1},
       "its dimensions are unknown"},
      {"aten.t_copy.default", {{2, 3}}, {{3, 2}, 0, "10"}, {}, ""},
      {"aten.t_copy.default", {{2, 3}}, {{3, 2}}, {}, "element 1 would have to move"},
      {"aten.t_copy.default", {{2, 3}}, {{2, 3}}, {}, "element 1 would have to move"},
      {"aten.t_copy.default", {{6}}, {{6}}, {}, ""},
      {"aten.t_copy.default", {{2, 3}}, {{3, 2, 1}, 0, "102"}, {}, "element 0 has no source"},
      {"aten.t_copy.default", {{2, 3}}, {{6}}, {}, "element 0 has no source"},
      {"aten.permute_copy.default", {{2, 3}}, {{3, 2}, 0, "10"}, {}, "its dimensions are unknown"},
      {"aten.permute_copy.default", {{2, 3}}, {{3, 2}, 0, "10"}, {1}, "its dimensions are unknown"},
  });
  const auto permute = [](std::vector<int64_t> dims) {
    Method m;
    const uint32_t from = m.Tensor({{2, 3, 4}}), to = m.Tensor({{4, 2, 3}, 0, "120"});
    return m.Prove("aten.permute_copy.default", {from, m.Ints(dims)}, {to});
  };
  EXPECT_EQ(permute({2, 0, 1}), "");
  EXPECT_EQ(permute({-1, 0, -2}), "");
  EXPECT_EQ(permute({0, 1, 2}), "element 1 would have to move");
  for (const std::vector<int64_t>& wrong :
       std::vector<std::vector<int64_t>>{{2, 0}, {2, 0, 1, 1}, {2, 0, 0}, {3, 0, 1}, {2, -4, 1}}) {
    EXPECT_EQ(permute(wrong), "its dimensions are unknown");
  }
  Method m;
  const uint32_t from = m.Tensor({{6}}), to = m.Tensor({{6}});
  EXPECT_EQ(m.Prove("aten.permute_copy.default", {from, m.List({m.Double()})}, {to}),
            "its dimensions are unknown");
}

TEST(ViewProofTest, SlicesStartAtTheirOffset) {
  constexpr std::string_view kSlice = "aten.slice_copy.Tensor", kSelect = "aten.select_copy.int",
                             kNarrow = "aten.narrow_copy.default";
  const std::string moves = "element 0 would have to move";
  ExpectAll({
      {kSlice, {{4, 16}}, {{2, 16}, 64}, {0, 1, 3, 1}, ""},
      {kSlice, {{4, 16}}, {{2, 16}, 128}, {-2, -2, 9, 1}, ""},
      {kSlice, {{4, 16}}, {{2, 16}, 64}, {0, 0, 2, 1}, moves},
      {kSlice, {{4, 16}}, {{2, 16}, 64}, {0, 1, 4, 2}, "its step is not 1"},
      {kSlice, {{4, 16}}, {{2, 16}, 64}, {0, 1, 3}, "its step is not 1"},
      {kSlice, {{4, 16}}, {{4, 8}}, {1, 0, 8, 1}, "element 8 would have to move"},
      {kSlice, {{4, 16}}, {{2, 16}, 64}, {2, 1, 3, 1}, "its dimension is unknown"},
      {kSlice, {{4, 16}}, {{2, 16}, 64}, {-3, 1, 3, 1}, "its dimension is unknown"},
      {kSlice, {{4, 16}}, {{2, 16}, 64}, {0}, "its dimension is unknown"},
      {kSlice, {{4, 16}}, {{2, 16}, 192}, {0, 3, 5, 1}, "element 16 has no source"},
      {kSelect, {{4, 16}}, {{16}, 192}, {0, -1}, ""},
      {kSelect, {{4, 16}}, {{16}, 64}, {0, -1}, moves},
      {kSelect, {{4, 16}}, {{4}}, {1, 0}, "element 1 would have to move"},
      {kSelect, {{4, 16}}, {{1, 16}, 64}, {0, 1}, "element 0 has no source"},
      {kNarrow, {{4, 16}}, {{3, 16}, 64}, {0, 1, 3}, ""},
      {kNarrow, {{4, 16}}, {{3, 16}}, {0, 1, 3}, moves},
      {kNarrow, {{4, 16}}, {{3, 16}}, {0, -9, 3}, "element 0 has no source"},
      {kSlice, {{4, 16}}, {{4}}, {1, 0, 1, 1}, "element 0 has no source"},  // lower rank
  });
  Method m;
  const uint32_t from = m.Tensor({{4, 16}}), to = m.Tensor({{2, 16}}), none = m.None(),
                 zero = m.Int(0), one = m.Int(1), two = m.Int(2);
  EXPECT_EQ(m.Prove(kSlice, {from, zero, none, two, one}, {to}), "");  // from the beginning
  EXPECT_EQ(m.Prove(kSlice, {from, zero, m.Double(), two, one}, {to}), "its start is unknown");
  EXPECT_EQ(m.Prove(kNarrow, {from, zero, none, two}, {to}), "its start is unknown");
  EXPECT_EQ(m.Prove(kNarrow, {from, none, one, two}, {to}), "its dimension is unknown");
}

TEST(ViewProofTest, SplitsAreConsecutive) {
  constexpr std::string_view kSplit = "aten.split_with_sizes_copy.default",
                             kUnbind = "aten.unbind_copy.int";
  const auto split = [&](const std::vector<Place>& pieces, int64_t dim = 0) {
    Method m;
    const uint32_t from = m.Tensor({{4, 16}});
    return m.Prove(kSplit, {from, m.Ints({3, 1}), m.Int(dim)}, {m.Tensors(pieces)});
  };
  EXPECT_EQ(split({{{3, 16}}, {{1, 16}, 192}}), "");
  EXPECT_EQ(split({{{3, 16}}, {{1, 16}, 192}}, 2), "its dimension is unknown");
  EXPECT_EQ(split({{{1, 16}, 192}, {{3, 16}}}), "element 0 would have to move");
  EXPECT_EQ(split({{{3, 16}}}), "its pieces are not the whole");
  EXPECT_EQ(split({{{3, 16}}, {{16}, 192}}), "a piece is not static, or not in known memory");
  EXPECT_EQ(split({{{3, 16}}, {.sizes = {1, 16}, .offset = 192, .dynamic = true}}),
            "a piece is not static, or not in known memory");
  const auto unbind = [&](const std::vector<Place>& pieces) {
    Method m;
    const uint32_t from = m.Tensor({{3, 16}});
    return m.Prove(kUnbind, {from, m.Int(0)}, {m.Tensors(pieces)});
  };
  EXPECT_EQ(unbind({{{16}}, {{16}, 64}, {{16}, 128}}), "");
  EXPECT_EQ(unbind({{{16}}, {{16}, 64}}), "its pieces are not the whole");
  EXPECT_EQ(unbind({{{16}}, {{16}, 128}, {{16}, 64}}), "element 0 would have to move");
  Method m;
  const uint32_t from = m.Tensor({{1, 16}}), to = m.Tensor({{16}});
  EXPECT_EQ(m.Prove(kUnbind, {from, m.Int(0)}, {to}), "its dimension is unknown");  // not a list
  EXPECT_EQ(m.Prove(kUnbind, {from}, {m.List({to})}), "its dimension is unknown");
}

TEST(ViewProofTest, ConcatenationOperandsAreConsecutive) {
  const auto join = [](const std::vector<Place>& pieces, const Place& whole, int64_t dim = 0) {
    Method m;
    const uint32_t list = m.Tensors(pieces);
    return m.Prove("aten.cat.default", {list, m.Int(dim)}, {m.Tensor(whole)});
  };
  EXPECT_EQ(join({{{2, 16}}, {{3, 16}, 128}}, {{5, 16}}), "");
  EXPECT_EQ(join({{{2, 16}}, {{3, 16}, 192}}, {{5, 16}}), "element 0 would have to move");
  EXPECT_EQ(join({{{2, 16}}}, {{5, 16}}), "its operands are not the whole");
  EXPECT_EQ(join({{{2, 8}}, {{3, 16}, 128}}, {{5, 16}}), "element 8 would have to move");
  // The elements of one row are in place, but some elements of the whole have no source.
  EXPECT_EQ(join({{{1, 8}}}, {{1, 16}}), "its operands are not the whole");
  EXPECT_EQ(join({{{2, 16}}, {{3, 16}, 128}}, {{5, 16}}, 2), "its dimension is unknown");
  EXPECT_EQ(join({{{2, 16}}, {{48}, 128}}, {{5, 16}}),
            "an operand is not static, or not in known memory");
  EXPECT_EQ(join({{{2, 16}}, {.sizes = {3, 16}, .offset = 128, .dynamic = true}}, {{5, 16}}),
            "an operand is not static, or not in known memory");
  EXPECT_EQ(join({{{2, 16}}}, {.sizes = {2, 16}, .dynamic = true}), "its operands are unknown");
  Method m;
  const uint32_t x = m.Tensor({{2, 16}}), y = m.Tensor({{2, 16}});
  EXPECT_EQ(m.Prove("aten.cat.default", {x, m.Int(0)}, {y}), "its operands are unknown");
}

TEST(ViewProofTest, ReinterpretedBytesStayInPlace) {
  constexpr std::string_view kAs = "aten.view_copy.dtype", kReal = "aten.view_as_real_copy.default";
  const Place ints = {{6}, 0, "", DType::kInt32};
  ExpectAll({
      {kAs, {{6}}, ints, {}, ""},
      {kAs, {{6}}, {{6}, 64, "", DType::kInt32}, {}, "element 0 would have to move"},
      {kAs, {{2, 3}, 0, "10"}, {{2, 3}, 0, "", DType::kInt32}, {}, "element 1 would have to move"},
      {kAs, {{2, 3}}, {{2, 3}, 0, "10", DType::kInt32}, {}, "element 1 would have to move"},
      {kAs, {{6}}, {{6}, 0, "", DType::kInt64}, {}, "its size in bytes differs"},
      {kAs,
       {{6}},
       {{6}, 0, "", DType::kInt32, 0},
       {},
       "its argument and its result are in different memory"},
      {kAs,
       {{6}},
       {{6}, 0, "", DType::kInt32, -1, true},
       {},
       "its argument and its result are in different memory"},
      {kReal, {{3}, 0, "", DType::kComplex64}, {{3, 2}}, {}, ""},
      {"aten.view_as_complex_copy.default", {{3, 2}}, {{3}, 0, "", DType::kComplex64}, {}, ""},
  });
}

// For large tensors, the corners, the steps and samples are checked.
TEST(ViewProofTest, ChecksLargeTensorsOfDifferentOrder) {
  ExpectAll({
      {"aten.clone.default", {{80, 80}}, {{80, 80}}, {}, ""},
      {"aten.clone.default", {{80, 80}}, {{80, 80}, 0, "10"}, {}, "element 1 would have to move"},
      {"aten.view_copy.default", {{80, 80}}, {{6400}}, {}, ""},
      {"aten.narrow_copy.default", {{80, 80}}, {{79, 80}, 320}, {0, 1, 79}, ""},
      {"aten.narrow_copy.default",
       {{80, 80}},
       {{79, 80}},
       {0, 1, 79},
       "element 0 would have to move"},
  });
}

TEST(ViewProofTest, RejectsCallsThatAreNotViews) {
  Method m;
  const uint32_t x = m.Tensor({{6}}), y = m.Tensor({{6}}), three = m.Int(3);
  const std::string_view clone = "aten.clone.default";
  EXPECT_EQ(m.Prove(clone, {}, {y}), "it is not a view");
  EXPECT_EQ(m.Prove(clone, {x}, {}), "it is not a view");
  EXPECT_EQ(m.Prove(clone, {x}, {y, y}), "it is not a view");
  EXPECT_EQ(m.Prove(clone, {three}, {y}), "its argument is not static, or not in known memory");
  EXPECT_EQ(m.Prove(clone, {x}, {three}), kUnknown);
}

// The proof must hold for all values of dynamic sizes.
TEST(ViewProofTest, KeptViewsPreserveStartDTypeAndOrder) {
  const auto kept = [](std::string_view op, const Place& from, const Place& to) {
    Method m;
    const uint32_t a = m.Tensor(from), b = m.Tensor(to);
    return m.ProveKept(op, a, b);
  };
  constexpr std::string_view kClone = "dim_order_ops._clone_dim_order.default",
                             kView = "aten.view_copy.default";
  EXPECT_EQ(kept(kClone, {{2, 3}}, {{2, 3}}), "");
  EXPECT_EQ(kept(kClone, {{2, 3}, 0, "10"}, {{2, 3}, 0, "10"}), "");
  EXPECT_EQ(kept(kClone, {{2, 3}, 0, "10"}, {{2, 3}}), "its orders differ");
  EXPECT_EQ(kept(kClone, {{2, 3}}, {{2, 3}, 64}), "it starts elsewhere");
  EXPECT_EQ(kept(kClone, {{6}}, {{6}, 0, "", DType::kInt32}), "its dtypes differ");
  EXPECT_EQ(kept(kView, {{2, 3}}, {{6}}), "");
  EXPECT_EQ(kept(kView, {{2, 3}, 0, "10"}, {{6}}), "it is not row-major");
  EXPECT_EQ(kept(kView, {{6}}, {{2, 3}, 0, "10"}), "it is not row-major");
  EXPECT_EQ(kept("aten.relu.default", {{6}}, {{6}}), "'aten.relu.default' computes something");
}

}  // namespace
}  // namespace belay::exir
