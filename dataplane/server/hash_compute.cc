#include "dataplane/server/hash_compute.h"

#include <algorithm>

#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

struct NamedCrc {
  std::string_view name;
  Crc crc;
};
constexpr uint64_t kAll32 = 0xffffffff, kAll64 = ~uint64_t{0};
constexpr NamedCrc kCrcs[] = {
    {"CRC_8", {8, 0x07, 0, false, 0}},
    {"CRC_8_DARC", {8, 0x39, 0, true, 0}},
    {"CRC_8_I_CODE", {8, 0x1d, 0xfd, false, 0}},
    {"CRC_8_ITU", {8, 0x07, 0, false, 0x55}},
    {"CRC_8_MAXIM", {8, 0x31, 0, true, 0}},
    {"CRC_8_ROHC", {8, 0x07, 0xff, true, 0}},
    {"CRC_8_WCDMA", {8, 0x9b, 0, true, 0}},
    {"CRC_16", {16, 0x8005, 0, true, 0}},
    {"CRC_16_BYPASS", {16, 0x8005, 0, false, 0}},
    {"CRC_16_DDS_110", {16, 0x8005, 0x800d, false, 0}},
    {"CRC_16_DECT", {16, 0x0589, 0, false, 1}},
    {"CRC_16_DECT_R", {16, 0x0589, 0, false, 1}},
    {"CRC_16_DECT_X", {16, 0x0589, 0, false, 0}},
    {"CRC_16_DNP", {16, 0x3d65, 0, true, 0xffff}},
    {"CRC_16_EN_13757", {16, 0x3d65, 0, false, 0xffff}},
    {"CRC_16_GENIBUS", {16, 0x1021, 0xffff, false, 0xffff}},
    {"CRC_16_MAXIM", {16, 0x8005, 0, true, 0xffff}},
    {"CRC_16_MCRF4XX", {16, 0x1021, 0xffff, true, 0}},
    {"CRC_16_RIELLO", {16, 0x1021, 0xb2aa, true, 0}},
    {"CRC_16_T10_DIF", {16, 0x8bb7, 0, false, 0}},
    {"CRC_16_TELEDISK", {16, 0xa097, 0, false, 0}},
    {"CRC_16_USB", {16, 0x8005, 0xffff, true, 0xffff}},
    {"X_25", {16, 0x1021, 0xffff, true, 0xffff}},
    {"XMODEM", {16, 0x1021, 0, false, 0}},
    {"MODBUS", {16, 0x8005, 0xffff, true, 0}},
    {"KERMIT", {16, 0x1021, 0, true, 0}},
    {"CRC_CCITT_FALSE", {16, 0x1021, 0xffff, false, 0}},
    {"CRC_AUG_CCITT", {16, 0x1021, 0x1d0f, false, 0}},
    {"CRC_32", {32, 0x04c11db7, kAll32, true, kAll32}},
    {"CRC_32_BZIP2", {32, 0x04c11db7, kAll32, false, kAll32}},
    {"CRC_32C", {32, 0x1edc6f41, kAll32, true, kAll32}},
    {"CRC_32D", {32, 0xa833982b, kAll32, true, kAll32}},
    {"CRC_32_MPEG", {32, 0x04c11db7, kAll32, false, 0}},
    {"POSIX", {32, 0x04c11db7, 0, false, kAll32}},
    {"CRC_32Q", {32, 0x814141ab, 0, false, 0}},
    {"JAMCRC", {32, 0x04c11db7, kAll32, true, 0}},
    {"XFER", {32, 0x000000af, 0, false, 0}},
    {"CRC_64", {64, 0x42f0e1eba9ea3693, 0, false, 0}},
    {"CRC_64_GO_ISO", {64, 0x1b, kAll64, true, kAll64}},
    {"CRC_64_WE", {64, 0x42f0e1eba9ea3693, kAll64, false, kAll64}},
    {"CRC_64_JONES", {64, 0xad93d23594c935a9, 0, true, 0}},
};

uint64_t reversed(uint64_t value, unsigned width) {
  uint64_t out = 0;
  for (unsigned bit = 0; bit < width; ++bit) out |= (value >> bit & 1) << (width - 1 - bit);
  return out;
}

uint64_t low_bits(unsigned width) { return width >= 64 ? kAll64 : (uint64_t{1} << width) - 1; }

// Bits [start, start + length) of a big-endian value, from the least significant, most significant first.
void append_bits(const std::string& value, uint64_t start, uint64_t length, std::string& bits) {
  for (uint64_t i = length; i-- > 0;) {
    const uint64_t bit = start + i, byte = bit / 8;
    const bool set = byte < value.size() && (value[value.size() - 1 - byte] >> (bit % 8) & 1) != 0;
    bits += set ? '\1' : '\0';
  }
}

std::string pack(const std::string& bits) {
  std::string bytes((bits.size() + 7) / 8, '\0');
  const size_t pad = bytes.size() * 8 - bits.size();
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] != 0) bytes[(pad + i) / 8] |= static_cast<char>(0x80u >> ((pad + i) % 8));
  }
  return bytes;
}

const FieldValue* named(const Fields& fields, const std::vector<FieldInfo>& infos, std::string_view name) {
  for (const FieldInfo& info : infos) {
    if (info.name != name) continue;
    for (const FieldValue& field : fields) {
      if (field.id == info.id) return &field;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<Crc> find_crc(std::string_view name) {
  for (const NamedCrc& known : kCrcs) {
    if (known.name == name) return known.crc;
  }
  return std::nullopt;
}

uint64_t compute_crc(const Crc& crc, std::string_view bytes) {
  uint64_t rest = crc.init;
  const uint64_t top = uint64_t{1} << (crc.width - 1);
  for (char byte : bytes) {
    const auto raw = static_cast<uint8_t>(byte);
    for (unsigned i = 0; i < 8; ++i) {
      const bool in = (crc.reflected ? raw >> i : raw >> (7 - i)) & 1;
      const bool out = (rest & top) != 0;
      rest = rest << 1 & low_bits(crc.width);
      if (in != out) rest ^= crc.polynomial;
    }
  }
  if (crc.reflected) rest = reversed(rest, crc.width);
  return (rest ^ crc.final_xor) & low_bits(crc.width);
}

std::string HashComputeTable::message(const Data& configured, const Key& key) const {
  struct Part {
    uint64_t order, start, length;
    size_t field;
  };
  std::vector<Part> parts;
  const Table* const owner = device_.table_with_id(info_.depends_on.empty() ? 0 : info_.depends_on[0]);
  for (size_t i = 0; i < info_.key.size(); ++i) {
    const FieldValue* const lists =
        owner == nullptr ? nullptr : named(configured.fields, owner->info().data, info_.key[i].name);
    const auto* const slices = lists == nullptr ? nullptr : std::get_if<std::vector<Fields>>(&lists->value);
    if (slices == nullptr) continue;
    const FieldInfo* field = nullptr;
    for (const FieldInfo& candidate : owner->info().data) {
      if (candidate.id == lists->id) field = &candidate;
    }
    for (const Fields& slice : *slices) {
      auto get = [&](std::string_view name, uint64_t fallback) {
        const FieldValue* const value = named(slice, field->members, name);
        return value == nullptr ? fallback : get_uint(slice, value->id, fallback);
      };
      const uint64_t start = get("start_bit", 0);
      const uint64_t length = std::min<uint64_t>(get("length", info_.key[i].width), info_.key[i].width);
      parts.push_back({get("order", 0), start, length, i});
    }
  }
  // Not configured: all fields whole, in the order of the key.
  if (parts.empty()) {
    for (size_t i = 0; i < info_.key.size(); ++i) parts.push_back({i, 0, info_.key[i].width, i});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.order < b.order; });
  std::string bits;
  for (const Part& part : parts) append_bits(key.fields[part.field].value, part.start, part.length, bits);
  return pack(bits);
}

absl::StatusOr<uint64_t> HashComputeTable::hash(const Data& algorithm, const TableInfo& info,
                                                std::string_view bytes) const {
  const ActionInfo* const action = info.action(algorithm.action_id);
  if (action == nullptr) return error(absl::StatusCode::kInvalidArgument, "no algorithm is set");
  auto number = [&](std::string_view name, uint64_t fallback) {
    const FieldValue* const value = named(algorithm.fields, action->data, name);
    return value == nullptr ? fallback : get_uint(algorithm.fields, value->id, fallback);
  };
  if (action->name == "user_defined") {
    const FieldValue* const reverse = named(algorithm.fields, action->data, "reverse");
    Crc crc{.width = static_cast<unsigned>(number("hash_bit_width", 32)),
            .polynomial = number("polynomial", 0),
            .init = number("init", 0),
            .reflected = reverse != nullptr && get_bool(algorithm.fields, reverse->id),
            .final_xor = number("final_xor", 0)};
    if (crc.width == 0) crc.width = 32;
    if (crc.width > 64) return error(absl::StatusCode::kInvalidArgument, "hash_bit_width is above 64");
    return compute_crc(crc, bytes);
  }
  const FieldValue* const chosen = named(algorithm.fields, action->data, "algorithm_name");
  const std::string name = chosen == nullptr ? "RANDOM" : get_text(algorithm.fields, chosen->id);
  if (const std::optional<Crc> crc = find_crc(name)) return compute_crc(*crc, bytes);
  if (name == "IDENTITY") return to_uint(bytes);
  if (name == "XOR") {
    uint64_t out = 0;
    const size_t step = info_.data[0].byte_count();
    for (size_t end = bytes.size(); end > 0; end -= std::min(step, end))
      out ^= to_uint(bytes.substr(end - std::min(step, end), std::min(step, end)));
    return out;
  }
  const FieldValue* const seed = named(algorithm.fields, info.data, "seed");
  Crc fixed = *find_crc("CRC_64_WE");
  fixed.init ^= seed == nullptr ? 0 : get_uint(algorithm.fields, seed->id);
  return compute_crc(fixed, bytes);
}

absl::Status HashComputeTable::read(const ReadQuery& query, const Key& key, const Emit& emit) {
  Data configured, algorithm;
  const TableInfo* algorithm_info = nullptr;
  auto take = [&query](Table& table, Data& into) {
    return table.read_default(query, [&](const RowView& row) { into = *row.data; });
  };
  const uint32_t configure = info_.depends_on.empty() ? 0 : info_.depends_on[0];
  for (const TableInfo& other : device_.program->tables()) {
    Table* const table = device_.table_with_id(other.id);
    if (other.id == configure) {
      if (absl::Status status = take(*table, configured); !status.ok()) return status;
    } else if (other.type == "DynHashAlgorithm" && !other.depends_on.empty() &&
               other.depends_on[0] == configure) {
      algorithm_info = &other;
      if (absl::Status status = take(*table, algorithm); !status.ok()) return status;
    }
  }
  if (algorithm_info == nullptr || info_.data.empty()) return unsupported("algorithm to compute with");
  absl::StatusOr<uint64_t> value = hash(algorithm, *algorithm_info, message(configured, key));
  if (!value.ok()) return value.status();
  const FieldInfo& out = info_.data[0];
  const Data data{0, {{out.id, from_uint(*value & low_bits(out.width), out.byte_count())}}};
  emit({&key, &data});
  return absl::OkStatus();
}

}  // namespace l3dml::server
