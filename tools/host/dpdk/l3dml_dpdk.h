/* A job over a DPDK device in place of sockets: libl3dml_dpdk.so is libl3dml.so and this call (and needs
 * DPDK). Everything else is l3dml.h's. One device is one rank's: several ranks of a process need several
 * devices.
 */
#ifndef L3DML_DPDK_H_
#define L3DML_DPDK_H_

#include "tools/host/l3dml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As l3dml_open(), but sends and receives by `device`: "net_memif0,role=client,socket=/run/m.sock",
 * "net_af_xdp0,iface=eth1", "0000:01:00.0", ... `switch_mac`: of the switch or next router,
 * "02:13:d3:00:00:00". `eal`: arguments of DPDK's EAL separated by blanks, or null; those of the first call
 * count. Null on error. */
l3dml_job* l3dml_open_dpdk(const char* config_file, const char* device, const char* switch_mac,
                           const char* eal);

#ifdef __cplusplus
}
#endif
#endif
