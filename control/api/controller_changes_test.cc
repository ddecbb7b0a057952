// Epoch changes as the controller drives them: who is lost, what is drained, what moves, who comes back.
#include <array>

#include "control/api/testing.h"

namespace l3dml::control {
namespace {

using testing::all_attend;
using testing::answer_all;
using testing::attend;
using testing::ControllerTest;
using testing::Member;

TEST_F(ControllerTest, a_lost_member_is_left_out_under_a_new_epoch) {
  JobSpecification wanted = job();
  wanted.on_loss = OnLoss::go_on;
  const auto created = controller_->create_job(wanted);
  join_all(*created);
  std::vector<Member> members = all_attend(controller_.get(), created->token);
  EXPECT_EQ(controller_->job("train")->state, "running");

  controller_->detach("train", 2, members[2].attendance);  // its process died
  pass(2);
  EXPECT_EQ(controller_->job("train")->state, "changing");
  answer_all(members);
  const auto view = controller_->job("train");
  EXPECT_EQ(view->state, "running");
  EXPECT_EQ(view->changes, 1u);
  EXPECT_EQ(view->members[2].state, "lost");
  EXPECT_EQ(view->plan.stripes[0].epoch, 2);
  EXPECT_EQ(view->plan.stripes[0].members[2].aggregator, -1);
  for (const uint32_t rank : {0u, 1u, 3u}) {
    EXPECT_EQ(members[rank].pauses, 1);
    EXPECT_NE(members[rank].config.find("\"epoch\":2"), std::string::npos) << members[rank].config;
  }
  EXPECT_EQ(members[2].pauses, 0);

  start();  // a controller after this one knows all of it
  EXPECT_EQ(controller_->job("train")->plan.stripes[0].epoch, 2);
  EXPECT_EQ(controller_->job("train")->members[2].state, "lost");
  for (const uint32_t rank : {0u, 1u, 3u})
    ASSERT_TRUE(controller_->leave("train", created->token, rank).ok());
  EXPECT_EQ(controller_->job("train")->reason, "all ranks have left");
}

TEST_F(ControllerTest, a_change_waits_for_switches_that_are_away_for_a_moment) {
  for (const bool restarts : {false, true}) {
    const std::string name = "train";
    const auto created = controller_->create_job(job());
    ASSERT_TRUE(created.ok()) << created.status();
    join_all(*created);
    std::vector<Member> members;
    for (uint32_t rank = 0; rank < 4; ++rank) members.push_back({controller_.get(), rank, 0, {}, "", "", 0});
    for (Member& member : members) attend(controller_.get(), created->token, &member);
    ASSERT_TRUE(controller_->drain("east", true).ok());  // the change begins
    for (auto& [site, fake] : fakes_) restarts ? fake->restart() : fake->lose_connection();
    answer_all(members);  // all have paused, no switch is there
    EXPECT_EQ(controller_->job(name)->state, "changing");
    pass(1);
    answer_all(members);
    pass(0.5);
    answer_all(members);
    const auto view = controller_->job(name);
    EXPECT_EQ(view->state, "running") << view->reason;
    EXPECT_GT(admitted("west"), 0u);
    EXPECT_EQ(admitted("east"), 0u);
    for (const Member& member : members) EXPECT_EQ(member.failed, "");
    ASSERT_TRUE(controller_->delete_job(name).ok());
    ASSERT_TRUE(controller_->drain("east", false).ok());
  }
}

TEST_F(ControllerTest, a_controller_that_comes_back_drops_nobody_for_switches_it_has_yet_to_reach) {
  const auto created = controller_->create_job(job());
  join_all(*created);
  std::vector<Member> members = all_attend(controller_.get(), created->token);
  ASSERT_TRUE(controller_->drain("east", true).ok());  // and is killed before anybody has answered
  for (auto& [site, fake] : fakes_) {
    fake->lose_connection();  // its session is not over yet
    fake->refuse_reconnect(absl::AlreadyExistsError("another client"));
  }
  start();
  for (Member& member : members) {
    member.controller = controller_.get();
    member.heard.clear();
    attend(controller_.get(), created->token, &member);
  }
  answer_all(members);
  pass(1);
  EXPECT_EQ(controller_->job("train")->state, "changing");
  for (auto& [site, fake] : fakes_) fake->refuse_reconnect(absl::OkStatus());
  pass(2);
  answer_all(members);
  EXPECT_EQ(controller_->job("train")->state, "running") << controller_->job("train")->reason;
  for (const Member& member : members) EXPECT_EQ(member.failed, "");
}

TEST_F(ControllerTest, a_drained_switch_is_left_and_a_removed_host_stays_away) {
  JobSpecification wanted = job();
  wanted.roots = {{"east", 1.0}};
  const auto created = controller_->create_job(wanted);
  join_all(*created);
  std::vector<Member> members = all_attend(controller_.get(), created->token);
  EXPECT_GT(admitted("east"), 0u);
  ASSERT_TRUE(controller_->drain("east", true).ok());
  answer_all(members);
  EXPECT_EQ(admitted("east"), 0u);
  EXPECT_EQ(controller_->job("train")->state, "running");
  EXPECT_EQ(controller_->remove_host("e0").message(), "host e0 has rank 2 of job train: end it first");
  ASSERT_TRUE(controller_->end_job("train", false).ok());
  EXPECT_EQ(controller_->remove_site("east").message(), "site east has host e0: remove it first");
  ASSERT_TRUE(controller_->remove_host("e0").ok());
  EXPECT_EQ(controller_->create_job(wanted).status().message(), "there is no host e0");
  ASSERT_TRUE(controller_->add_host({"e0", "east", 0, 0, -1}).ok());
  ASSERT_TRUE(controller_->drain("east", false).ok());
  EXPECT_TRUE(controller_->create_job(wanted).ok());
}

TEST_F(ControllerTest, a_running_job_moves_to_what_is_clearly_faster_and_to_nothing_else) {
  // A third site that sums, in the middle of a faster way.
  fakes_["hub"] = *target::FakeTarget::create("l3dml", schema_);
  ASSERT_TRUE(controller_->add_site({"hub", "switch:50052", 0, false}).ok());
  for (const char* site : {"west", "east"})
    ASSERT_TRUE(
        controller_->add_link({std::string(site) + "-hub", site, "hub", 95e6, 0.012, 0, -1, -1, false}).ok());
  JobSpecification wanted = job();
  wanted.roots.clear();
  wanted.stripes = 1;
  const auto created = controller_->create_job(wanted);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->form_source, "arithmetic");
  const auto root = [&] {
    const JobView view = *controller_->job("train");
    return controller_->sites()[view.plan.stripes[0].tree.aggregators[0].site].name;
  };
  const std::string first = root();
  join_all(*created);
  std::vector<Member> members = all_attend(controller_.get(), created->token);
  ASSERT_TRUE(controller_->set_link("wan", {false, 99e6, {}, {}}).ok());  // a little
  pass(0.5);
  answer_all(members);
  EXPECT_EQ(controller_->job("train")->changes, 0u);
  ASSERT_TRUE(controller_->set_link("wan", {false, 10e6, {}, {}}).ok());
  ASSERT_TRUE(controller_->set_link("west-hub", {false, 10e6, 0.1, {}}).ok());
  pass(0.5);
  answer_all(members);
  const auto slower = controller_->job("train");
  EXPECT_EQ(slower->state, "running");
  EXPECT_GE(slower->changes, 1u) << "its pace is that of the narrow link";
  EXPECT_LT(slower->plan.stripes[0].rate_bps, 20e6);
  const uint32_t changes = slower->changes;
  pass(2);
  answer_all(members);
  EXPECT_EQ(controller_->job("train")->changes, changes) << "no reason to change again";
  EXPECT_FALSE(first.empty());
}

TEST_F(ControllerTest, a_root_that_its_owner_chose_is_gone_back_to) {
  JobSpecification wanted = job();
  wanted.roots = {{"east", 1.0}};
  const auto created = controller_->create_job(wanted);
  join_all(*created);
  std::vector<Member> members = all_attend(controller_.get(), created->token);
  const auto root = [&] { return controller_->job("train")->plan.stripes[0].tree.aggregators[0].site; };
  for (const bool drained : {true, false}) {
    ASSERT_TRUE(controller_->drain("east", drained).ok());
    for (int i = 0; i < 3; ++i) {
      pass(0.2);
      answer_all(members);
    }
    EXPECT_EQ(root(), controller_->topology().find_site(drained ? "west" : "east"));
    EXPECT_EQ(controller_->job("train")->state, "running");
  }
}

TEST_F(ControllerTest, a_link_that_dies_moves_routes_where_there_is_another_way) {
  ASSERT_TRUE(controller_->add_link({"spare", "west", "east", 100e6, 0.080, 0, -1, -1, false}).ok());
  ASSERT_TRUE(controller_->create_job(job()).ok());
  fakes_.at("east")->clear_log();
  ASSERT_TRUE(controller_->set_link("wan", {true, {}, {}, {}}).ok());
  EXPECT_FALSE(fakes_.at("east")->log().empty());
  fakes_.at("east")->clear_log();
  ASSERT_TRUE(controller_->set_link("wan", {true, {}, {}, {}}).ok());
  EXPECT_TRUE(fakes_.at("east")->log().empty()) << "said twice";
  EXPECT_EQ(controller_->events(0).back().kind, "link_changed");
}

TEST_F(ControllerTest, a_group_that_is_started_again_begins_the_job_anew) {
  const auto created = controller_->create_job(job());
  const auto join = [&](const std::string& host, const std::string& group) {
    return controller_->join({"train", created->token, host, host + group, {}, -1, group}).status();
  };
  for (const char* host : {"w0", "w1", "e0", "e1"}) ASSERT_TRUE(join(host, "first").ok());
  std::vector<Member> members = all_attend(controller_.get(), created->token);
  EXPECT_EQ(join("w0", "second").code(), absl::StatusCode::kUnavailable) << "the first is at work";
  controller_->detach("train", 2, members[2].attendance);
  pass(2);
  EXPECT_EQ(controller_->job("train")->state, "ended");
  EXPECT_EQ(admitted("west"), 0u);
  for (const char* host : {"w0", "w1", "e0", "e1"}) ASSERT_TRUE(join(host, "second").ok());
  EXPECT_EQ(controller_->job("train")->state, "running");
  EXPECT_GT(admitted("west"), 0u);
  EXPECT_GT(controller_->job("train")->plan.stripes[0].job, created->plan.stripes[0].job)
      << "packets of the first group find nobody";
  EXPECT_EQ(join("w0", "first").message(),
            "another group of processes has job train now: this one was given up");
  for (uint32_t rank = 0; rank < 4; ++rank)
    ASSERT_TRUE(controller_->leave("train", created->token, rank).ok());
  EXPECT_EQ(join("w0", "third").code(), absl::StatusCode::kFailedPrecondition) << "it has ended in peace";
}

TEST_F(ControllerTest, figures_of_a_job_are_told_after_its_end) {
  const auto created = controller_->create_job(job());
  const uint16_t neighbor = created->plan.stripes[0].aggregators[0].neighbors[0];
  fakes_.at("west")->set_counter("pipe.Egress.segment_sender.repairs", neighbor, {0, 7});
  ASSERT_TRUE(controller_->end_job("train", false).ok());
  fakes_.at("west")->set_counter("pipe.Egress.segment_sender.repairs", neighbor,
                                 {0, 99});  // of another job by now
  const StatisticsView::Segment first = controller_->statistics("west").segments.at(0);
  EXPECT_EQ(std::tuple(first.job, first.peer, first.repaired_packets), std::tuple("train", "w0", 7u));
  ASSERT_TRUE(controller_->end_job("train", true).ok());
  EXPECT_TRUE(controller_->statistics("west").segments.empty());
}

// A member of a job of two stripes that trains: each stripe is somewhere else in the same sequence.
struct Trainer {
  struct Stripe {
    uint8_t epoch = 1;
    uint64_t begun = 0, finished = 0;
    std::optional<uint64_t> started_at;  // as a joiner
  };
  Controller* controller;
  uint32_t rank;
  std::array<Stripe, 2> stripes{};
  uint64_t attendance = 0;
  std::deque<Controller::ToMember> heard{};

  void attend(const std::string& token) {
    const auto attached =
        controller->attach("train", token, rank, {{stripes[0].epoch, 0, false}, {stripes[1].epoch, 0, false}},
                           [this](const Controller::ToMember& m) { heard.push_back(m); });
    ASSERT_TRUE(attached.ok()) << attached.status();
    attendance = *attached;
  }
  void answer(const Controller::ToMember& m) {
    Stripe& stripe = stripes[m.stripe];
    const auto say = [&](const Report& report) {
      controller->report("train", rank, attendance, m.stripe, report);
    };
    if (std::holds_alternative<PauseMember>(m.command))
      say(MemberPaused{m.change, rank, stripe.epoch, {}, stripe.begun, stripe.finished, 10 * stripe.begun});
    const auto* resume = std::get_if<ResumeMember>(&m.command);
    if (resume == nullptr) return;
    stripe.epoch = resume->epoch;
    if (m.joiner) stripe.started_at = stripe.begun = stripe.finished = resume->first_collective;
    say(MemberResumed{m.change, rank});
    if (!resume->stop_before) return;
    stripe.begun = stripe.finished = std::max(stripe.begun, *resume->stop_before);
    say(MemberDrained{m.change, rank});
  }
};

TEST_F(ControllerTest, a_rank_that_comes_back_begins_with_one_collective_on_all_stripes) {
  JobSpecification wanted = job();
  wanted.on_loss = OnLoss::go_on;
  wanted.roots = {{"west", 1.0}, {"east", 1.0}};
  const auto created = controller_->create_job(wanted);
  join_all(*created);
  std::deque<Trainer> trainers;
  for (uint32_t rank = 0; rank < 4; ++rank) trainers.push_back({controller_.get(), rank});
  const auto settle = [&] {
    for (bool more = true; more;) {
      more = false;
      for (Trainer& trainer : trainers)
        for (; !trainer.heard.empty(); more = true) {
          const Controller::ToMember m = trainer.heard.front();
          trainer.heard.pop_front();
          trainer.answer(m);
        }
    }
  };
  for (Trainer& trainer : trainers) trainer.attend(created->token);
  controller_->detach("train", 3, trainers[3].attendance);
  pass(2);
  settle();
  ASSERT_EQ(controller_->job("train")->members[3].state, "lost");

  for (uint32_t rank = 0; rank < 3; ++rank) {
    trainers[rank].stripes[0].begun = trainers[rank].stripes[0].finished = 5;
    trainers[rank].stripes[1].begun = 7;  // two ahead, and not done with the last
    trainers[rank].stripes[1].finished = 6;
  }
  const auto back = controller_->join({"train", created->token, "e1"});
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(back->paused);
  trainers[3] = {controller_.get(), 3};
  trainers[3].attend(created->token);
  settle();
  EXPECT_EQ(controller_->job("train")->state, "running");
  EXPECT_EQ(trainers[3].stripes[0].started_at, 7u);
  EXPECT_EQ(trainers[3].stripes[1].started_at, 7u);
  const JobPlan plan = controller_->job("train")->plan;
  for (const StripePlan& stripe : plan.stripes) EXPECT_GE(stripe.members[3].aggregator, 0);
}

TEST_F(ControllerTest, nobody_stops_for_a_rank_that_came_back_and_died_again) {
  JobSpecification wanted = job();
  wanted.on_loss = OnLoss::go_on;
  const auto created = controller_->create_job(wanted);
  join_all(*created);
  std::vector<Member> members = all_attend(controller_.get(), created->token);
  const auto die = [&] {
    controller_->detach("train", 3, members[3].attendance);
    pass(2);
  };
  die();
  answer_all(members);
  ASSERT_TRUE(controller_->join({"train", created->token, "e1"}).ok());
  attend(controller_.get(), created->token, &members[3]);
  std::optional<uint64_t> stop;
  for (uint32_t rank = 0; rank < 3;
       ++rank) {  // all are in the middle of collective 4, and are to stop after it
    const Controller::ToMember pause = members[rank].heard.front();
    members[rank].heard.pop_front();
    controller_->report("train", rank, members[rank].attendance, 0,
                        MemberPaused{pause.change, rank, 2, {}, 4, 3, 40});
  }
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const Controller::ToMember resume = members[rank].heard.front();
    members[rank].heard.pop_front();
    stop = std::get<ResumeMember>(resume.command).stop_before;
    EXPECT_EQ(stop, 4u);
    controller_->report("train", rank, members[rank].attendance, 0, MemberResumed{resume.change, rank});
  }
  die();
  for (uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_FALSE(members[rank].heard.empty()) << "stopped for ever";
    const Controller::ToMember pause = members[rank].heard.front();
    members[rank].heard.pop_front();
    controller_->report("train", rank, members[rank].attendance, 0,
                        MemberPaused{pause.change, rank, 3, {}, 4, 4, 40});
  }
  for (uint32_t rank = 0; rank < 3; ++rank)
    EXPECT_FALSE(std::get<ResumeMember>(members[rank].heard.front().command).stop_before);
}

}  // namespace
}  // namespace l3dml::control
