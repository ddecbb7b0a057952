#include "control/routing/routes.h"

#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

TEST(BaselineRoutes, delivers_locally_forwards_by_site_and_aggregates_at_home) {
  Topology t;
  const SiteId a = *t.add_site("a"), b = *t.add_site("b"), c = *t.add_site("c", false);
  ASSERT_TRUE(t.add_link("ab", a, b, 0, 0.01, 0).ok());
  ASSERT_TRUE(t.add_link("bc", b, c, 0, 0.01, 0).ok());
  ASSERT_TRUE(t.add_host("h", a, 0, 0).ok());
  const auto devices = baseline_routes(t);
  const auto has = [&](SiteId site, const std::string& line) {
    for (const Entry& e : devices[site].entries)
      if (text(e).find(line) != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(has(
      a,
      "host6 hdr.ipv6.dst_addr=0xfd4c33444d4c01010000000000000001 -> Ingress.forwarder.forward(port=0x0002, "
      "dmac=0x024c33010101)"));
  EXPECT_TRUE(
      has(a, "prefix6 hdr.ipv6.dst_addr=0xfd4c33444d4c01010100000000000000/72 -> Ingress.forwarder.local()"));
  EXPECT_TRUE(has(a,
                  "prefix6 hdr.ipv6.dst_addr=0xfd4c33444d4c01030000000000000000/64 -> "
                  "Ingress.forwarder.forward(port=0x0001, dmac=0x024c33000102)"));
  EXPECT_TRUE(has(c, "prefix4 hdr.ipv4.dst_addr=0x0a010100/24"));
  EXPECT_FALSE(has(c, "/72"));
}

TEST(BaselineRoutes, leaves_out_what_cannot_be_reached) {
  Topology t;
  const SiteId a = *t.add_site("a");
  ASSERT_TRUE(t.add_site("b").ok());
  const auto devices = baseline_routes(t);
  for (const Entry& e : devices[a].entries) EXPECT_EQ(text(e).find("/64"), std::string::npos) << text(e);
}

}  // namespace
}  // namespace l3dml::control
