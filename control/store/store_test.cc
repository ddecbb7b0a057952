#include "control/store/store.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/jobs/testing.h"
#include "control/store/plan_json.h"
#include "etcd.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

std::string fresh(const char* name) {
  const std::string path = ::testing::TempDir() + "/l3dml_store_" + name + std::to_string(getpid()) + ".db";
  for (const char* more : {"", "-wal", "-shm"}) unlink((path + more).c_str());
  return path;
}

// After z = 1, y = 2 of kind a and x of kind b, then z = 3 and x taken away.
void expect_what_was_written(Store& store) {
  const auto records = *store.read("a");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].key, "z");
  EXPECT_EQ(records[0].value, "3") << "an update keeps its place";
  EXPECT_EQ(records[1].key, "y");
  EXPECT_TRUE(store.read("b")->empty());
}

TEST(Store, remembers_in_order_and_forgets_what_is_removed) {
  const std::string path = fresh("order");
  const std::string one = "1", two = "2", three = "3";
  {
    auto store = open_store(path);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->write({{"a", "z", &one}, {"a", "y", &two}, {"b", "x", &three}}).ok());
    ASSERT_TRUE((*store)->write({{"a", "z", &three}, {"b", "x", nullptr}}).ok());
  }
  auto store = open_store("sqlite:" + path);
  ASSERT_TRUE(store.ok()) << store.status();
  expect_what_was_written(**store);
}

TEST(Store, refuses_a_second_controller_and_unknown_kinds) {
  const std::string path = fresh("second");
  auto first = open_store(path);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(open_store(path).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(open_store("mysql:x").status().message(),
            "no store of kind \"mysql\": write sqlite:PATH or etcd://HOST:PORT");
  first->reset();
  EXPECT_TRUE(open_store(path).ok()) << "a stand-by gets it when the first is gone";
  EXPECT_FALSE(open_store("/no/such/folder/x.db").ok());
}

// A real etcd of our own, as long as this lives.
class Etcd {
 public:
  Etcd() {
    folder_ = ::testing::TempDir() + "/l3dml_etcd_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    const std::string client = "http://127.0.0.1:" + std::to_string(port_ = free_port());
    const std::string peer = "http://127.0.0.1:" + std::to_string(free_port());
    pid_ = fork();
    if (pid_ != 0) return;
    const std::string log = folder_ + "/log";
    if (!freopen(log.c_str(), "w", stderr)) _exit(1);
    execlp("etcd", "etcd", "--data-dir", folder_.c_str(), "--listen-client-urls", client.c_str(),
           "--advertise-client-urls", client.c_str(), "--listen-peer-urls", peer.c_str(),
           "--initial-advertise-peer-urls", peer.c_str(), "--initial-cluster", ("default=" + peer).c_str(),
           nullptr);
    _exit(127);
  }
  ~Etcd() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  static bool installed() { return std::system("command -v etcd >/dev/null 2>&1") == 0; }
  std::string url(const std::string& prefix) const {
    return "etcd://127.0.0.1:" + std::to_string(port_) + "/" + prefix;
  }
  // Once it answers.
  absl::StatusOr<std::unique_ptr<Store>> open(const std::string& prefix) const {
    auto store = open_store(url(prefix));
    for (int tries = 0; tries < 20 && store.status().code() == absl::StatusCode::kUnavailable; ++tries)
      store = open_store(url(prefix));  // each waits a while itself
    return store;
  }

 private:
  static int free_port() {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(fd, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    close(fd);
    return ntohs(address.sin_port);
  }
  std::string folder_;
  int port_ = 0;
  pid_t pid_ = 0;
};

TEST(EtcdStore, remembers_is_one_controllers_and_is_fenced) {
  if (!Etcd::installed()) GTEST_SKIP() << "etcd is not installed";
  const Etcd etcd;
  const std::string one = "1", two = "2", three = "3";
  auto store = etcd.open("a");
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->write({{"a", "z", &one}}).ok());
  ASSERT_TRUE((*store)->write({{"a", "y", &two}, {"b", "x", &three}}).ok());
  ASSERT_TRUE((*store)->write({{"a", "z", &three}, {"b", "x", nullptr}}).ok());
  EXPECT_EQ(etcd.open("a").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(etcd.open("b").ok()) << "another prefix is another store";
  EXPECT_TRUE((*store)->held());

  store->reset();  // lets it go
  store = etcd.open("a");
  ASSERT_TRUE(store.ok()) << store.status();
  expect_what_was_written(**store);

  // Who lost the lock writes nothing more: here somebody else's name stands in it.
  const std::string other = "somebody else";
  const std::string address = etcd.url("").substr(7);
  auto kv = etcdserverpb::KV::NewStub(
      grpc::CreateChannel(address.substr(0, address.find('/')), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  etcdserverpb::TxnRequest steal;
  auto* put = steal.add_success()->mutable_request_put();
  put->set_key("/a/controller");
  put->set_value(other);
  etcdserverpb::TxnResponse stolen;
  ASSERT_TRUE(kv->Txn(&context, steal, &stolen).ok());
  EXPECT_EQ((*store)->write({{"a", "z", &one}}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE((*store)->held());
  EXPECT_EQ((*(*store)->read("a"))[0].value, "3");
}

TEST(EtcdStore, says_in_one_line_that_nobody_answers) {
  EXPECT_EQ(open_store("etcd://127.0.0.1:1").status().message(), "etcd does not answer at 127.0.0.1:1");
  EXPECT_EQ(open_store("etcd:host").status().message(), "etcd:host: write etcd://HOST:PORT");
}

TEST(PlanJson, gives_back_the_same_plan) {
  testing::TwoSites n;
  std::vector<DeviceResources> devices(n.t.sites().size(), DeviceResources(Capability{}));
  JobRequest request;
  request.name = "j";
  request.members = n.members;
  request.stripes = {{n.west, 2, {}}, {n.east, 1, {}}};
  const JobPlan plan = *plan_job(n.t, request, &devices);
  const auto back = plan_from_json(to_json(plan));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(to_json(*back), to_json(plan));
  EXPECT_EQ(back->stripes[1].tree.aggregators[0].children, plan.stripes[1].tree.aggregators[0].children);
  EXPECT_EQ(plan_from_json("{}").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace l3dml::control
