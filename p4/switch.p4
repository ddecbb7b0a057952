// L3DML for Tofino 1 (TNA). Start here, then ingress.p4 and egress.p4, then the blocks in the order of their apply.
#include <core.p4>
#include <tna.p4>

#include "configuration.p4"
#include "headers.p4"
#include "types.p4"
#include "parsers.p4"
#include "stateful.p4"

#include "ingress.p4"
#include "egress.p4"

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;
