// How the blocks speak to registers, for BMv2: the accesses of ../stateful.p4 as read, body, write. Pairs are two registers.
#ifndef L3DML_V1MODEL_STATEFUL_P4_
#define L3DML_V1MODEL_STATEFUL_P4_

#define REGISTER(width, index, size, name) register<bit<width>>(size) name;
#define REGISTER_PAIR(cell, width, a, b, index, size, name) \
  register<bit<width>>(size) name##_##a;                    \
  register<bit<width>>(size) name##_##b;
#define ACCESS(name, cell, index, width, op, ...) action op(inout cell value, out bit<width> result) __VA_ARGS__
#define STORE(name, cell, index, op, ...) action op(inout cell value) __VA_ARGS__
#define EXECUTE(target, op, name, cell, width, at) \
  cell value;                                      \
  bit<width> result;                               \
  name.read(value, (bit<32>)at);                   \
  op(value, result);                               \
  name.write((bit<32>)at, value);                  \
  target = result;
#define EXECUTE_PAIR(target, op, name, cell, width, at, a, b) \
  cell value;                                                 \
  bit<width> result;                                          \
  name##_##a.read(value.a, (bit<32>)at);                      \
  name##_##b.read(value.b, (bit<32>)at);                      \
  op(value, result);                                          \
  name##_##a.write((bit<32>)at, value.a);                     \
  name##_##b.write((bit<32>)at, value.b);                     \
  target = result;
#define EXECUTE_STORE(op, name, cell, at) \
  cell value;                             \
  name.read(value, (bit<32>)at);          \
  op(value);                              \
  name.write((bit<32>)at, value);
#define COUNTER(index, size, name) counter(size, CounterType.packets) name;
#define COUNT(name, index, at) name.count((bit<32>)at);

#endif  // L3DML_V1MODEL_STATEFUL_P4_
