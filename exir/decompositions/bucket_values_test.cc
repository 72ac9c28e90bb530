#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(BucketValuesTest, SegmentsOfRows) {
  const Values x = F({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  ExpectValues("aten.segment_reduce.default(%a, \"sum\", lengths=%b)", {x, I({3}, {1, 0, 3})},
               {F({3, 2}, {1, 2, 0, 0, 15, 18})});
  ExpectValues("aten.segment_reduce.default(%a, \"max\", offsets=%b)", {x, I({3}, {0, 1, 4})},
               {F({2, 2}, {1, 2, 7, 8})});
}

TEST(BucketValuesTest, SegmentsAlongAnInnerDimension) {
  const Values x = F({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Values lengths = I({2, 2}, {1, 3, 4, 0}), offsets = I({2, 3}, {0, 1, 4, 0, 4, 4});
  ExpectValues("aten.segment_reduce.default(%a, \"sum\", lengths=%b, axis=1)", {x, lengths},
               {F({2, 2}, {1, 9, 26, 0})});
  ExpectValues("aten.segment_reduce.default(%a, \"sum\", offsets=%b, axis=1)", {x, offsets},
               {F({2, 2}, {1, 9, 26, 0})});
  ExpectValues("aten.segment_reduce.default(%a, \"sum\", lengths=%b, axis=-1)", {x, lengths},
               {F({2, 2}, {1, 9, 26, 0})});
  ExpectValues("aten.segment_reduce.default(%a, \"prod\", lengths=%b, axis=1)", {x, lengths},
               {F({2, 2}, {1, 24, 1680, 1})});
  ExpectValues("aten.segment_reduce.default(%a, \"max\", lengths=%b, axis=1)", {x, lengths},
               {F({2, 2}, {1, 4, 8, -kInf})});
  ExpectValues("aten.segment_reduce.default(%a, \"min\", lengths=%b, axis=1)", {x, lengths},
               {F({2, 2}, {1, 2, 5, kInf})});
  ExpectValues("aten.segment_reduce.default(%a, \"mean\", lengths=%b, axis=1, initial=2.0)",
               {x, lengths}, {F({2, 2}, {3, 11. / 3, 7, 2})});
}

TEST(BucketValuesTest, SegmentsAlongAMiddleDimensionKeepTheOthers) {
  const Values x = F({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  ExpectValues("aten.segment_reduce.default(%a, \"sum\", lengths=%b, axis=1)",
               {x, I({2, 2}, {1, 2, 2, 1})}, {F({2, 2, 2}, {1, 2, 8, 10, 16, 18, 11, 12})});
  // Rows after the last segment belong to none.
  ExpectValues("aten.segment_reduce.default(%a, \"mean\", lengths=%b, axis=1, unsafe=true)",
               {x, I({2, 1}, {2, 1})}, {F({2, 1, 2}, {2, 3, 7, 8})});
}

}  // namespace
}  // namespace belay::exir
