#include "control/api/server.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "control/api/services.h"
#include "grpcpp/grpcpp.h"

namespace l3dml::control {
namespace {

constexpr int kKeepaliveMs = 5'000, kKeepaliveTimeoutMs = 5'000;

bool is_local(const std::string& address) {
  if (address.starts_with("unix:")) return true;
  const std::string host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace

ApiServer::ApiServer(Controller* controller, Telemetry* telemetry)
    : controller_(controller), telemetry_(telemetry) {}
ApiServer::~ApiServer() { stop(); }

absl::Status ApiServer::start(const ApiOptions& options) {
  const int given = int{!options.certificate.empty()} + int{!options.private_key.empty()} +
                    int{!options.client_authority.empty()};
  if (given != 0 && given != 3)
    return absl::InvalidArgumentError("TLS needs a certificate, its private key and the clients' authority");
  std::shared_ptr<grpc::ServerCredentials> secured;
  if (given == 3) {
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = options.client_authority;
    tls.pem_key_cert_pairs.push_back({options.private_key, options.certificate});
    secured = grpc::SslServerCredentials(tls);
  }
  services_ = std::make_unique<ApiServices>(controller_, telemetry_, options.operators);
  grpc::ServerBuilder builder;
  std::vector<int> ports(options.addresses.size(), 0);
  for (size_t i = 0; i < options.addresses.size(); ++i) {
    const std::string& address = options.addresses[i];
    if (!secured && !is_local(address))
      return absl::InvalidArgumentError(absl::StrCat(
          address, " is neither loopback nor a unix socket and needs TLS with client certificates"));
    builder.AddListeningPort(
        address, secured && !address.starts_with("unix:") ? secured : grpc::InsecureServerCredentials(),
        &ports[i]);
  }
  // A second controller at the same address must fail, not share it.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A member that vanished without a word is noticed before its lease ends, and one behind a NAT stays.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  // Copies of a whole window: 65,536 results of 320 lanes.
  builder.SetMaxReceiveMessageSize(128 << 20);
  builder.RegisterService(&services_->network);
  builder.RegisterService(&services_->jobs);
  builder.RegisterService(&services_->events);
  server_ = builder.BuildAndStart();
  for (size_t i = 0; i < options.addresses.size(); ++i) {
    const std::string& address = options.addresses[i];
    if (!server_ || ports[i] == 0)
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", address, ": is another controller running there?"));
    addresses_.push_back(address.starts_with("unix:")
                             ? address
                             : absl::StrCat(address.substr(0, address.rfind(':')), ":", ports[i]));
  }
  if (options.tick_ms > 0)
    ticker_ = std::thread([this, ms = options.tick_ms] { loop(ms, [this] { controller_->tick(); }); });
  if (options.telemetry_ms > 0)
    sampler_ = std::thread([this, ms = options.telemetry_ms] {
      loop(ms, [this] {
        telemetry_->sample(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
      });
    });
  return absl::OkStatus();
}

void ApiServer::loop(int64_t period_ms, const std::function<void()>& work) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    work();
    lock.lock();
    stop_signal_.wait_for(lock, std::chrono::milliseconds(period_ms), [this] { return stopping_; });
  }
}

void ApiServer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_signal_.notify_all();
  if (services_) services_->stopping = true;
  if (ticker_.joinable()) ticker_.join();
  if (sampler_.joinable()) sampler_.join();
  if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
  server_.reset();
}

}  // namespace l3dml::control
