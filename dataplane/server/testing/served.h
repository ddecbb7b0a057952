// A BfRuntime server on a free port with devices that exist for one test: their schema, their time and, where
// a test brings one, their pipeline.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/base/clock.h"
#include "dataplane/server/server.h"
#include "dataplane/server/testing/client.h"

namespace l3dml::server::testing {

class Served : public ::testing::Test {
 protected:
  void serve(const std::string& json, unsigned devices = 1, tna::DeviceTwin* twin = nullptr,
             unsigned pipes = 4) {
    for (unsigned device = 0; device < devices; ++device) {
      auto driver = Driver::create({.device_id = device,
                                    .program_name = "prog",
                                    .program_json = json,
                                    .twin = twin,
                                    .clock = &clock_,
                                    .pipes = pipes});
      ASSERT_TRUE(driver.ok()) << driver.status();
      ASSERT_TRUE(server_.add_device(*std::move(driver)).ok());
    }
    const absl::Status status = server_.start({.address = "127.0.0.1:0", .tick_ns = 0, .clock = &clock_});
    ASSERT_TRUE(status.ok()) << status;
  }
  void tick() { server_.tick(); }

  std::unique_ptr<Client> connect(uint32_t id = 0, uint32_t device = 0) {
    const std::shared_ptr<Driver> driver = server_.driver(0);
    return std::make_unique<Client>("127.0.0.1:" + std::to_string(server_.port()), driver->program(),
                                    driver->fixed(), id, device);
  }
  std::unique_ptr<Client> bound(uint32_t id = 0, uint32_t device = 0) {
    auto client = connect(id, device);
    EXPECT_TRUE(client->subscribe().ok());
    EXPECT_TRUE(client->bind("prog").ok());
    return client;
  }

  base::ManualClock clock_;
  BfrtServer server_;
};

inline std::string wide_json() { return file_text(L3DML_TESTDATA "/wide-bf-rt.json"); }
inline std::string sample_json() { return file_text(L3DML_TESTDATA "/sample-bf-rt.json"); }

}  // namespace l3dml::server::testing
