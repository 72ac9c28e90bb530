#include "exir/backend/transforms/event_handles.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Method "m": a kernel (handle 9), a delegate with int identifiers, one with strings, one without a
// map.
class EventHandlesTest : public ::testing::Test {
 protected:
  EventHandlesTest() {
    schema::Method* method = program_.add_methods();
    schema::MethodDebugInfo* info = debug_.add_methods();
    method->set_name("m");
    method->add_instructions()->mutable_kernel();
    AddHandles(info->add_instructions(), {9});
    info->mutable_instructions(0)->set_node("add");
    info->mutable_instructions(0)->set_source("m.py:3");
    for (uint32_t d = 0; d < 3; ++d) {
      method->add_delegates()->set_backend_id(std::string("backend") + char('0' + d));
      method->add_instructions()->mutable_delegate()->set_delegate(d);
      AddHandles(info->add_instructions(), {1, 2, 3});
      info->add_delegates();
    }
    for (int64_t id : {1, 11}) {
      auto* entry = info->mutable_delegates(0)->add_entries();
      entry->set_int_id(id);
      entry->add_debug_handles(100 + id);
    }
    for (const char* id : {"conv", "conv_1"}) {
      auto* entry = info->mutable_delegates(1)->add_entries();
      entry->set_string_id(id);
      entry->add_debug_handles(static_cast<int64_t>(std::string(id).size()));
    }
  }
  static void AddHandles(schema::InstructionDebugInfo* info, std::vector<int64_t> handles) {
    for (int64_t handle : handles) info->add_debug_handles(handle);
  }
  absl::StatusOr<EventHandles> Find(size_t instruction,
                                    std::optional<DelegateId> id = std::nullopt) {
    return HandlesOfEvent(program_, debug_, {"m", instruction, std::move(id)});
  }
  schema::Program program_;
  schema::DebugInfo debug_;
};

TEST_F(EventHandlesTest, InstructionsHaveTheirOwnHandles) {
  ASSERT_OK_AND_ASSIGN(const EventHandles kernel, Find(0));
  EXPECT_THAT(kernel.handles, ElementsAre(9));
  EXPECT_EQ(kernel.node, "add");
  EXPECT_EQ(kernel.source, "m.py:3");
  EXPECT_EQ(kernel.backend_id, "");
  ASSERT_OK_AND_ASSIGN(const EventHandles call, Find(1));
  EXPECT_THAT(call.handles, ElementsAre(1, 2, 3));
  EXPECT_EQ(call.backend_id, "backend0");
}

// Upstream finds "1" in "11".
TEST_F(EventHandlesTest, IdentifiersMatchExactly) {
  ASSERT_OK_AND_ASSIGN(const EventHandles one, Find(1, DelegateId(int64_t{1})));
  EXPECT_THAT(one.handles, ElementsAre(101));
  ASSERT_OK_AND_ASSIGN(const EventHandles eleven, Find(1, DelegateId(int64_t{11})));
  EXPECT_THAT(eleven.handles, ElementsAre(111));
  ASSERT_OK_AND_ASSIGN(const EventHandles text, Find(2, DelegateId(std::string("conv"))));
  EXPECT_THAT(text.handles, ElementsAre(4));
  EXPECT_THAT(Find(2, DelegateId(int64_t{4})),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no identifier 4")));
  for (const DelegateId& id : {DelegateId(int64_t{2}), DelegateId(std::string("1"))}) {
    EXPECT_THAT(Find(1, id), StatusIs(absl::StatusCode::kNotFound, HasSubstr("backend0")));
  }
  EXPECT_THAT(Find(2, DelegateId(std::string("con"))),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no identifier 'con'")));
}

TEST_F(EventHandlesTest, WithoutMapReturnsTheWholeDelegate) {
  ASSERT_OK_AND_ASSIGN(const EventHandles call, Find(3, DelegateId(int64_t{4})));
  EXPECT_TRUE(call.whole_delegate);
  EXPECT_THAT(call.handles, ElementsAre(1, 2, 3));
}

TEST_F(EventHandlesTest, RejectsUnknownNames) {
  EXPECT_THAT(HandlesOfEvent(program_, debug_, {"n", 0}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("unknown method 'n'")));
  EXPECT_THAT(Find(4), StatusIs(absl::StatusCode::kNotFound, HasSubstr("4 instructions")));
  EXPECT_THAT(Find(0, DelegateId(int64_t{1})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a delegate call")));
  const schema::DebugInfo whole = debug_;
  debug_.mutable_methods(0)->mutable_instructions()->RemoveLast();
  EXPECT_THAT(Find(0), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not belong")));
  debug_ = whole;
  program_.mutable_methods(0)->mutable_instructions(1)->mutable_delegate()->set_delegate(3);
  EXPECT_THAT(Find(1), StatusIs(absl::StatusCode::kInvalidArgument, "unknown delegate 3"));
  debug_.mutable_methods(0)->mutable_delegates()->RemoveLast();
  EXPECT_THAT(Find(0), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not belong")));
  debug_.clear_methods();
  EXPECT_THAT(Find(0), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 methods")));
}

}  // namespace
}  // namespace belay::exir
