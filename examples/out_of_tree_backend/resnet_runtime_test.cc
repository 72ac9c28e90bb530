#include "examples/out_of_tree_backend/resnet_runtime.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

TEST(ResnetRuntimeTest, HasNpuAndLoadsProgram) {
  EXPECT_THAT(resnet_runtime::Backends().Ids(), ::testing::ElementsAre("npu"));
  ASSERT_OK_AND_ASSIGN(const Program program,
                       Program::Open("examples/out_of_tree_backend/resnet.belay"));
  EXPECT_OK(Method::Load(program, "forward", resnet_runtime::Kernels(), resnet_runtime::Backends())
                .status());
}

}  // namespace
}  // namespace belay
