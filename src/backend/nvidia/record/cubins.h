/* cubins.h - writes copies of NVIDIA's device code, which are named by CUPTI's checksum. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_CUBINS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_CUBINS_H

#include "backend/common/code_copies.h"
#include "backend/nvidia/abi/pc.h"

/* Writes the new copies. checksum: the library's function; NULL: it has none. [collector] */
void cubins_drain(int (*checksum)(struct pc_crc_params *), struct sink *s);

#endif
