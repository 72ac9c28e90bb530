#include "exir/ir/content_key.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

Storage Bytes(size_t size, int first, int last = 0) {
  std::vector<std::byte> bytes(size);
  if (size != 0) bytes.front() = static_cast<std::byte>(first);
  if (size != 0) bytes.back() = static_cast<std::byte>(last);
  return Storage::Own(std::move(bytes));
}

TEST(ContentKey, EqualsIfBytesAreEqual) {
  const Storage a = Bytes(5000, 1), same = Bytes(5000, 1), longer = Bytes(5001, 1);
  const Storage late = Bytes(5000, 1, 2), none = Bytes(0, 0);
  EXPECT_EQ(ContentKey(a), ContentKey(a));
  EXPECT_EQ(ContentKey(a), ContentKey(same));
  EXPECT_FALSE(ContentKey(a) == ContentKey(longer));
  EXPECT_FALSE(ContentKey(a) == ContentKey(late));
  EXPECT_FALSE(ContentKey(a) == ContentKey(none));
  EXPECT_EQ(ContentKey(none), ContentKey(Storage()));
  EXPECT_EQ(ContentKey(longer).size(), 5001u);
}

TEST(ContentKey, DistinguishesPartsOfLargeBytes) {
  constexpr size_t kSize = (size_t{4} << 20) + 10;
  const Storage a = Bytes(kSize, 1, 1), same = Bytes(kSize, 1, 1), late = Bytes(kSize, 1, 2);
  EXPECT_EQ(ContentKey(a), ContentKey(same));
  EXPECT_FALSE(ContentKey(a) == ContentKey(late));
}

TEST(ContentKey, FindsInsertedKeys) {
  std::vector<Storage> storages;
  for (int i = 0; i < 100; ++i) storages.push_back(Bytes(3000, i / 10, i % 10));
  absl::flat_hash_map<ContentKey, int> index;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(index.try_emplace(ContentKey(storages[i]), i).second);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(index.at(ContentKey(Bytes(3000, i / 10, i % 10))), i);
}

}  // namespace
}  // namespace belay::exir
