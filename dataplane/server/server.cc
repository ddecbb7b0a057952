#include "dataplane/server/server.h"

#include <chrono>

#include <grpcpp/grpcpp.h>

#include "dataplane/server/service.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

// Host part of "host:port" or "[v6]:port".
std::string host_of(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return host;
}

bool is_loopback(const std::string& address) {
  if (address.starts_with("unix:")) return true;
  const std::string host = host_of(address);
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials(const ServerOptions& options) {
  const int given = int{!options.certificate.empty()} + int{!options.private_key.empty()} +
                    int{!options.client_authority.empty()};
  if (given == 3) {
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = options.client_authority;
    tls.pem_key_cert_pairs.push_back({options.private_key, options.certificate});
    return grpc::SslServerCredentials(tls);
  }
  if (given != 0) {
    return absl::InvalidArgumentError("TLS needs a certificate, its private key and the clients' authority");
  }
  if (!is_loopback(options.address)) {
    return absl::InvalidArgumentError(
        concat("BfRuntime on ", options.address,
               " is not loopback: give bfrt_tls {certificate, key, clients} or listen on 127.0.0.1"));
  }
  return grpc::InsecureServerCredentials();
}

}  // namespace

BfrtServer::BfrtServer() = default;
BfrtServer::~BfrtServer() { stop(); }

absl::Status BfrtServer::add_device(std::unique_ptr<Driver> driver) {
  const uint32_t device = driver->device_id();
  driver->set_notifier([this, device](const bfrt_proto::StreamMessageResponse& message) {
    sessions_.notify(device, message);
  });
  return devices_.add(std::move(driver));
}

std::shared_ptr<Driver> BfrtServer::driver(uint32_t device) const {
  auto found = devices_.get_even_if_changing(device);
  return found.ok() ? *found : nullptr;
}

absl::Status BfrtServer::start(const ServerOptions& options) {
  if (server_ != nullptr) return absl::FailedPreconditionError("the server runs already");
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> secured = credentials(options);
  if (!secured.ok()) return secured.status();
  service_ = std::make_unique<Service>(devices_, sessions_);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, *secured, &port_);
  builder.RegisterService(service_.get());
  builder.SetMaxReceiveMessageSize(INT32_MAX);
  builder.SetMaxSendMessageSize(INT32_MAX);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on the port is an error
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, options.keepalive_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options.keepalive_ms / 2);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);  // clients may ping as they like
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port_ == 0) {
    server_.reset();
    return absl::UnavailableError(concat(
        "cannot serve BfRuntime on ", options.address,
        options.certificate.empty() ? " (is the port taken?)"
                                    : " (is the port taken? are certificate and key a pair, in PEM?)"));
  }
  stopping_ = false;
  static const base::MonotonicClock machine_clock;
  clock_ = options.clock != nullptr ? options.clock : &machine_clock;
  if (options.tick_ns != 0) ticker_ = std::thread([this, tick = options.tick_ns] { tick_loop(tick); });
  return absl::OkStatus();
}

void BfrtServer::tick() {
  sessions_.tick(clock_->now_ns());
  for (const std::shared_ptr<Driver>& driver : devices_.all()) driver->tick();
}

void BfrtServer::tick_loop(uint64_t tick_ns) {
  std::unique_lock lock(stop_mutex_);
  while (!stop_signal_.wait_for(lock, std::chrono::nanoseconds(tick_ns), [this] { return stopping_; })) {
    lock.unlock();
    tick();
    lock.lock();
  }
}

void BfrtServer::stop() {
  {
    std::lock_guard lock(stop_mutex_);
    stopping_ = true;
  }
  stop_signal_.notify_all();
  if (ticker_.joinable()) ticker_.join();
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now());  // streams are cancelled at once
    server_->Wait();
    server_.reset();
  }
  service_.reset();
  port_ = 0;
}

}  // namespace l3dml::server
