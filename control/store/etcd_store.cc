// etcd as the store. One controller at a time: it holds a key that lives as long as its lease, and every
// write is a transaction that fails unless that key is still its own, so a controller that was away for too
// long cannot write over its successor. Records are read in the order in which their keys came to be; those
// of one write came together and are in the order of their keys.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <sys/random.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/store/backends.h"
#include "etcd.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace l3dml::control {
namespace {

namespace pb = ::etcdserverpb;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kVersion = 1;
constexpr milliseconds kTimeout{3'000};
constexpr size_t kMostWrites = 120;  // etcd refuses a transaction of more than 128 operations

std::string random_name() {
  std::string bytes(12, '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return absl::BytesToHexString(bytes);
}

// The first key after all that begin with `prefix`.
std::string range_end(std::string prefix) {
  ++prefix.back();  // ends in '/'
  return prefix;
}

class EtcdStore final : public Store {
 public:
  EtcdStore(std::string where, std::string prefix, std::shared_ptr<grpc::Channel> channel, double lease_s)
      : where_(std::move(where)),
        prefix_(std::move(prefix)),
        lease_s_(std::max<int64_t>(2, static_cast<int64_t>(lease_s))),
        kv_(pb::KV::NewStub(channel)),
        leases_(pb::Lease::NewStub(channel)) {}

  ~EtcdStore() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      if (context_) context_->TryCancel();
    }
    stop_.notify_all();
    if (keeper_.joinable()) keeper_.join();
    if (lease_ == 0) return;
    grpc::ClientContext context;  // whoever waits need not wait until the lease ends
    context.set_deadline(std::chrono::system_clock::now() + kTimeout);
    pb::LeaseRevokeRequest request;
    request.set_id(lease_);
    pb::LeaseRevokeResponse response;
    (void)leases_->LeaseRevoke(&context, request, &response);
  }

  absl::Status prepare() {
    pb::LeaseGrantRequest grant;
    grant.set_ttl(lease_s_);
    pb::LeaseGrantResponse granted;
    if (absl::Status s = call([&](auto* context) { return leases_->LeaseGrant(context, grant, &granted); });
        !s.ok())
      return s;
    lease_ = granted.id();
    renewed_ = Clock::now();
    // The lock: ours if nobody has it.
    pb::TxnRequest take;
    pb::Compare* free = take.add_compare();
    free->set_target(pb::Compare::CREATE);
    free->set_key(lock_key());
    free->set_create_revision(0);
    pb::PutRequest* put = take.add_success()->mutable_request_put();
    put->set_key(lock_key());
    put->set_value(name_);
    put->set_lease(lease_);
    pb::TxnResponse taken;
    if (absl::Status s = transact(take, &taken); !s.ok()) return s;
    if (!taken.succeeded()) return in_use(where_);
    keeper_ = std::thread([this] { keep_alive(); });
    return check_version();
  }

  absl::StatusOr<std::vector<Record>> read(const std::string& kind) override {
    const std::string begin = absl::StrCat(prefix_, "records/", kind, "/");
    pb::RangeRequest request;
    request.set_key(begin);
    request.set_range_end(range_end(begin));
    request.set_sort_order(pb::RangeRequest::ASCEND);
    request.set_sort_target(pb::RangeRequest::CREATE);
    pb::RangeResponse response;
    if (absl::Status s = call([&](auto* context) { return kv_->Range(context, request, &response); });
        !s.ok())
      return s;
    std::vector<const pb::KeyValue*> found;
    for (const pb::KeyValue& kv : response.kvs()) found.push_back(&kv);
    std::stable_sort(found.begin(), found.end(), [](const auto* a, const auto* b) {
      return std::pair(a->create_revision(), a->key()) < std::pair(b->create_revision(), b->key());
    });
    std::vector<Record> records;
    for (const pb::KeyValue* kv : found)
      records.push_back({kind, kv->key().substr(begin.size()), kv->value()});
    return records;
  }

  absl::Status write(const std::vector<Write>& writes) override {
    if (writes.size() > kMostWrites)
      return absl::InvalidArgumentError(absl::StrCat("etcd takes at most ", kMostWrites, " records at once"));
    pb::TxnRequest request;
    for (const Write& w : writes) {
      const std::string key = absl::StrCat(prefix_, "records/", w.kind, "/", w.key);
      if (w.value) {
        pb::PutRequest* put = request.add_success()->mutable_request_put();
        put->set_key(key);
        put->set_value(*w.value);
      } else {
        request.add_success()->mutable_request_delete_range()->set_key(key);
      }
    }
    return write_as_owner(std::move(request));
  }

  bool held() const override {
    return !lost_ && Clock::now() - renewed_.load() < std::chrono::seconds(lease_s_);
  }

 private:
  std::string lock_key() const { return absl::StrCat(prefix_, "controller"); }

  template <typename Call>
  absl::Status call(Call one) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kTimeout);
    context.set_wait_for_ready(true);
    const grpc::Status status = one(&context);
    if (status.ok()) return absl::OkStatus();
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
        status.error_code() == grpc::StatusCode::UNAVAILABLE)
      return absl::UnavailableError(absl::StrCat("etcd does not answer at ", where_));
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        absl::StrCat("etcd at ", where_, ": ", status.error_message()));
  }

  absl::Status transact(const pb::TxnRequest& request, pb::TxnResponse* response) const {
    return call([&](auto* context) { return kv_->Txn(context, request, response); });
  }

  absl::Status write_as_owner(pb::TxnRequest request) {
    pb::Compare* ours = request.add_compare();
    ours->set_target(pb::Compare::VALUE);
    ours->set_key(lock_key());
    ours->set_value(name_);
    pb::TxnResponse response;
    if (absl::Status s = transact(request, &response); !s.ok()) return s;
    if (response.succeeded()) return absl::OkStatus();
    lost_ = true;
    return in_use(where_);
  }

  absl::Status check_version() {
    const auto known = read("version");
    if (!known.ok()) return known.status();
    int found = 0;
    if (!known->empty() && absl::SimpleAtoi(known->front().value, &found) && found > kVersion)
      return absl::FailedPreconditionError(
          absl::StrCat(where_, " was written by a later version of the controller (format ", found,
                       ", this one knows ", kVersion, ")"));
    const std::string version = absl::StrCat(kVersion);
    return write({{"version", "format", &version}});
  }

  // One stream as long as it works; the lease is lost when etcd says so or when we could not renew it.
  void keep_alive() {
    std::unique_lock lock(mutex_);
    while (!stopping_ && !lost_) {
      grpc::ClientContext context;
      context_ = &context;
      lock.unlock();
      auto stream = leases_->LeaseKeepAlive(&context);
      pb::LeaseKeepAliveRequest request;
      request.set_id(lease_);
      pb::LeaseKeepAliveResponse response;
      for (bool first = true;; first = false) {
        if (!first) {
          lock.lock();
          const bool ends =
              stop_.wait_for(lock, milliseconds(1000 * lease_s_ / 4), [this] { return stopping_; });
          lock.unlock();
          if (ends) break;
        }
        const auto asked = Clock::now();
        if (!stream->Write(request) || !stream->Read(&response)) break;
        if (response.ttl() <= 0) {
          lost_ = true;
          break;
        }
        renewed_ = asked;
      }
      context.TryCancel();
      (void)stream->Finish();
      lock.lock();
      context_ = nullptr;
      stop_.wait_for(lock, milliseconds(200), [this] { return stopping_; });
    }
  }

  const std::string where_, prefix_, name_ = random_name();
  const int64_t lease_s_;
  std::unique_ptr<pb::KV::Stub> kv_;
  std::unique_ptr<pb::Lease::Stub> leases_;
  int64_t lease_ = 0;
  std::atomic<Clock::time_point> renewed_{};
  std::atomic<bool> lost_ = false;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  grpc::ClientContext* context_ = nullptr;  // of the stream there is
  std::thread keeper_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> open_etcd(const std::string& rest, const StoreOptions& options) {
  if (!rest.starts_with("//"))
    return absl::InvalidArgumentError(absl::StrCat("etcd:", rest, ": write etcd://HOST:PORT"));
  const std::vector<std::string> parts = absl::StrSplit(rest.substr(2), absl::MaxSplits('/', 1));
  const std::string prefix = parts.size() == 2 && !parts[1].empty() ? parts[1] : "l3dml";
  if (parts[0].empty()) return absl::InvalidArgumentError("etcd: which server? Write etcd://HOST:PORT");
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!options.authority.empty())
    credentials = grpc::SslCredentials({options.authority, options.private_key, options.certificate});
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetMaxReceiveMessageSize(-1);
  // Several servers of one cluster: gRPC tries one after the other (addresses, not names).
  const std::string target =
      parts[0].find(',') == std::string::npos ? parts[0] : absl::StrCat("ipv4:", parts[0]);
  auto store =
      std::make_unique<EtcdStore>(parts[0], absl::StrCat("/", prefix, "/"),
                                  grpc::CreateCustomChannel(target, credentials, arguments), options.lease_s);
  if (absl::Status s = store->prepare(); !s.ok()) return s;
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace l3dml::control
