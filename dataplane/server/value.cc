#include "dataplane/server/value.h"

namespace l3dml::server {

uint64_t to_uint(std::string_view big_endian) {
  uint64_t value = 0;
  for (unsigned char byte : big_endian) value = value << 8 | byte;
  return value;
}

std::string from_uint(uint64_t value, size_t byte_count) {
  std::string out(byte_count, '\0');
  for (size_t i = byte_count; i-- > 0; value >>= 8) out[i] = static_cast<char>(value & 0xff);
  return out;
}

const Value* find_field(const Fields& fields, uint32_t id) {
  for (const FieldValue& field : fields) {
    if (field.id == id) return &field.value;
  }
  return nullptr;
}

Value* find_field(Fields& fields, uint32_t id) {
  return const_cast<Value*>(find_field(static_cast<const Fields&>(fields), id));
}

namespace {

template <typename T>
const T* get_as(const Fields& fields, uint32_t id) {
  const Value* value = find_field(fields, id);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

}  // namespace

uint64_t get_uint(const Fields& fields, uint32_t id, uint64_t fallback) {
  const auto* bytes = get_as<std::string>(fields, id);
  return bytes == nullptr ? fallback : to_uint(*bytes);
}

bool get_bool(const Fields& fields, uint32_t id, bool fallback) {
  const auto* flag = get_as<bool>(fields, id);
  return flag == nullptr ? fallback : *flag;
}

std::string get_text(const Fields& fields, uint32_t id, std::string_view fallback) {
  const auto* text = get_as<std::string>(fields, id);
  return std::string(text == nullptr ? fallback : *text);
}

std::vector<uint32_t> get_uints(const Fields& fields, uint32_t id) {
  const auto* list = get_as<std::vector<uint32_t>>(fields, id);
  return list == nullptr ? std::vector<uint32_t>{} : *list;
}

std::vector<bool> get_bools(const Fields& fields, uint32_t id) {
  const auto* list = get_as<std::vector<bool>>(fields, id);
  return list == nullptr ? std::vector<bool>{} : *list;
}

void set_field(Fields& fields, uint32_t id, Value value) {
  if (Value* old = find_field(fields, id)) {
    *old = std::move(value);
  } else {
    fields.push_back({id, std::move(value)});
  }
}

}  // namespace l3dml::server
