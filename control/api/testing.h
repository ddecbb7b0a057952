// A controller of two sites on fake switches, and members that answer it.
#pragma once

#include <deque>
#include <fstream>
#include <iterator>

#include <unistd.h>

#include "control/api/controller.h"
#include "control/target/fake_connection.h"
#include "gtest/gtest.h"

namespace l3dml::control::testing {

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() {
    std::ifstream in(L3DML_BF_RT);
    schema_.assign(std::istreambuf_iterator<char>(in), {});
    for (const char* site : {"west", "east"}) fakes_[site] = *target::FakeTarget::create("l3dml", schema_);
    path_ = ::testing::TempDir() + "/l3dml_controller_" + std::to_string(getpid()) + ".db";
    remove_store();
    start();
    add_network();
  }
  ~ControllerTest() override { remove_store(); }

  void remove_store() {
    controller_.reset();
    for (const char* more : {"", "-wal", "-shm"}) unlink((path_ + more).c_str());
  }

  void start() {
    controller_.reset();
    auto store = open_store(path_);
    ASSERT_TRUE(store.ok()) << store.status();
    Controller::Options options;
    options.connect =
        [this](const SiteRecord& site) -> absl::StatusOr<std::unique_ptr<target::SwitchTarget>> {
      target::FakeTarget* fake = fakes_.at(site.name).get();
      if (!fake->connected())
        if (absl::Status s = fake->reconnect(); !s.ok()) return s;
      return std::make_unique<target::FakeConnection>(fake);
    };
    options.now_ns = [this] { return now_ns_; };
    options.unix_time_s = [] { return 0.0; };
    options.new_token = [this] { return "token" + std::to_string(++tokens_); };
    auto created = Controller::create(*std::move(store), std::move(options));
    ASSERT_TRUE(created.ok()) << created.status();
    controller_ = *std::move(created);
  }

  void add_network() {
    for (const char* site : {"west", "east"})
      ASSERT_TRUE(controller_->add_site({site, "switch:50052", 0, false}).ok());
    ASSERT_TRUE(controller_->add_link({"wan", "west", "east", 100e6, 0.025, 0, -1, -1, false}).ok());
    for (const char* host : {"w0", "w1"}) ASSERT_TRUE(controller_->add_host({host, "west", 0, 0, -1}).ok());
    for (const char* host : {"e0", "e1"}) ASSERT_TRUE(controller_->add_host({host, "east", 0, 0, -1}).ok());
  }

  JobSpecification job(const std::string& name = "train") {
    return {name, {"w0", "w1", "e0", "e1"}, {{"west", 1.0}}, 0, 256, 10};
  }
  void pass(double seconds) {  // as time passes for a controller that ticks
    for (double left = seconds; left > 0; left -= 0.1) {
      now_ns_ += 100'000'000;
      controller_->tick();
    }
  }
  size_t admitted(const std::string& site) {
    return *fakes_.at(site)->usage("pipe.Ingress.admission.admission");
  }
  void join_all(const JobView& view) {
    for (const char* host : {"w0", "w1", "e0", "e1"})
      ASSERT_TRUE(controller_->join({view.name, view.token, host}).ok());
  }

  std::map<std::string, std::unique_ptr<target::FakeTarget>> fakes_;
  std::string path_, schema_;
  int64_t now_ns_ = 1'000'000'000;
  int tokens_ = 0;
  std::unique_ptr<Controller> controller_;
};

// A member that answers at once and holds nothing.
struct Member {
  Controller* controller;
  uint32_t rank;
  uint64_t attendance = 0;
  std::deque<Controller::ToMember> heard;
  std::string failed, config;
  int pauses = 0;

  void answer(const Controller::ToMember& m) {
    if (const auto* fail = std::get_if<FailMember>(&m.command)) failed = fail->reason;
    if (std::holds_alternative<PauseMember>(m.command)) {
      ++pauses;
      controller->report(
          "train", rank, attendance, m.stripe,
          MemberPaused{m.change, rank, static_cast<uint8_t>(config.empty() ? 1 : 2), {}, 0, 0, 0});
    }
    if (std::holds_alternative<ResumeMember>(m.command)) {
      config = m.config;
      controller->report("train", rank, attendance, m.stripe, MemberResumed{m.change, rank});
    }
  }
};

inline void attend(Controller* controller, const std::string& token, Member* member) {
  const auto attendance =
      controller->attach("train", token, member->rank, {{1, 0, false}},
                         [member](const Controller::ToMember& m) { member->heard.push_back(m); });
  ASSERT_TRUE(attendance.ok()) << attendance.status();
  member->attendance = *attendance;
}

// The members of a job of four, attending.
inline std::vector<Member> all_attend(Controller* controller, const std::string& token) {
  std::vector<Member> members;
  for (uint32_t rank = 0; rank < 4; ++rank) members.push_back({controller, rank, 0, {}, "", "", 0});
  for (Member& member : members) attend(controller, token, &member);
  return members;
}

inline void answer_all(std::vector<Member>& members) {
  for (bool more = true; more;) {
    more = false;
    for (Member& member : members)
      for (; !member.heard.empty(); more = true) {
        const Controller::ToMember m = member.heard.front();
        member.heard.pop_front();
        member.answer(m);
      }
  }
}

}  // namespace l3dml::control::testing
