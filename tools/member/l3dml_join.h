/* Joining by the controller: libl3dml_join.so is libl3dml.so and this call (and needs gRPC). Everything else
 * is l3dml.h's: l3dml_close() leaves the job, l3dml_rank() tells which rank this process got.
 */
#ifndef L3DML_JOIN_H_
#define L3DML_JOIN_H_

#include "tools/host/l3dml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Joins `job` at the controller, which finds our host by this machine's addresses. An argument that is null
 * comes from L3DML_CONTROLLER, L3DML_JOB, L3DML_TOKEN; L3DML_CERT, L3DML_KEY, L3DML_AUTHORITY name PEM files
 * for TLS. `rank`: the one we want, or -1. Null on error. */
l3dml_job* l3dml_join(const char* controller, const char* job, const char* token, int rank);

#ifdef __cplusplus
}
#endif
#endif
