#include "control/app/client.h"

#include "absl/strings/str_cat.h"

namespace l3dml::control {

absl::StatusOr<std::unique_ptr<Client>> Client::create(const ClientOptions& options) {
  std::unique_ptr<Client> client(new Client(options));
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  grpc::ChannelArguments arguments;
  if (options.tls.any()) {
    grpc::SslCredentialsOptions tls;
    for (const auto& [file, text] : {std::pair{&options.tls.certificate, &tls.pem_cert_chain},
                                     {&options.tls.key, &tls.pem_private_key},
                                     {&options.tls.authority, &tls.pem_root_certs}}) {
      if (file->empty())
        return absl::InvalidArgumentError("TLS takes --cert, --key and --authority, all three");
      auto read = read_file(*file);
      if (!read.ok()) return read.status();
      *text = *std::move(read);
    }
    credentials = grpc::SslCredentials(tls);
    if (!options.server_name.empty()) arguments.SetSslTargetNameOverride(options.server_name);
  }
  const auto channel = grpc::CreateCustomChannel(options.address, credentials, arguments);
  client->network = api::Network::NewStub(channel);
  client->jobs = api::Jobs::NewStub(channel);
  client->events = api::Events::NewStub(channel);
  return client;
}

absl::Status Client::explain(const grpc::Status& status) const {
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  if (code == absl::StatusCode::kUnavailable && status.error_message().find("site") == std::string::npos)
    return absl::Status(code, absl::StrCat("no controller answers at ", options_.address,
                                           ": start l3dml-controller, or name another with --controller"));
  if (code == absl::StatusCode::kDeadlineExceeded)
    return absl::Status(code, absl::StrCat("the controller at ", options_.address, " did not answer within ",
                                           options_.timeout_s, " s"));
  return absl::Status(code, status.error_message());
}

}  // namespace l3dml::control
