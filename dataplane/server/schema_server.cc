// l3dml-bfrt-schema-server: serves the control plane of any P4 program from its bf-rt.json alone. No
// pipeline, no DPDK: for developing controllers, and for tests. Prints "listening on port N" once it is ready
// and runs until its standard input ends. There are no packets, so what packets would cause is typed in:
// a line "digest FILTER HEX HEX ..." sends a digest of device 0 to its subscribers.
#include <fstream>
#include <iostream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "absl/strings/escaping.h"
#include "dataplane/server/server.h"

namespace {

int fail(const absl::Status& status) {
  std::cerr << "l3dml-bfrt-schema-server: " << status.message() << "\n";
  return 1;
}

absl::Status digest(const std::string& line, l3dml::server::Driver& driver) {
  std::istringstream words(line);
  std::string verb, field;
  l3dml::tna::Digest record;
  if (!(words >> verb >> record.filter) || verb != "digest")
    return absl::InvalidArgumentError("lines are: digest FILTER HEX HEX ...");
  while (words >> field) {
    if (field.size() % 2 != 0 || field.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
      return absl::InvalidArgumentError("fields are hexadecimal digits, two a byte");
    record.fields.push_back(absl::HexStringToBytes(field));
  }
  return driver.learn(record);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Serves the control plane of any P4 program from its bf-rt.json", "l3dml-bfrt-schema-server"};
  std::string schema, program = "l3dml";
  unsigned devices = 1, pipes = 4;
  l3dml::server::ServerOptions options{.address = "127.0.0.1:0"};
  app.add_option("--schema", schema, "bf-rt.json of the program")->required()->check(CLI::ExistingFile);
  app.add_option("--program", program, "name that clients bind to")->capture_default_str();
  app.add_option("--address", options.address, "where to listen; port 0 takes a free one")
      ->capture_default_str();
  app.add_option("--devices", devices, "how many devices, numbered from 0")->check(CLI::Range(1u, 64u));
  app.add_option("--keepalive-ms", options.keepalive_ms, "silence after which a client is asked if it lives");
  app.add_option("--pipes", pipes, "pipes per device")->check(CLI::Range(1u, 4u));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::ostringstream text;
  text << std::ifstream(schema).rdbuf();
  l3dml::server::BfrtServer server;
  for (unsigned device = 0; device < devices; ++device) {
    auto driver = l3dml::server::Driver::create(
        {.device_id = device, .program_name = program, .program_json = text.str(), .pipes = pipes});
    if (!driver.ok()) return fail(driver.status());
    if (absl::Status status = server.add_device(*std::move(driver)); !status.ok()) return fail(status);
  }
  if (absl::Status status = server.start(options); !status.ok()) return fail(status);
  std::cout << "listening on port " << server.port() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    if (absl::Status status = digest(line, *server.driver(0)); !status.ok()) fail(status);
  }
  server.stop();
}
