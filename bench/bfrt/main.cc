// bfrt: how fast the driver takes exact-match entries over loopback while packets flow, and how fast it reads
// a full table back. One process: a device that forwards, its BfRuntime server, and a client over a TCP
// socket.
//
// Packets arrive at a fixed rate whether the pipeline stands or not, into a receive queue as long as a NIC's;
// what does not fit is lost and counted, as a NIC would.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include <CLI/CLI.hpp>
#include <grpcpp/grpcpp.h>
#include <nlohmann/json.hpp>

#include "bfruntime.grpc.pb.h"
#include "dataplane/base/heap_pool.h"
#include "dataplane/pipeline/worker_group.h"
#include "dataplane/server/server.h"
#include "tools/report/report.h"

namespace l3dml::bench {
namespace {

constexpr size_t kFrame = 62;
constexpr uint16_t kIn = 0, kOut = 4;
const char* const kTable = "pipe.Ingress.forwarder.host6";

struct Options {
  uint64_t entries = 100'000;
  unsigned batch = 100;
  double packets_per_second = 100'000;
  unsigned queue = 4096;  // packets
  int rounds = 3;
};

std::string destination(uint32_t n) {
  std::string address("\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
  for (size_t i = 0; i < 4; ++i) address[15 - i] = static_cast<char>(n >> (8 * i));
  return address;
}

// Receives an IPv6 packet to destination(0) at a fixed rate.
class PacedPort final : public io::Port {
 public:
  PacedPort(const Options& options, base::PacketPool& pool)
      : Port("in"), gap_ns_(1e9 / options.packets_per_second), queue_(options.queue), pool_(pool) {}

  unsigned rx_burst(base::Packet** packets, unsigned room, int64_t now_ns) override {
    if (start_ns_ == 0) start_ns_ = now_ns;
    const auto due = static_cast<uint64_t>(static_cast<double>(now_ns - start_ns_) / gap_ns_);
    uint64_t waiting = due - arrived_;
    longest_ = std::max(longest_, waiting);
    if (waiting > queue_) {
      lost_ += waiting - queue_;
      arrived_ += waiting - queue_;
      waiting = queue_;
    }
    unsigned count = 0;
    for (; count < std::min<uint64_t>(room, waiting); ++count) {
      packets[count] = make();
      if (packets[count] == nullptr) break;
    }
    arrived_ += count;
    return count;
  }
  void tx_burst(std::span<base::Packet* const> packets, int64_t) override {
    for (base::Packet* packet : packets) base::release(packet);
  }
  io::PortStats stats() const override { return {.rx_packets = arrived_ - lost_, .rx_drops = lost_}; }
  bool needs_wake_fd() const override { return false; }
  int64_t next_deadline_ns() const override {
    return start_ns_ + static_cast<int64_t>(gap_ns_ * static_cast<double>(arrived_ + base::kBurst));
  }
  uint64_t longest() const { return longest_; }

 private:
  base::Packet* make() {
    base::Packet* const packet = pool_.alloc();
    if (packet == nullptr) return nullptr;
    static constexpr uint8_t kHeaders[] = {0x02, 0x13, 0xd3, 0,    0, 0, 2, 0, 0, 0,  0,
                                           1,    0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 59, 64};
    packet->size = kFrame;
    std::memset(packet->data, 0, kFrame);
    std::memcpy(packet->data, kHeaders, sizeof kHeaders);
    packet->data[22] = 0xfd;
    packet->data[37] = 1;
    packet->data[38] = 0xfd;
    return packet;
  }
  const double gap_ns_;
  const uint64_t queue_;  // packets
  base::PacketPool& pool_;
  int64_t start_ns_ = 0;
  uint64_t arrived_ = 0, lost_ = 0, longest_ = 0;
};

class SinkPort final : public io::Port {
 public:
  SinkPort() : Port("out") {}
  unsigned rx_burst(base::Packet**, unsigned, int64_t) override { return 0; }
  void tx_burst(std::span<base::Packet* const> packets, int64_t) override {
    count_ += packets.size();
    for (base::Packet* packet : packets) base::release(packet);
  }
  io::PortStats stats() const override { return {.tx_packets = count_}; }
  bool needs_wake_fd() const override { return false; }

 private:
  uint64_t count_ = 0;
};

// The program's schema with room for the entries.
std::string schema(const std::string& path, uint64_t entries) {
  std::ifstream in(path);
  nlohmann::json json = nlohmann::json::parse(in);
  for (auto& table : json["tables"])
    if (table["name"] == kTable) table["size"] = entries + 1;
  return json.dump();
}

class Client {
 public:
  Client(int port, const server::TableInfo& table) : table_(table) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = bfrt_proto::BfRuntime::NewStub(grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
  }
  void write(bfrt_proto::Update::Type type, uint32_t first, uint32_t count) {
    bfrt_proto::WriteRequest request;
    request.set_p4_name("l3dml");
    request.mutable_target()->set_pipe_id(server::kAllPipes);
    for (uint32_t n = first; n < first + count; ++n) {
      bfrt_proto::Update* const update = request.add_updates();
      update->set_type(type);
      bfrt_proto::TableEntry* const entry = update->mutable_entity()->mutable_table_entry();
      entry->set_table_id(table_.id);
      bfrt_proto::KeyField* const key = entry->mutable_key()->add_fields();
      key->set_field_id(table_.key[0].id);
      key->mutable_exact()->set_value(destination(n));
      if (type == bfrt_proto::Update::DELETE) continue;
      entry->mutable_data()->set_action_id(table_.actions[0].id);
      for (const server::FieldInfo& field : table_.actions[0].data) {
        bfrt_proto::DataField* const data = entry->mutable_data()->add_fields();
        data->set_field_id(field.id);
        data->set_stream(field.name == "port" ? server::from_uint(kOut, 2)
                                              : server::from_uint(n + 1, 6));  // 0 asks for resolution
      }
    }
    grpc::ClientContext context;
    bfrt_proto::WriteResponse response;
    check(stub_->Write(&context, request, &response));
  }
  uint64_t read_all() {
    bfrt_proto::ReadRequest request;
    request.set_p4_name("l3dml");
    request.mutable_target()->set_pipe_id(server::kAllPipes);
    request.add_entities()->mutable_table_entry()->set_table_id(table_.id);
    grpc::ClientContext context;
    const auto reader = stub_->Read(&context, request);
    bfrt_proto::ReadResponse response;
    uint64_t count = 0;
    while (reader->Read(&response))
      for (const bfrt_proto::Entity& entity : response.entities())
        if (!entity.table_entry().is_default_entry()) ++count;
    check(reader->Finish());
    return count;
  }

 private:
  static void check(const grpc::Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "bfrt: %s\n", status.error_message().c_str());
    std::exit(1);
  }
  const server::TableInfo& table_;
  std::unique_ptr<bfrt_proto::BfRuntime::Stub> stub_;
};

int run(const Options& options, const std::string& program, report::Report& report) {
  base::HeapPool pool(16384);
  base::MonotonicClock clock;
  pipeline::WorkerGroup workers(clock);
  pipeline::Worker& worker = workers.add({});
  base::PacketPool* const pools[] = {&pool};
  const auto device =
      pipeline::Device::create({.slots = 64, .mac = {0x02, 0x13, 0xd3, 0, 0, 0}}, pools, &workers);
  device->set_port(kIn, true, false);
  device->set_port(kOut, true, false);
  PacedPort in(options, pool);
  SinkPort out;
  pipeline::PipeWiring wiring{.pipe = &device->pipe(0), .inputs = {{&in, kIn}}};
  wiring.outputs[kOut] = &out;
  worker.add(wiring);

  auto driver = server::Driver::create(
      {.program_name = "l3dml", .program_json = schema(program, options.entries + 1), .twin = device.get()});
  if (!driver.ok()) return std::fprintf(stderr, "bfrt: %s\n", driver.status().ToString().c_str()), 1;
  const server::TableInfo& table = *(*driver)->program().table(kTable);
  server::BfrtServer bfrt;
  if (!bfrt.add_device(*std::move(driver)).ok() || !bfrt.start("127.0.0.1:0").ok())
    return std::fprintf(stderr, "bfrt: cannot serve on loopback\n"), 1;
  Client client(bfrt.port(), table);
  client.write(bfrt_proto::Update::INSERT, 0, 1);  // where the packets go
  workers.start();

  const auto timed = [&clock](const auto& work) {
    const int64_t start_ns = clock.now_ns();
    work();
    return static_cast<double>(clock.now_ns() - start_ns) / 1e9;
  };
  const auto batches = [&](bfrt_proto::Update::Type type) {
    for (uint64_t first = 1; first <= options.entries; first += options.batch)
      client.write(type, static_cast<uint32_t>(first),
                   static_cast<uint32_t>(std::min<uint64_t>(options.batch, options.entries - first + 1)));
  };
  std::vector<double> inserts, modifies, deletes, reads;
  const auto entries = static_cast<double>(options.entries);
  for (int round = 0; round < options.rounds; ++round) {
    inserts.push_back(entries / timed([&] { batches(bfrt_proto::Update::INSERT); }));
    uint64_t found = 0;
    reads.push_back(timed([&] { found = client.read_all(); }));
    if (found != options.entries + 1) return std::fprintf(stderr, "bfrt: read %lu entries\n", found), 1;
    modifies.push_back(entries / timed([&] { batches(bfrt_proto::Update::MODIFY); }));
    deletes.push_back(entries / timed([&] { batches(bfrt_proto::Update::DELETE); }));
  }
  workers.stop();
  bfrt.stop();
  for (size_t i = 0; i < base::kDropReasons; ++i) {
    const auto reason = static_cast<base::DropReason>(i);
    if (const uint64_t count = device->drops(reason))
      std::fprintf(stderr, "dropped by the pipeline: %lu %s\n", count,
                   std::string(base::drop_reason_name(reason)).c_str());
  }
  const uint64_t received = in.stats().rx_packets, sent = out.stats().tx_packets,
                 overrun = in.stats().rx_drops;
  const std::map<std::string, std::string> group = {{"batch", std::to_string(options.batch)},
                                                    {"entries", std::to_string(options.entries)}};
  const auto add = [&](const char* name, const std::vector<double>& values, const char* unit,
                       std::optional<double> target) {
    report.rows.push_back({name, report::median(values), unit, group, target, report::spread_of(values)});
  };
  add("inserts", inserts, "entry/s", 20000.0);
  add("modifies", modifies, "entry/s", std::nullopt);
  add("deletes", deletes, "entry/s", std::nullopt);
  add("full_read", reads, "s", 2.0);
  add("packets_forwarded", {static_cast<double>(sent)}, "1", std::nullopt);
  add("packets_lost", {static_cast<double>(overrun + received - sent)}, "1", 0.0);
  add("longest_receive_queue", {static_cast<double>(in.longest())}, "1", std::nullopt);
  return 0;
}

}  // namespace
}  // namespace l3dml::bench

int main(int argc, char** argv) {
  using namespace l3dml;
  CLI::App app{"Writes and reads a table over BfRuntime while packets flow."};
  bench::Options options;
  std::string json, program = L3DML_BF_RT;
  app.add_option("--entries", options.entries, "entries in the table")->check(CLI::Range(1, 1'000'000));
  app.add_option("--batch", options.batch, "entries per request")->check(CLI::Range(1, 10'000));
  app.add_option("--rate", options.packets_per_second, "packets per second that arrive");
  app.add_option("--queue", options.queue, "packets that the receive queue holds");
  app.add_option("--rounds", options.rounds, "how often to fill, read and empty the table")
      ->check(CLI::Range(1, 101));
  app.add_option("--program", program, "bf-rt.json")->check(CLI::ExistingFile);
  app.add_option("--json", json, "write the report to this file (- for standard output)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  report::Report report{"bfrt", report::command_line(argc, argv), {}};
  if (const int failed = bench::run(options, program, report)) return failed;
  for (const report::Row& row : report.rows)
    std::fprintf(stderr, "%-22s %12.2f %s\n", row.name.c_str(), std::get<double>(row.value),
                 row.unit.c_str());
  if (json.empty()) return 0;
  if (const absl::Status status = report::write_json(report, json); !status.ok()) {
    std::fprintf(stderr, "bfrt: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
