// Sizes of the program: how much of each resource it asks of the chip. Everything that is a behaviour is elsewhere.
// The numbers are the largest for which the program still fits Tofino 1 with 64 lanes (README.md has the table).
#ifndef L3DML_CONFIGURATION_P4_
#define L3DML_CONFIGURATION_P4_

#define SLOTS 16384             // ring entries per pipe; 64-bit cells of a stateful ALU end here
#define SLOT_INDEX_WIDTH 14     // log2(SLOTS)
#define NEIGHBORS 1024          // (stripe, neighbour) pairs per pipe
#define NEIGHBOR_INDEX_WIDTH 10 // log2(NEIGHBORS)
#define RING_ENTRIES 65536      // seq -> number, shared out by ring_base
#define RING_INDEX_WIDTH 16     // log2(RING_ENTRIES)
#define NACK_REACH 255          // how far behind the newest seq a NACK is answered, and how many it may ask for

#define ADMISSION_ENTRIES 2048
#define JOB_ENTRIES 1024
#define OWNER_ENTRIES 1024
#define GENERATED_ENTRIES 1024
#define REPLICA_ENTRIES 2048
#define LOCAL6_ENTRIES 128
#define HOST6_ENTRIES 4096
#define PREFIX6_ENTRIES 512
#define LOCAL4_ENTRIES 128
#define HOST4_ENTRIES 1024
#define PREFIX4_ENTRIES 512

#endif  // L3DML_CONFIGURATION_P4_
