// How the blocks speak to registers, for Tofino; v1model/stateful.p4 says the same for BMv2, so that the blocks are shared.
//
// A register access is one read-modify-write per packet and pass: its body sees `value` (the cell) and leaves `result`.
//   REGISTER(width, index, size, name)              cells of one word, zero at the start
//   REGISTER_PAIR(cell, width, a, b, index, size, name)  cells of two words, struct `cell` with the fields a and b
//   ACCESS(name, cell, index, width, op, body)      an access, called op, whose result has `width` bits
//   STORE(name, cell, index, op, body)              an access without a result
//   EXECUTE(target, op, name, cell, width, at)      target = what op leaves at index `at`
//   EXECUTE_PAIR(..., a, b), EXECUTE_STORE(op, name, cell, at)
//   COUNTER(index, size, name), COUNT(name, index, at)   packets
// index is the number of bits of an index.
#ifndef L3DML_STATEFUL_P4_
#define L3DML_STATEFUL_P4_

#define REGISTER(width, index, size, name) Register<bit<width>, bit<index>>(size, 0) name;
#define REGISTER_PAIR(cell, width, a, b, index, size, name) Register<cell, bit<index>>(size, {0, 0}) name;
#define ACCESS(name, cell, index, width, op, ...)                 \
  RegisterAction<cell, bit<index>, bit<width>>(name) op = {       \
    void apply(inout cell value, out bit<width> result) __VA_ARGS__ \
  };
#define STORE(name, cell, index, op, ...)             \
  RegisterAction<cell, bit<index>, cell>(name) op = { \
    void apply(inout cell value) __VA_ARGS__          \
  };
#define EXECUTE(target, op, name, cell, width, at) target = op.execute(at);
#define EXECUTE_PAIR(target, op, name, cell, width, at, a, b) target = op.execute(at);
#define EXECUTE_STORE(op, name, cell, at) op.execute(at);
#define COUNTER(index, size, name) Counter<bit<32>, bit<index>>(size, CounterType_t.PACKETS) name;
#define COUNT(name, index, at) name.count((bit<index>)at);

#endif  // L3DML_STATEFUL_P4_
