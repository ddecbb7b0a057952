// The x86 pipeline behind a text protocol, one command a line on standard input, for comparisons with the P4
// program:
//   insert TABLE ACTION PRIORITY KEYS PARAMS   keys: e:HEX, t:HEX/HEX (value/mask) or l:HEX/BITS, joined by
//   commas;
//                                              parameters: HEX joined by commas; "-" for none
//   group MGID RID:PORT ...                    multicast group
//   packet PORT HEX                            answers "out PORT HEX" per packet that leaves, then "."
//   counter NAME                               answers "count INDEX PACKETS" per index that counted, then "."
//   drops                                      answers "drop NAME COUNT" per reason that occurred, then "."
// One pipe, time stands still. A line that is not understood ends the program with exit code 2.
#include <cstring>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "dataplane/base/heap_pool.h"
#include "dataplane/pipeline/device.h"

namespace l3dml {
namespace {

std::string unhex(const std::string& text) { return absl::HexStringToBytes(text); }

tna::MatchField match_field(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text.substr(2), '/');
  tna::MatchField field;
  field.value = unhex(parts.at(0));
  switch (text[0]) {
    case 'e':
      break;
    case 't':
      field.kind = tna::MatchKind::ternary;
      field.mask = unhex(parts.at(1));
      break;
    case 'l':
      field.kind = tna::MatchKind::lpm;
      field.prefix_length = std::stoi(parts.at(1));
      break;
    default:
      throw std::invalid_argument("key " + text);
  }
  return field;
}

std::vector<std::string> list(const std::string& text) {
  if (text == "-") return {};
  return absl::StrSplit(text, ',');
}

class Engine {
 public:
  Engine() {
    pipeline::DeviceConfig config;
    config.slots = 16384, config.lanes = 64, config.neighbors = 1024, config.ring_entries = 65536;
    config.mac = {2, 0, 0, 0, 0, 1};
    base::PacketPool* pools[] = {&pool_};
    device_ = pipeline::Device::create(config, pools, &executor_);
    for (uint16_t port = 0; port < 64; ++port) device_->set_port(port, true, false);
  }

  void run(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "insert") {
      insert(words);
    } else if (command == "group") {
      group(words);
    } else if (command == "packet") {
      packet(words);
    } else if (command == "counter") {
      counter(words);
    } else if (command == "drops") {
      drops();
    } else {
      throw std::invalid_argument("command " + command);
    }
  }

 private:
  void insert(std::istringstream& words) {
    std::string table, keys, params;
    tna::Entry entry;
    words >> table >> entry.action >> entry.priority >> keys >> params;
    for (const std::string& key : list(keys)) entry.key.push_back(match_field(key));
    for (const std::string& param : list(params)) entry.params.push_back(unhex(param));
    tna::TableTwin* twin = device_->table(table);
    if (!twin) throw std::invalid_argument("no table " + table);
    if (const absl::Status status = twin->check(entry); !status.ok())
      throw std::invalid_argument(table + ": " + std::string(status.message()));
    twin->insert(++handle_, entry);
  }

  void group(std::istringstream& words) {
    uint16_t mgid = 0;
    std::string node;
    std::vector<tna::ReplicationTwin::Node> nodes;
    words >> mgid;
    while (words >> node) {
      const std::vector<std::string> parts = absl::StrSplit(node, ':');
      nodes.push_back({static_cast<uint16_t>(std::stoi(parts.at(0))),
                       false,
                       0,
                       {static_cast<uint16_t>(std::stoi(parts.at(1)))}});
    }
    device_->replication()->set_group(mgid, nodes);
  }

  void packet(std::istringstream& words) {
    std::string hex;
    base::Packet* packet = pool_.alloc();
    words >> packet->port >> hex;
    const std::string frame = unhex(hex);
    std::memcpy(packet->data, frame.data(), frame.size());
    packet->size = static_cast<uint32_t>(frame.size());
    device_->pipe(0).process({&packet, 1}, 0, out_);
    for (base::Packet* sent : out_.packets()) {
      std::string bytes(reinterpret_cast<const char*>(sent->data), sent->size);
      if (sent->tail) bytes.append(reinterpret_cast<const char*>(sent->tail->data), sent->tail->size);
      std::cout << "out " << sent->port << ' ' << absl::BytesToHexString(bytes) << '\n';
      base::release(sent);
    }
    out_.clear();
    std::cout << "." << std::endl;
  }

  void counter(std::istringstream& words) {
    std::string name;
    words >> name;
    const tna::CounterTwin* twin = device_->counter(name);
    if (!twin) throw std::invalid_argument("no counter " + name);
    for (uint32_t i = 0; i < twin->size(); ++i)
      if (const uint64_t count = twin->read(i).packets) std::cout << "count " << i << ' ' << count << '\n';
    std::cout << "." << std::endl;
  }

  void drops() {
    for (size_t i = 1; i < base::kDropReasons; ++i) {
      const auto reason = static_cast<base::DropReason>(i);
      if (const uint64_t count = device_->drops(reason))
        std::cout << "drop " << base::drop_reason_name(reason) << ' ' << count << '\n';
    }
    std::cout << "." << std::endl;
  }

  base::HeapPool pool_{4096};
  pipeline::InlineExecutor executor_;
  std::unique_ptr<pipeline::Device> device_;
  pipeline::Outbox out_;
  tna::Handle handle_ = 0;
};

}  // namespace
}  // namespace l3dml

int main() {
  try {
    l3dml::Engine engine;
    for (std::string line; std::getline(std::cin, line);) engine.run(line);
  } catch (const std::exception& error) {
    std::cerr << "x86_engine: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
