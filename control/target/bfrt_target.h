// A switch reached over BfRuntime: our software switch or a Tofino's driver, told apart by nothing but the
// address. One object is one client session: it subscribes, binds the program and learns its schema from the
// switch. See SwitchTarget for threads and errors.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/target/switch_target.h"

namespace l3dml::control::target {

struct BfrtOptions {
  std::string address = "127.0.0.1:50052";
  uint32_t device_id = 0;
  uint32_t client_id = 0;                     // 0: a random one
  std::string program;                        // empty: the one the switch runs
  std::chrono::milliseconds timeout{10'000};  // per call
  // PEM texts for TLS; all or none.
  std::string authority;  // that signed the switch's certificate
  std::string certificate;
  std::string private_key;
  std::string server_name;  // expected in the switch's certificate; empty: the host of the address
};

// Connects, subscribes, binds. UNAVAILABLE: nobody answers. NOT_FOUND: another program runs. ALREADY_EXISTS:
// another client owns it.
absl::StatusOr<std::unique_ptr<SwitchTarget>> connect_bfrt(const BfrtOptions& options);

}  // namespace l3dml::control::target
