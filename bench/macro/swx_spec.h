// Builds an SWX pipeline from the text of a .spec file through DPDK's configuration calls. DPDK 22.11 itself
// only turns a .spec into C code that needs headers which are not installed; what is built here is
// interpreted. Reads what aggregate.spec uses: struct, header, metadata, regarray, action, table (exact
// match), apply.
#pragma once

#include <string>

struct rte_swx_pipeline;

namespace l3dml::bench {

// Throws std::runtime_error with the line. Ports are configured already.
void build_from_spec(rte_swx_pipeline* pipeline, const std::string& text);

}  // namespace l3dml::bench
