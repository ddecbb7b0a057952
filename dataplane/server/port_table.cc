#include "dataplane/server/port_table.h"

#include "dataplane/server/codec.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

// Field ids of $PORT.
constexpr uint32_t kSpeed = 1, kFec = 2, kLanes = 3, kEnable = 4, kLoopback = 6, kTxMtu = 7, kRxMtu = 8;
constexpr uint32_t kDirection = 14, kMedia = 15;
constexpr uint32_t kIsValid = 21, kIsInternal = 22, kConn = 23, kChnl = 24, kUp = 25, kName = 26;

constexpr uint32_t kMaxMtu = 10240;  // bytes, frame with check sequence
constexpr uint32_t kMinMtu = 64;
constexpr int64_t kLookNs = 100'000'000;  // how often links are looked at for those who want to know

struct Speed {
  std::string_view name;
  uint32_t mbps;
  uint32_t max_lanes;
  bool firecode;  // which error correction the rate has
  bool reed_solomon;
};
constexpr Speed kSpeeds[] = {
    {"BF_SPEED_1G", 1000, 1, false, false},     {"BF_SPEED_10G", 10000, 1, true, false},
    {"BF_SPEED_25G", 25000, 1, true, true},     {"BF_SPEED_40G", 40000, 4, true, false},
    {"BF_SPEED_40G_NB", 40000, 2, true, false}, {"BF_SPEED_40G_NON_BREAKABLE", 40000, 2, true, false},
    {"BF_SPEED_50G", 50000, 2, true, true},     {"BF_SPEED_100G", 100000, 4, false, true},
};  // 200G and 400G are choices of the table but not of a Tofino 1

const Speed* find_speed(const std::string& name) {
  for (const Speed& speed : kSpeeds) {
    if (speed.name == name) return &speed;
  }
  return nullptr;
}

Value number(uint32_t value) { return from_uint(value, 4); }

PortSettings to_settings(const Fields& fields) {
  PortSettings out;
  out.enabled = get_bool(fields, kEnable);
  if (const Speed* speed = find_speed(get_text(fields, kSpeed))) out.speed_mbps = speed->mbps;
  const std::string direction = get_text(fields, kDirection);
  out.mac.receive = out.enabled && direction != "PM_PORT_DIR_TX_ONLY";
  out.mac.transmit = out.enabled && direction != "PM_PORT_DIR_RX_ONLY";
  const std::string loopback = get_text(fields, kLoopback, "BF_LPBK_NONE");
  if (loopback.ends_with("_NEAR")) out.mac.loopback = io::Loopback::near;
  if (loopback.ends_with("_FAR")) out.mac.loopback = io::Loopback::far;
  out.mac.tx_limit_bytes = static_cast<uint32_t>(get_uint(fields, kTxMtu, kMaxMtu));
  out.mac.rx_limit_bytes = static_cast<uint32_t>(get_uint(fields, kRxMtu, kMaxMtu));
  return out;
}

}  // namespace

PortTable::PortTable(const TableInfo& info, const Device& device)
    : EntryTable(info, device), map_{device.pipes}, driver_(device.ports) {
  Transaction nothing(false);  // the pipeline has these ports already
  WriteContext context{.transaction = nothing, .target = {}, .client = {}};
  add_given(context);
}

Key PortTable::key_of_port(uint32_t port) {
  Key key;
  key.fields.resize(1);
  key.fields[0].value = from_uint(port, 4);
  key.index = key.fields[0].value;
  return key;
}

bool PortTable::added(uint32_t port) const { return find(key_of_port(port)) != nullptr; }

void PortTable::add_given(WriteContext& context) {
  if (driver_ == nullptr) return;
  for (const PortDriver::Given& given : driver_->given()) {
    const Data data{0,
                    {{kSpeed, std::string("BF_SPEED_100G")},
                     {kFec, std::string("BF_FEC_TYP_NONE")},
                     {kEnable, given.enabled}}};
    if (EntryTable::insert(context, key_of_port(given.port), data).ok()) given_.insert(given.port);
  }
}

absl::Status PortTable::insert(WriteContext& context, Key key, const Data& data) {
  for (uint32_t id : {kSpeed, kFec}) {
    if (find_field(data.fields, id) == nullptr) {
      return error(absl::StatusCode::kInvalidArgument, "adding a port needs $SPEED and $FEC");
    }
  }
  const uint32_t port = port_of(key);
  if (!given_.contains(port)) return EntryTable::insert(context, std::move(key), data);
  // All fields, so that nothing of the configuration's choice is left.
  absl::StatusOr<Fields> all = complete_fields(info_, data, nullptr);
  if (!all.ok()) return all.status();
  if (absl::Status status = EntryTable::modify(context, key, Data{0, *std::move(all)}); !status.ok())
    return status;
  given_.erase(port);
  context.transaction.on_undo([this, port] { given_.insert(port); });
  return absl::OkStatus();
}

absl::Status PortTable::check_row(const Key& key, const Data& data, const Row*) {
  auto wrong = [this](std::string_view what) { return error(absl::StatusCode::kInvalidArgument, what); };
  const uint32_t port = port_of(key);
  if (!map_.valid(port)) return wrong(concat("there is no device port ", port));
  const std::string name = get_text(data.fields, kSpeed);
  const Speed* const speed = find_speed(name);
  if (speed == nullptr) return wrong(concat("no port runs at ", name));
  const uint64_t lanes = get_uint(data.fields, kLanes, 1);
  if (lanes == 0 || lanes > speed->max_lanes)
    return wrong(concat(name, " does not run on ", lanes, " lanes"));
  const std::string fec = get_text(data.fields, kFec);
  const bool firecode = fec == "BF_FEC_TYP_FIRECODE" || fec == "BF_FEC_TYP_FC";
  if ((firecode && !speed->firecode) || (fec.starts_with("BF_FEC_TYP_R") && !speed->reed_solomon))
    return wrong(concat(name, " has no ", fec));
  for (uint32_t id : {kTxMtu, kRxMtu}) {
    const uint64_t mtu = get_uint(data.fields, id, kMaxMtu);
    if (mtu < kMinMtu || mtu > kMaxMtu)
      return wrong(concat("an MTU lies between ", kMinMtu, " and ", kMaxMtu, " bytes, not at ", mtu));
  }
  if (driver_ == nullptr) return absl::OkStatus();
  if (absl::Status status = driver_->check(static_cast<uint16_t>(port), to_settings(data.fields));
      !status.ok())
    return error(status.code(), std::string_view(status.message().data(), status.message().size()));
  return absl::OkStatus();
}

void PortTable::stored(WriteContext& context, tna::Handle, const Row& row, const Data*) {
  if (driver_ != nullptr) {
    context.transaction.on_commit(
        [this, port = static_cast<uint16_t>(port_of(row.key)), settings = to_settings(row.data.fields)] {
          driver_->configure(port, settings);
        });
  }
  context.transaction.on_done([this] { tell_changes(); });
}

void PortTable::removed(WriteContext& context, tna::Handle, const Row& row) {
  const uint32_t port = port_of(row.key);
  if (given_.erase(port) != 0) context.transaction.on_undo([this, port] { given_.insert(port); });
  if (driver_ != nullptr)
    context.transaction.on_commit([this, port] { driver_->remove(static_cast<uint16_t>(port)); });
  context.transaction.on_done([this] { tell_changes(); });
}

void PortTable::wipe(WriteContext& context) {
  EntryTable::wipe(context);
  told_.clear();
  add_given(context);
}

void PortTable::look() const {
  if (driver_ != nullptr) device_.run([this] { driver_->look(); });
}

absl::Status PortTable::read(const ReadQuery& query, const Key& key, const Emit& emit) {
  look();
  return EntryTable::read(query, key, emit);
}

absl::Status PortTable::read_all(const ReadQuery& query, const Emit& emit) {
  look();
  return EntryTable::read_all(query, emit);
}

bool PortTable::is_up(uint32_t port, const Fields& fields) const {
  return get_bool(fields, kEnable) && (driver_ == nullptr || driver_->has_link(static_cast<uint16_t>(port)));
}

void PortTable::present(const ReadQuery&, tna::Handle, const Key& key, Data& data) {
  const uint32_t port = port_of(key);
  set_field(data.fields, kMedia, std::string("BF_MEDIA_TYPE_COPPER"));
  set_field(data.fields, kIsValid, true);
  set_field(data.fields, kIsInternal, map_.internal(port));
  set_field(data.fields, kConn, number(map_.connector(port)));
  set_field(data.fields, kChnl, number(map_.channel(port)));
  set_field(data.fields, kUp, is_up(port, data.fields));
  set_field(data.fields, kName, map_.name(port));
}

bool PortTable::notifies() const {
  const auto* set = attribute(bfrt_proto::TableAttribute::kPortStatusNotify);
  return set != nullptr && set->port_status_notify().enable();
}

// From here on clients hear of changes; what is now, they read.
void PortTable::attribute_changed(WriteContext& context) {
  context.transaction.on_done([this] {
    look();
    told_.clear();
    if (!notifies()) return;
    for (const auto& [handle, row] : rows())
      told_[port_of(row.key)] = is_up(port_of(row.key), row.data.fields);
  });
}

void PortTable::tick(int64_t now_ns) {
  if (!notifies() || now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookNs;
  tell_changes();
}

void PortTable::tell_changes() {
  if (!notifies()) return;
  look();
  absl::flat_hash_map<uint32_t, bool> now;
  for (const auto& [handle, row] : rows()) now[port_of(row.key)] = is_up(port_of(row.key), row.data.fields);
  auto tell = [this](uint32_t port, bool up) {
    bfrt_proto::StreamMessageResponse message;
    auto* const change = message.mutable_port_status_change_notification();
    change->mutable_table_entry()->set_table_id(info_.id);
    encode_key(info_, key_of_port(port), change->mutable_table_entry()->mutable_key());
    change->set_port_up(up);
    device_.notify(message);
  };
  for (const auto& [port, up] : now) {  // a port that was just added counts as having been down
    const auto before = told_.find(port);
    if (up != (before != told_.end() && before->second)) tell(port, up);
  }
  for (const auto& [port, up] : told_)
    if (up && !now.contains(port)) tell(port, false);
  told_ = std::move(now);
}

}  // namespace l3dml::server
