// Built with assertions in every build type: what a debug build refuses.
#include "dataplane/tna/register.h"

#include "gtest/gtest.h"

namespace l3dml::tna {
namespace {

TEST(Register, is_reached_once_in_a_pass) {
  Pass pass;
  Register<uint32_t> a(8, &pass), b(8, &pass);
  pass.open();
  a.access(3) = 5;
  b.access(3) = 6;  // another register may be
  EXPECT_DEATH(a.access(3), "once per packet and pass");
  EXPECT_DEATH(a.access(4), "once per packet and pass");
  pass.open();
  EXPECT_EQ(a.access(3), 5u);
}

TEST(Register, is_open_to_the_control_plane_at_any_time) {
  Pass pass;
  Register<uint32_t> a(8, &pass);
  pass.open();
  a.access(0) = 1;
  a.cell(0) = 2;
  EXPECT_EQ(a.cell(0), 2u);
  EXPECT_EQ(a.size(), 8u);
}

}  // namespace
}  // namespace l3dml::tna
