// A BfRuntime client for tests: names instead of ids, numbers instead of byte strings, and the raw messages
// within reach. Speaks over a real socket. Not thread-safe, except that messages of the stream are collected
// by a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "bfruntime.grpc.pb.h"
#include "dataplane/server/schema.h"
#include "dataplane/server/table.h"

namespace l3dml::server::testing {

struct KeyPart {
  std::string field;
  uint64_t value = 0;  // range: low end
  uint64_t mask = 0;   // ternary: mask; range: high end; LPM: prefix length
  std::string text;    // instead of value: a text, or the bytes of a wide field
};
using Datum = std::variant<uint64_t, bool, float, std::string, std::vector<uint32_t>, std::vector<bool>>;
struct DataPart {
  std::string field;
  Datum value;
};

// What became of a request: of the call, and of each update or entity in it.
struct Result {
  grpc::Status status;
  std::vector<bfrt_proto::Error> errors;  // from grpc-status-details-bin
  std::vector<bfrt_proto::TableEntry> entries;
  std::vector<bfrt_proto::Entity> entities;
  bfrt_proto::WriteResponse response;
  bool ok() const { return status.ok(); }
  // The canonical code of update i; trailing successes have no error.
  grpc::StatusCode code(size_t i = 0) const;
};

class Client {
 public:
  Client(const std::string& address, const Schema& program, const Schema& fixed, uint32_t id = 0,
         uint32_t device = 0);
  ~Client();

  grpc::Status subscribe(Subscriptions wants = {true, true, true, true, true});
  grpc::Status bind(const std::string& program);
  void hang_up();  // ends the stream as a client does that closes
  void vanish();   // drops the connection without a word
  // The next message of the stream; empty when none came within ten seconds.
  bfrt_proto::StreamMessageResponse next();
  bool pending();  // is a message waiting?
  bool send(const bfrt_proto::StreamMessageRequest& request);

  const TableInfo& info(const std::string& table) const;  // full name, or what follows a dot
  bfrt_proto::TableKey key(const std::string& table, const std::vector<KeyPart>& parts) const;
  bfrt_proto::TableEntry entry(const std::string& table, const std::vector<KeyPart>& key = {},
                               const std::string& action = "", const std::vector<DataPart>& data = {}) const;
  static bfrt_proto::Update update(bfrt_proto::Update::Type type, bfrt_proto::TableEntry entry);
  bfrt_proto::Update operation(const std::string& table, const std::string& name) const;
  bfrt_proto::Update attribute(const std::string& table, bfrt_proto::TableAttribute value) const;

  Result write(const std::vector<bfrt_proto::Update>& updates,
               bfrt_proto::WriteRequest::Atomicity atomicity = bfrt_proto::WriteRequest::CONTINUE_ON_ERROR);
  Result write(bfrt_proto::WriteRequest request);  // target and client id are filled in
  Result insert(bfrt_proto::TableEntry entry) {
    return write({update(bfrt_proto::Update::INSERT, std::move(entry))});
  }
  Result modify(bfrt_proto::TableEntry entry) {
    return write({update(bfrt_proto::Update::MODIFY, std::move(entry))});
  }
  Result remove(bfrt_proto::TableEntry entry) {
    return write({update(bfrt_proto::Update::DELETE, std::move(entry))});
  }
  Result read(const std::vector<bfrt_proto::Entity>& entities);
  Result read(bfrt_proto::TableEntry entry);
  Result read_all(const std::string& table) { return read(entry(table)); }
  uint32_t usage(const std::string& table);

  // A value of an entry by field name; `nth` for fields that stand several times.
  uint64_t number(const bfrt_proto::TableEntry& entry, const std::string& field, size_t nth = 0) const;
  const bfrt_proto::DataField* find(const bfrt_proto::TableEntry& entry, const std::string& field,
                                    size_t nth = 0) const;
  std::string action(const bfrt_proto::TableEntry& entry) const;

  uint32_t pipe = kAllPipes;
  std::vector<std::pair<std::string, std::string>> metadata;  // sent with Write and Read
  bfrt_proto::BfRuntime::Stub& stub() { return *stub_; }

 private:
  void collect();
  void finish(Result& result, grpc::ClientContext& context) const;

  const Schema& program_;
  const Schema& fixed_;
  const uint32_t id_;
  const uint32_t device_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<bfrt_proto::BfRuntime::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<bfrt_proto::StreamMessageRequest, bfrt_proto::StreamMessageResponse>>
      stream_;
  std::thread collector_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<bfrt_proto::StreamMessageResponse> messages_;
  bool ended_ = false;
};

std::string file_text(const std::string& path);

}  // namespace l3dml::server::testing
