// Fuzz target for BfRuntime requests. The first byte picks: bytes taken as a WriteRequest, as a ReadRequest,
// or as instructions that build a Write near the schema, so that deep code is reached without guessing ids.
// Nothing may crash; every status is one the protocol documents; what failed as a whole has changed nothing.
// With clang and -Dfuzz=true: libFuzzer (`tools/dev fuzz requests`); with any compiler the corpus is
// replayed.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "dataplane/server/driver.h"

namespace {

using namespace l3dml;
using namespace l3dml::server;

// Reads numbers from the input; zeros once it has ended.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool ended() const { return at_ >= size_; }
  uint8_t byte() { return ended() ? 0 : data_[at_++]; }
  size_t below(size_t count) { return count == 0 ? 0 : (size_t{byte()} << 8 | byte()) % count; }
  std::string bytes(size_t count) {
    std::string out;
    while (out.size() < count) out += static_cast<char>(byte());
    return out;
  }
  // Mostly of the right length.
  std::string bytes_near(size_t count) { return bytes(byte() % 16 == 0 ? byte() % 20 : count); }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

Driver& driver() {
  static const std::unique_ptr<Driver> the_driver = [] {
    std::ostringstream text;
    text << std::ifstream(L3DML_TESTDATA "/wide-bf-rt.json").rdbuf();
    auto created = Driver::create({.program_name = "wide", .program_json = text.str(), .pipes = 2});
    if (!created.ok()) abort();
    return *std::move(created);
  }();
  return *the_driver;
}

void build_key(const TableInfo& info, Input& in, bfrt_proto::TableKey& key) {
  for (const FieldInfo& field : info.key) {
    if (in.byte() % 8 == 0) continue;
    bfrt_proto::KeyField& out = *key.add_fields();
    out.set_field_id(in.byte() % 32 == 0 ? in.byte() : field.id);
    const size_t width = field.type == FieldType::text ? in.byte() % 8 : field.byte_count();
    switch (field.match) {
      case tna::MatchKind::exact:
        out.mutable_exact()->set_value(in.byte() % 4 != 0
                                           ? std::string(width - (width > 0), '\0') + in.bytes(width > 0)
                                           : in.bytes_near(width));
        break;
      case tna::MatchKind::ternary:
        out.mutable_ternary()->set_value(in.bytes_near(width));
        out.mutable_ternary()->set_mask(in.bytes_near(width));
        break;
      case tna::MatchKind::lpm:
        out.mutable_lpm()->set_value(in.bytes_near(width));
        out.mutable_lpm()->set_prefix_len(static_cast<int8_t>(in.byte()));
        break;
      case tna::MatchKind::range:
        out.mutable_range()->set_low(in.bytes_near(width));
        out.mutable_range()->set_high(in.bytes_near(width));
        break;
      case tna::MatchKind::optional:
        out.mutable_optional()->set_value(in.bytes_near(width));
        out.mutable_optional()->set_is_valid(in.byte() % 2 == 0);
        break;
    }
  }
}

void build_field(const FieldInfo& info, Input& in, bfrt_proto::DataField& out) {
  out.set_field_id(info.id);
  const bool other = in.byte() % 32 == 0;  // another member of the oneof than the schema wants
  if (info.repeated != other) {
    for (size_t i = in.byte() % 6; i > 0; --i) {
      if (info.type == FieldType::boolean)
        out.mutable_bool_arr_val()->add_val(in.byte() % 2 == 0);
      else
        out.mutable_int_arr_val()->add_val(in.byte() % 4);
    }
  } else if (info.type == FieldType::boolean) {
    out.set_bool_val(in.byte() % 2 == 0);
  } else if (info.type == FieldType::real) {
    out.set_float_val(static_cast<float>(static_cast<int8_t>(in.byte())));
  } else if (info.type == FieldType::text) {
    out.set_str_val(info.choices.empty() ? in.bytes(3) : info.choices[in.below(info.choices.size())]);
  } else {
    out.set_stream(in.bytes_near(info.byte_count()));
  }
}

bfrt_proto::WriteRequest build(Input& in) {
  bfrt_proto::WriteRequest request;
  const uint8_t first = in.byte();
  request.mutable_target()->set_pipe_id(first % 4 == 0 ? first : 0xffff);
  request.set_atomicity(static_cast<bfrt_proto::WriteRequest::Atomicity>(first % 3));
  const auto& tables = driver().program().tables();
  while (!in.ended() && request.updates_size() < 32) {
    const TableInfo& info = tables[in.below(tables.size())];
    bfrt_proto::Update& update = *request.add_updates();
    const uint8_t kind = in.byte();
    update.set_type(static_cast<bfrt_proto::Update::Type>(kind % 7));
    if (kind > 240 && !info.operations.empty()) {
      update.mutable_entity()->mutable_table_operation()->set_table_id(info.id);
      update.mutable_entity()->mutable_table_operation()->set_table_operations_type(info.operations[0]);
      continue;
    }
    if (kind > 230) {
      auto* const attribute = update.mutable_entity()->mutable_table_attribute();
      attribute->set_table_id(info.id);
      (void)attribute->ParseFromString(in.bytes(in.byte() % 24));
      attribute->set_table_id(info.id);
      continue;
    }
    bfrt_proto::TableEntry& entry = *update.mutable_entity()->mutable_table_entry();
    entry.set_table_id(info.id);
    const uint8_t shape = in.byte();
    entry.set_is_default_entry(shape % 8 == 0);
    entry.mutable_table_flags()->set_mod_del(shape % 3 == 0);
    entry.mutable_table_flags()->set_reset_stats(shape % 2 == 0);
    if (shape % 8 != 0 && shape % 8 != 1) build_key(info, in, *entry.mutable_key());
    const ActionInfo* const action =
        info.actions.empty() ? nullptr : &info.actions[in.below(info.actions.size())];
    if (action != nullptr) entry.mutable_data()->set_action_id(action->id);
    for (const auto* fields : {action == nullptr ? &info.data : &action->data, &info.data}) {
      for (const FieldInfo& field : *fields) {
        if (in.byte() % 3 != 0) build_field(field, in, *entry.mutable_data()->add_fields());
      }
      if (action == nullptr) break;
    }
  }
  return request;
}

// All that a client could read of the tables that hold entries.
std::string snapshot() {
  bfrt_proto::ReadRequest request;
  request.mutable_target()->set_pipe_id(0xffff);
  for (const TableInfo& info : driver().program().tables()) {
    if (info.kind == TableKind::register_array || info.kind == TableKind::counter ||
        info.kind == TableKind::meter)
      continue;
    request.add_entities()->mutable_table_entry()->set_table_id(info.id);
  }
  std::vector<bfrt_proto::ReadResponse> responses;
  (void)driver().read(request, responses);
  std::string out;
  for (const bfrt_proto::ReadResponse& response : responses) out += response.SerializeAsString();
  return out;
}

void check(const std::vector<Outcome>& outcomes, int asked) {
  if (outcomes.size() > static_cast<size_t>(asked)) abort();
  for (const Outcome& outcome : outcomes) {
    switch (outcome.status.code()) {
      case absl::StatusCode::kOk:
        break;
      case absl::StatusCode::kInvalidArgument:
      case absl::StatusCode::kNotFound:
      case absl::StatusCode::kAlreadyExists:
      case absl::StatusCode::kResourceExhausted:
      case absl::StatusCode::kUnimplemented:
        if (outcome.status.message().empty()) abort();
        break;
      default:
        abort();
    }
  }
}

void write(const bfrt_proto::WriteRequest& request) {
  const bool atomic = request.atomicity() != bfrt_proto::WriteRequest::CONTINUE_ON_ERROR;
  const std::string before = atomic ? snapshot() : std::string();
  const std::vector<Outcome> outcomes = driver().write(request, {});
  check(outcomes, request.updates_size());
  const bool failed = !outcomes.empty() && !outcomes.back().status.ok();
  if (atomic && failed && snapshot() != before) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  driver().wipe();
  Input in(data + 1, size - 1);
  switch (data[0] % 3) {
    case 0: {
      bfrt_proto::WriteRequest request;
      if (request.ParseFromArray(data + 1, static_cast<int>(size - 1))) write(request);
      break;
    }
    case 1: {
      bfrt_proto::ReadRequest request;
      if (!request.ParseFromArray(data + 1, static_cast<int>(size - 1))) break;
      std::vector<bfrt_proto::ReadResponse> responses;
      check(driver().read(request, responses), request.entities_size());
      break;
    }
    default: {
      // What was accepted first is the state that the second request meets.
      const bfrt_proto::WriteRequest request = build(in);
      write(request);
      bfrt_proto::WriteRequest again = request;
      again.set_atomicity(bfrt_proto::WriteRequest::ROLLBACK_ON_ERROR);
      write(again);
    }
  }
  return 0;
}
