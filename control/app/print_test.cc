#include "control/app/print.h"

#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

TEST(Print, columns_line_up) {
  EXPECT_EQ(table({{"A", "LONG"}, {"longer", "x"}, {"y"}}), "A       LONG\nlonger  x\ny\n");
}

TEST(Print, a_job_is_explained_as_its_trees) {
  api::Job job;
  job.set_name("train");
  job.set_state("running");
  job.set_world(3);
  job.set_joined(3);
  job.set_lanes(256);
  job.set_goodput_bps(87.4e6);
  job.set_limit("link wan");
  api::Stripe* stripe = job.add_stripes();
  stripe->set_job(1);
  stripe->set_epoch(2);
  stripe->set_share(1);
  stripe->set_ring(1024);
  stripe->set_window(512);
  stripe->set_phase("running");
  api::Aggregator* root = stripe->add_aggregators();
  root->set_site("west");
  for (const char* child : {"w0", "east"}) root->add_children(child);
  api::Aggregator* inner = stripe->add_aggregators();
  inner->set_site("east");
  inner->set_parent("west");
  inner->set_slot_base(1024);
  for (const char* child : {"e0", "e1"}) inner->add_children(child);
  const std::string text = explain(job);
  EXPECT_NE(text.find("limited by link wan"), std::string::npos) << text;
  EXPECT_NE(
      text.find(
          "    west sums 2 children, slots 0 to 1023\n      worker w0\n      east sums 2 children, slots "
          "1024 to 2047\n        worker e0\n"),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace l3dml::control
