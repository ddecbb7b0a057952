#include "dataplane/server/testing/client.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "google/rpc/status.pb.h"

namespace l3dml::server::testing {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);  // a bound, not a measure

template <typename Items>
auto& named(const Items& items, const std::string& name) {
  for (const auto& item : items) {
    if (item.name == name || item.name.ends_with("." + name)) return item;
  }
  throw std::invalid_argument("the schema has no " + name);
}

void set_value(const FieldInfo& info, const Datum& value, bfrt_proto::DataField& out) {
  struct Set {
    const FieldInfo& info;
    bfrt_proto::DataField& out;
    void operator()(uint64_t number) const { out.set_stream(from_uint(number, info.byte_count())); }
    void operator()(bool flag) const { out.set_bool_val(flag); }
    void operator()(float number) const { out.set_float_val(number); }
    void operator()(const std::string& text) const { out.set_str_val(text); }
    void operator()(const std::vector<uint32_t>& list) const {
      out.mutable_int_arr_val()->mutable_val()->Add(list.begin(), list.end());
    }
    void operator()(const std::vector<bool>& list) const {
      for (bool flag : list) out.mutable_bool_arr_val()->add_val(flag);
    }
  };
  std::visit(Set{info, out}, value);
}

}  // namespace

std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

grpc::StatusCode Result::code(size_t i) const {
  if (status.ok() || i >= errors.size()) return grpc::StatusCode::OK;
  return static_cast<grpc::StatusCode>(errors[i].canonical_code());
}

Client::Client(const std::string& address, const Schema& program, const Schema& fixed, uint32_t id,
               uint32_t device)
    : program_(program), fixed_(fixed), id_(id), device_(device) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  stub_ = bfrt_proto::BfRuntime::NewStub(channel_);
}

Client::~Client() { vanish(); }

void Client::collect() {
  bfrt_proto::StreamMessageResponse message;
  while (stream_->Read(&message)) {
    std::lock_guard lock(mutex_);
    messages_.push_back(message);
    arrived_.notify_all();
  }
  std::lock_guard lock(mutex_);
  ended_ = true;
  arrived_.notify_all();
}

grpc::Status Client::subscribe(Subscriptions wants) {
  context_ = std::make_unique<grpc::ClientContext>();
  stream_ = stub_->StreamChannel(context_.get());
  bfrt_proto::StreamMessageRequest request;
  request.set_client_id(id_);
  request.mutable_subscribe()->set_device_id(device_);
  auto* const asked = request.mutable_subscribe()->mutable_notifications();
  asked->set_enable_learn_notifications(wants.learn);
  asked->set_enable_idletimeout_notifications(wants.idle_timeout);
  asked->set_enable_port_status_change_notifications(wants.port_status);
  asked->set_enable_entry_active_notifications(wants.entry_active);
  asked->set_enable_selector_update_change_notifications(wants.selector_update);
  stream_->Write(request);
  ended_ = false;
  collector_ = std::thread([this] { collect(); });
  const bfrt_proto::StreamMessageResponse answer = next();
  if (answer.has_subscribe() && answer.subscribe().status().code() == 0) return grpc::Status::OK;
  collector_.join();
  const grpc::Status status = stream_->Finish();
  stream_.reset();
  return status;
}

bfrt_proto::StreamMessageResponse Client::next() {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, kPatience, [this] { return !messages_.empty() || ended_; });
  if (messages_.empty()) return {};
  bfrt_proto::StreamMessageResponse message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

bool Client::pending() {
  std::lock_guard lock(mutex_);
  return !messages_.empty();
}

bool Client::send(const bfrt_proto::StreamMessageRequest& request) { return stream_->Write(request); }

void Client::hang_up() {
  if (stream_ == nullptr) return;
  stream_->WritesDone();
  collector_.join();
  (void)stream_->Finish();
  stream_.reset();
}

void Client::vanish() {
  if (stream_ == nullptr) return;
  context_->TryCancel();
  collector_.join();
  (void)stream_->Finish();
  stream_.reset();
}

grpc::Status Client::bind(const std::string& program) {
  bfrt_proto::SetForwardingPipelineConfigRequest request;
  request.set_client_id(id_);
  request.set_device_id(device_);
  request.add_config()->set_p4_name(program);
  bfrt_proto::SetForwardingPipelineConfigResponse response;
  grpc::ClientContext context;
  return stub_->SetForwardingPipelineConfig(&context, request, &response);
}

const TableInfo& Client::info(const std::string& table) const {
  try {
    return named(program_.tables(), table);
  } catch (const std::invalid_argument&) {
    return named(fixed_.tables(), table);
  }
}

bfrt_proto::TableKey Client::key(const std::string& table, const std::vector<KeyPart>& parts) const {
  bfrt_proto::TableKey out;
  const TableInfo& owner = info(table);
  for (const KeyPart& part : parts) {
    bfrt_proto::KeyField& field = *out.add_fields();
    if (part.field == "$MATCH_PRIORITY") {
      field.set_field_id(kMatchPriorityId);
      field.mutable_exact()->set_value(from_uint(part.value, 4));
      continue;
    }
    const FieldInfo& known = named(owner.key, part.field);
    field.set_field_id(known.id);
    const std::string value = known.type == FieldType::text || !part.text.empty()
                                  ? part.text
                                  : from_uint(part.value, known.byte_count());
    switch (known.match) {
      case tna::MatchKind::exact:
        field.mutable_exact()->set_value(value);
        break;
      case tna::MatchKind::ternary:
        field.mutable_ternary()->set_value(value);
        field.mutable_ternary()->set_mask(from_uint(part.mask, known.byte_count()));
        break;
      case tna::MatchKind::lpm:
        field.mutable_lpm()->set_value(value);
        field.mutable_lpm()->set_prefix_len(static_cast<int32_t>(part.mask));
        break;
      case tna::MatchKind::range:
        field.mutable_range()->set_low(value);
        field.mutable_range()->set_high(from_uint(part.mask, known.byte_count()));
        break;
      case tna::MatchKind::optional:
        field.mutable_optional()->set_value(value);
        field.mutable_optional()->set_is_valid(true);
        break;
    }
  }
  return out;
}

bfrt_proto::TableEntry Client::entry(const std::string& table, const std::vector<KeyPart>& parts,
                                     const std::string& action_name,
                                     const std::vector<DataPart>& data) const {
  const TableInfo& owner = info(table);
  bfrt_proto::TableEntry out;
  out.set_table_id(owner.id);
  if (!parts.empty()) *out.mutable_key() = key(table, parts);
  const ActionInfo* const chosen = action_name.empty() ? nullptr : &named(owner.actions, action_name);
  if (chosen != nullptr) out.mutable_data()->set_action_id(chosen->id);
  for (const DataPart& part : data) {
    const FieldInfo* field = nullptr;
    for (const auto* list : {chosen == nullptr ? &owner.data : &chosen->data, &owner.data}) {
      for (const FieldInfo& candidate : *list) {
        if (field == nullptr && (candidate.name == part.field || candidate.name.ends_with("." + part.field)))
          field = &candidate;
      }
    }
    if (field == nullptr) throw std::invalid_argument("no data field " + part.field);
    bfrt_proto::DataField& to = *out.mutable_data()->add_fields();
    to.set_field_id(field->id);
    set_value(*field, part.value, to);
  }
  return out;
}

bfrt_proto::Update Client::update(bfrt_proto::Update::Type type, bfrt_proto::TableEntry entry) {
  bfrt_proto::Update out;
  out.set_type(type);
  *out.mutable_entity()->mutable_table_entry() = std::move(entry);
  return out;
}

bfrt_proto::Update Client::operation(const std::string& table, const std::string& name) const {
  bfrt_proto::Update out;
  out.set_type(bfrt_proto::Update::INSERT);
  out.mutable_entity()->mutable_table_operation()->set_table_id(info(table).id);
  out.mutable_entity()->mutable_table_operation()->set_table_operations_type(name);
  return out;
}

bfrt_proto::Update Client::attribute(const std::string& table, bfrt_proto::TableAttribute value) const {
  bfrt_proto::Update out;
  out.set_type(bfrt_proto::Update::INSERT);
  value.set_table_id(info(table).id);
  *out.mutable_entity()->mutable_table_attribute() = std::move(value);
  return out;
}

void Client::finish(Result& result, grpc::ClientContext&) const {
  google::rpc::Status details;
  if (result.status.error_details().empty() || !details.ParseFromString(result.status.error_details()))
    return;
  for (const google::protobuf::Any& any : details.details()) any.UnpackTo(&result.errors.emplace_back());
}

Result Client::write(const std::vector<bfrt_proto::Update>& updates,
                     bfrt_proto::WriteRequest::Atomicity atomicity) {
  bfrt_proto::WriteRequest request;
  request.set_atomicity(atomicity);
  for (const bfrt_proto::Update& update : updates) *request.add_updates() = update;
  return write(std::move(request));
}

Result Client::write(bfrt_proto::WriteRequest request) {
  request.set_client_id(id_);
  request.mutable_target()->set_device_id(device_);
  request.mutable_target()->set_pipe_id(pipe);
  request.mutable_target()->set_direction(0xff);
  request.mutable_target()->set_prsr_id(0xff);
  grpc::ClientContext context;
  for (const auto& [name, value] : metadata) context.AddMetadata(name, value);
  Result result;
  result.status = stub_->Write(&context, request, &result.response);
  finish(result, context);
  return result;
}

Result Client::read(const std::vector<bfrt_proto::Entity>& entities) {
  bfrt_proto::ReadRequest request;
  request.set_client_id(id_);
  request.mutable_target()->set_device_id(device_);
  request.mutable_target()->set_pipe_id(pipe);
  request.mutable_target()->set_direction(0xff);
  request.mutable_target()->set_prsr_id(0xff);
  for (const bfrt_proto::Entity& entity : entities) *request.add_entities() = entity;
  grpc::ClientContext context;
  for (const auto& [name, value] : metadata) context.AddMetadata(name, value);
  Result result;
  auto reader = stub_->Read(&context, request);
  bfrt_proto::ReadResponse response;
  while (reader->Read(&response)) {
    for (const bfrt_proto::Entity& entity : response.entities()) {
      result.entities.push_back(entity);
      if (entity.has_table_entry()) result.entries.push_back(entity.table_entry());
    }
  }
  result.status = reader->Finish();
  finish(result, context);
  return result;
}

Result Client::read(bfrt_proto::TableEntry entry) {
  bfrt_proto::Entity entity;
  *entity.mutable_table_entry() = std::move(entry);
  return read(std::vector{entity});
}

uint32_t Client::usage(const std::string& table) {
  bfrt_proto::Entity entity;
  entity.mutable_table_usage()->set_table_id(info(table).id);
  const Result result = read(std::vector{entity});
  return result.entities.empty() ? UINT32_MAX : result.entities[0].table_usage().usage();
}

const bfrt_proto::DataField* Client::find(const bfrt_proto::TableEntry& entry, const std::string& field,
                                          size_t nth) const {
  for (const Schema* schema : {&program_, &fixed_}) {
    const TableInfo* const owner = schema->table(entry.table_id());
    if (owner == nullptr) continue;
    for (const auto& value : entry.data().fields()) {
      const FieldInfo* const info = owner->data_field(entry.data().action_id(), value.field_id());
      if (info != nullptr && (info->name == field || info->name.ends_with("." + field)) && nth-- == 0)
        return &value;
    }
  }
  return nullptr;
}

uint64_t Client::number(const bfrt_proto::TableEntry& entry, const std::string& field, size_t nth) const {
  const bfrt_proto::DataField* const value = find(entry, field, nth);
  return value == nullptr ? UINT64_MAX : to_uint(value->stream());
}

std::string Client::action(const bfrt_proto::TableEntry& entry) const {
  const TableInfo* const owner = program_.table(entry.table_id());
  const ActionInfo* const chosen = owner == nullptr ? nullptr : owner->action(entry.data().action_id());
  return chosen == nullptr ? std::string() : chosen->name;
}

}  // namespace l3dml::server::testing
