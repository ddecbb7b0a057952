#include "tools/lab/process.h"

#include <signal.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace l3dml::lab {
namespace {

int wait_for(Process& process) {
  for (;;)
    if (const auto code = process.poll()) return *code;
}

TEST(Process, tells_how_it_ended) {
  auto p = Process::start({.command = {"sh", "-c", "exit 3"},
                           .environment = {},
                           .netns = "",
                           .output_file = "",
                           .directory = ""});
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(wait_for(*p), 3);
}

TEST(Process, sets_environment_and_writes_output) {
  const std::string file = testing::TempDir() + "/l3dml_process_test.out";
  unlink(file.c_str());
  auto p = Process::start({.command = {"sh", "-c", "echo $L3DML_WORD"},
                           .environment = {{"L3DML_WORD", "there"}},
                           .netns = "",
                           .output_file = file,
                           .directory = ""});
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(wait_for(*p), 0);
  EXPECT_EQ(*run({"cat", file}), "there\n");
}

TEST(Process, says_at_start_what_cannot_be_started) {
  const auto p = Process::start(
      {.command = {"/no/such/program"}, .environment = {}, .netns = "", .output_file = "", .directory = ""});
  EXPECT_EQ(p.status().message(), "cannot start /no/such/program: program: No such file or directory");
  const auto q = Process::start(
      {.command = {"true"}, .environment = {}, .netns = "l3dml-none", .output_file = "", .directory = ""});
  EXPECT_EQ(q.status().message(), "cannot start true: network namespace: No such file or directory");
}

TEST(Process, stop_ends_children_of_children) {
  auto p = Process::start({.command = {"sh", "-c", "trap '' TERM; sleep 1000 & echo; wait"},
                           .environment = {},
                           .netns = "",
                           .output_file = "/dev/null",
                           .directory = ""});
  ASSERT_TRUE(p.ok());
  const pid_t group = p->pid();
  p->stop(0);
  // The group is empty as soon as init (or we) reaped the last of it; signals find nobody who is not a
  // zombie.
  EXPECT_EQ(start_time(group), 0u);
}

TEST(Run, gives_output_and_feeds_input) {
  EXPECT_EQ(*run({"cat"}, "hello"), "hello");
  EXPECT_EQ(run({"sh", "-c", "echo bad >&2; exit 1"}).status().message(), "sh -c echo bad >&2; exit 1: bad");
}

TEST(StartTime, tells_processes_apart) {
  EXPECT_NE(start_time(getpid()), 0u);
  EXPECT_EQ(start_time(0x3fffffff), 0u);
}

}  // namespace
}  // namespace l3dml::lab
