#include "control/target/bfrt_target.h"

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "bfruntime.grpc.pb.h"
#include "control/target/bfrt_codec.h"
#include "google/rpc/status.pb.h"

namespace l3dml::control::target {
namespace {

constexpr int kMaxHeaderBytes = 1 << 20;  // error details of large batches travel in the trailer

// The first failed update's own code and text, where the switch sent details.
absl::Status to_absl(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  google::rpc::Status details;
  int failures = 0;
  absl::Status first;
  if (details.ParseFromString(status.error_details())) {
    for (int i = 0; i < details.details_size(); ++i) {
      bfrt_proto::Error error;
      if (!details.details(i).UnpackTo(&error) || error.canonical_code() == 0) continue;
      if (failures++ == 0) {
        first = absl::Status(static_cast<absl::StatusCode>(error.canonical_code()),
                             details.details_size() == 1 ? error.message()
                                                         : absl::StrCat("update ", i, ": ", error.message()));
      }
    }
  }
  if (failures == 0)
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  if (failures == 1) return first;
  return absl::Status(first.code(), absl::StrCat(first.message(), " (and ", failures - 1, " more)"));
}

uint32_t random_id() {
  std::random_device source;
  return std::uniform_int_distribution<uint32_t>(1, INT32_MAX)(source);
}

class BfrtTarget final : public SwitchTarget {
 public:
  explicit BfrtTarget(BfrtOptions options) : options_(std::move(options)) {
    if (options_.client_id == 0) options_.client_id = random_id();
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxHeaderBytes);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // one connection each: a dead one is not shared
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
    if (!options_.authority.empty()) {
      credentials = grpc::SslCredentials({options_.authority, options_.private_key, options_.certificate});
      if (!options_.server_name.empty()) arguments.SetSslTargetNameOverride(options_.server_name);
    }
    channel_ = grpc::CreateCustomChannel(options_.address, credentials, arguments);
    stub_ = bfrt_proto::BfRuntime::NewStub(channel_);
  }

  ~BfrtTarget() override { close_stream(); }

  absl::Status reconnect() override {
    std::lock_guard only_one(connect_mutex_);
    close_stream();
    const auto deadline = std::chrono::system_clock::now() + options_.timeout;
    if (!channel_->WaitForConnected(deadline)) {
      return absl::UnavailableError(absl::StrCat("no switch answers at ", options_.address));
    }
    if (absl::Status status = open_stream(); !status.ok()) return status;
    if (absl::Status status = fetch_schema(); !status.ok()) return status;
    grpc::ClientContext context;
    context.set_deadline(deadline);
    bfrt_proto::SetForwardingPipelineConfigRequest request;
    request.set_device_id(options_.device_id);
    request.set_client_id(options_.client_id);
    request.set_action(bfrt_proto::SetForwardingPipelineConfigRequest::BIND);
    request.add_config()->set_p4_name(program());
    bfrt_proto::SetForwardingPipelineConfigResponse response;
    return to_absl(stub_->SetForwardingPipelineConfig(&context, request, &response));
  }

  std::shared_ptr<const TargetSchema> schema() const override {
    std::lock_guard lock(mutex_);
    return schema_;
  }
  std::string program() const override {
    std::lock_guard lock(mutex_);
    return program_;
  }
  bool connected() const override {
    std::lock_guard lock(mutex_);
    return subscribed_ && !ended_;
  }
  void on_event(std::function<void(const Event&)> receiver) override {
    std::lock_guard lock(event_mutex_);
    receiver_ = std::move(receiver);
  }

  absl::Status write(const Batch& batch, Atomicity atomicity) override {
    const auto known = schema();
    bfrt_proto::WriteRequest request;
    *request.mutable_target() = target_device(options_.device_id, kAllPipes);
    request.set_client_id(options_.client_id);
    request.set_atomicity(atomicity == Atomicity::all_or_nothing
                              ? bfrt_proto::WriteRequest::ROLLBACK_ON_ERROR
                              : bfrt_proto::WriteRequest::CONTINUE_ON_ERROR);
    for (size_t i = 0; i < batch.size(); ++i) {
      const Update& update = batch.updates()[i];
      if (absl::Status status = encode(*known, options_.device_id, update, request.add_updates());
          !status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat("update ", i, ", table ", update.table, ": ", status.message()));
      }
    }
    return send(request);
  }

  absl::StatusOr<std::vector<Row>> read(std::string_view table, const ReadOptions& options) override {
    return read_rows(table, nullptr, false, options);
  }
  absl::StatusOr<Row> read(std::string_view table, const Key& key, const ReadOptions& options) override {
    absl::StatusOr<std::vector<Row>> rows = read_rows(table, &key, false, options);
    if (!rows.ok()) return rows.status();
    if (rows->empty()) return absl::NotFoundError(absl::StrCat(std::string(table), ": no such entry"));
    return std::move(rows->front());
  }
  absl::StatusOr<std::optional<Row>> read_default(std::string_view table) override {
    absl::StatusOr<std::vector<Row>> rows = read_rows(table, nullptr, true, {});
    if (!rows.ok()) return rows.status();
    return rows->empty() ? std::optional<Row>() : std::optional<Row>(std::move(rows->front()));
  }

  absl::StatusOr<uint32_t> usage(std::string_view table) override {
    absl::StatusOr<const SchemaTable*> info = schema()->table(table);
    if (!info.ok()) return info.status();
    bfrt_proto::ReadRequest request = read_request();
    request.add_entities()->mutable_table_usage()->set_table_id((*info)->id);
    uint32_t usage = 0;
    absl::Status status =
        receive(request, [&](const bfrt_proto::Entity& entity) { usage = entity.table_usage().usage(); });
    if (!status.ok()) return status;
    return usage;
  }

  absl::StatusOr<std::vector<std::vector<Cell>>> read_registers(std::string_view table, uint32_t first,
                                                                uint32_t count) override {
    const auto known = schema();
    absl::StatusOr<const SchemaTable*> info = known->table(table);
    if (!info.ok()) return info.status();
    if ((*info)->key.size() != 1)
      return absl::InvalidArgumentError(absl::StrCat((*info)->name, " is no register"));
    bfrt_proto::ReadRequest request = read_request();
    for (uint32_t i = 0; i < count; ++i) {
      bfrt_proto::TableEntry* const entry = request.add_entities()->mutable_table_entry();
      if (absl::Status status = encode_wanted(**info, {}, entry); !status.ok()) return status;
      const Key key = Key{}.exact((*info)->key[0].name, first + i);
      if (absl::Status status = encode_key(**info, key, entry->mutable_key()); !status.ok()) return status;
    }
    std::vector<std::vector<Cell>> out;
    absl::Status status = receive(request, [&](const bfrt_proto::Entity& entity) {
      std::vector<Cell> pipes;
      std::vector<size_t> seen((*info)->data.size());  // values per field, one per pipe
      for (const auto& field : entity.table_entry().data().fields()) {
        for (size_t f = 0; f < seen.size() && f < 2; ++f) {
          if ((*info)->data[f].id != field.field_id()) continue;
          if (seen[f] == pipes.size()) pipes.emplace_back();
          uint64_t value = 0;
          for (unsigned char byte : field.stream()) value = value << 8 | byte;
          (f == 0 ? pipes[seen[f]].first : pipes[seen[f]].second) = value;
          ++seen[f];
        }
      }
      out.push_back(std::move(pipes));
    });
    if (!status.ok()) return status;
    return out;
  }

  absl::StatusOr<Counter> read_counter(std::string_view table, uint32_t index) override {
    absl::StatusOr<const SchemaTable*> info = schema()->table(table);
    if (!info.ok()) return info.status();
    if ((*info)->key.size() != 1)
      return absl::InvalidArgumentError(absl::StrCat((*info)->name, " is no counter"));
    absl::StatusOr<Row> row = read(table, Key{}.exact((*info)->key[0].name, index), {});
    if (!row.ok()) return row.status();
    return Counter{row->action.get("$COUNTER_SPEC_BYTES").number(),
                   row->action.get("$COUNTER_SPEC_PKTS").number()};
  }

  absl::Status set_idle_timeout(std::string_view table, bool enable, bool notify) override {
    bfrt_proto::TableAttribute attribute;
    bfrt_proto::IdleTable* const idle = attribute.mutable_idle_table();
    idle->set_enable(enable);
    idle->set_idle_table_mode(notify ? bfrt_proto::IdleTable::IDLE_TABLE_NOTIFY_MODE
                                     : bfrt_proto::IdleTable::IDLE_TABLE_POLL_MODE);
    return set_attribute(table, std::move(attribute));
  }
  absl::Status set_port_events(bool enable) override {
    bfrt_proto::TableAttribute attribute;
    attribute.mutable_port_status_notify()->set_enable(enable);
    return set_attribute("$PORT", std::move(attribute));
  }

 private:
  using Stream =
      grpc::ClientReaderWriter<bfrt_proto::StreamMessageRequest, bfrt_proto::StreamMessageResponse>;

  void set_deadline(grpc::ClientContext& context) const {
    context.set_deadline(std::chrono::system_clock::now() + options_.timeout);
  }

  absl::Status send(const bfrt_proto::WriteRequest& request) {
    grpc::ClientContext context;
    set_deadline(context);
    bfrt_proto::WriteResponse response;
    return to_absl(stub_->Write(&context, request, &response));
  }

  absl::Status set_attribute(std::string_view table, bfrt_proto::TableAttribute attribute) {
    absl::StatusOr<const SchemaTable*> info = schema()->table(table);
    if (!info.ok()) return info.status();
    attribute.set_table_id((*info)->id);
    bfrt_proto::WriteRequest request;
    *request.mutable_target() = target_device(options_.device_id, kAllPipes);
    request.set_client_id(options_.client_id);
    request.add_updates()->set_type(bfrt_proto::Update::INSERT);
    *request.mutable_updates(0)->mutable_entity()->mutable_table_attribute() = std::move(attribute);
    return send(request);
  }

  bfrt_proto::ReadRequest read_request(uint32_t pipe = kAllPipes) const {
    bfrt_proto::ReadRequest request;
    *request.mutable_target() = target_device(options_.device_id, pipe);
    request.set_client_id(options_.client_id);
    return request;
  }

  absl::Status receive(const bfrt_proto::ReadRequest& request,
                       const std::function<void(const bfrt_proto::Entity&)>& each) {
    grpc::ClientContext context;
    set_deadline(context);
    auto reader = stub_->Read(&context, request);
    bfrt_proto::ReadResponse response;
    while (reader->Read(&response)) {
      for (const bfrt_proto::Entity& entity : response.entities()) each(entity);
    }
    return to_absl(reader->Finish());
  }

  absl::StatusOr<std::vector<Row>> read_rows(std::string_view table, const Key* key, bool only_default,
                                             const ReadOptions& options) {
    const auto known = schema();
    absl::StatusOr<const SchemaTable*> info = known->table(table);
    if (!info.ok()) return info.status();
    bfrt_proto::ReadRequest request = read_request(options.pipe.value_or(kAllPipes));
    bfrt_proto::TableEntry* const entry = request.add_entities()->mutable_table_entry();
    if (absl::Status status = encode_wanted(**info, options, entry); !status.ok()) return status;
    entry->set_is_default_entry(only_default);
    if (key != nullptr) {
      if (absl::Status status = encode_key(**info, *key, entry->mutable_key()); !status.ok()) return status;
    }
    std::vector<Row> rows;
    absl::Status status = receive(request, [&](const bfrt_proto::Entity& entity) {
      rows.push_back(decode_row(**info, entity.table_entry()));
    });
    if (!status.ok()) return status;
    return rows;
  }

  absl::Status fetch_schema() {
    grpc::ClientContext context;
    set_deadline(context);
    bfrt_proto::GetForwardingPipelineConfigRequest request;
    request.set_device_id(options_.device_id);
    request.set_client_id(options_.client_id);
    bfrt_proto::GetForwardingPipelineConfigResponse response;
    if (absl::Status status = to_absl(stub_->GetForwardingPipelineConfig(&context, request, &response));
        !status.ok()) {
      return status;
    }
    for (const auto& config : response.config()) {
      if (!options_.program.empty() && config.p4_name() != options_.program) continue;
      auto parsed = TargetSchema::parse(config.bfruntime_info(), response.non_p4_config().bfruntime_info());
      if (!parsed.ok()) return parsed.status();
      std::lock_guard lock(mutex_);
      schema_ = *std::move(parsed);
      program_ = config.p4_name();
      return absl::OkStatus();
    }
    return absl::NotFoundError(
        absl::StrCat("the switch at ", options_.address, " does not run program '", options_.program, "'"));
  }

  absl::Status open_stream() {
    stream_context_ = std::make_unique<grpc::ClientContext>();
    stream_ = stub_->StreamChannel(stream_context_.get());
    bfrt_proto::StreamMessageRequest request;
    request.set_client_id(options_.client_id);
    request.mutable_subscribe()->set_device_id(options_.device_id);
    auto* const wants = request.mutable_subscribe()->mutable_notifications();
    wants->set_enable_learn_notifications(true);
    wants->set_enable_idletimeout_notifications(true);
    wants->set_enable_port_status_change_notifications(true);
    wants->set_enable_entry_active_notifications(true);
    {
      std::lock_guard lock(mutex_);
      subscribed_ = ended_ = false;
      end_status_ = absl::OkStatus();
    }
    stream_->Write(request);
    reader_ = std::thread([this] { read_stream(); });
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, options_.timeout, [this] { return subscribed_ || ended_; })) {
      return absl::UnavailableError(absl::StrCat("the switch at ", options_.address, " does not answer"));
    }
    return ended_ ? end_status_ : absl::OkStatus();
  }

  void close_stream() {
    if (stream_context_ != nullptr) stream_context_->TryCancel();
    if (reader_.joinable()) reader_.join();
    stream_.reset();
    stream_context_.reset();
  }

  void read_stream() {
    bfrt_proto::StreamMessageResponse message;
    while (stream_->Read(&message)) {
      if (message.has_subscribe()) {
        std::lock_guard lock(mutex_);
        subscribed_ = message.subscribe().status().code() == 0;
        ended_ = !subscribed_;
        end_status_ =
            subscribed_ ? absl::OkStatus() : absl::UnavailableError(message.subscribe().status().message());
        changed_.notify_all();
      } else {
        deliver(message);
      }
    }
    Event event;
    event.kind = Event::Kind::disconnected;
    event.status = to_absl(stream_->Finish());
    if (event.status.ok()) event.status = absl::UnavailableError("the switch ended the session");
    bool was_subscribed = false;
    {
      std::lock_guard lock(mutex_);
      was_subscribed = subscribed_ && !ended_;
      ended_ = true;
      end_status_ = event.status;
      changed_.notify_all();
    }
    if (was_subscribed) emit(event);
  }

  void emit(const Event& event) {
    std::lock_guard lock(event_mutex_);
    if (receiver_) receiver_(event);
  }

  void deliver(const bfrt_proto::StreamMessageResponse& message) {
    const auto known = schema();
    Event event;
    if (message.has_set_forwarding_pipeline_config_response()) {
      if (message.set_forwarding_pipeline_config_response().set_forwarding_pipeline_config_response_type() !=
          bfrt_proto::WARM_INIT_FINISHED) {
        return;
      }
      event.kind = Event::Kind::program_changed;
    } else if (known == nullptr) {
      return;  // before the schema is known nothing can be named
    } else if (message.has_digest()) {
      const SchemaDigest* const digest = known->digest(message.digest().digest_id());
      if (digest == nullptr) return;
      event.kind = Event::Kind::digest;
      event.name = digest->name;
      for (const auto& record : message.digest().data())
        event.records.push_back(decode_record(*digest, record));
    } else if (message.has_idle_timeout_notification()) {
      const auto& entry = message.idle_timeout_notification().table_entry();
      const SchemaTable* const table = known->table(entry.table_id());
      if (table == nullptr) return;
      event.kind = Event::Kind::idle_timeout;
      event.name = table->name;
      event.key = decode_key(*table, entry.key());
      event.active =
          message.idle_timeout_notification().type() == bfrt_proto::IdleTimeoutNotification::ENTRY_ACTIVE;
    } else if (message.has_port_status_change_notification()) {
      const auto& change = message.port_status_change_notification();
      const SchemaTable* const table = known->table(change.table_entry().table_id());
      if (table == nullptr) return;
      event.kind = Event::Kind::port_status;
      const Key key = decode_key(*table, change.table_entry().key());
      if (!key.fields().empty()) event.port = static_cast<uint32_t>(key.fields()[0].value.number());
      event.up = change.port_up();
    } else {
      return;
    }
    emit(event);
  }

  BfrtOptions options_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<bfrt_proto::BfRuntime::Stub> stub_;

  std::mutex connect_mutex_;  // one (re)connection at a time
  std::unique_ptr<grpc::ClientContext> stream_context_;
  std::unique_ptr<Stream> stream_;
  std::thread reader_;

  mutable std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::shared_ptr<const TargetSchema> schema_;
  std::string program_;
  bool subscribed_ = false;
  bool ended_ = false;
  absl::Status end_status_;

  std::mutex event_mutex_;
  std::function<void(const Event&)> receiver_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SwitchTarget>> connect_bfrt(const BfrtOptions& options) {
  auto target = std::make_unique<BfrtTarget>(options);
  if (absl::Status status = target->reconnect(); !status.ok()) return status;
  return std::unique_ptr<SwitchTarget>(std::move(target));
}

}  // namespace l3dml::control::target
