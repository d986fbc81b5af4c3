/* call_table.c - see call_table.h. */
#include "backend/nvidia/record/call_table.h"

/* clang-format off: one line for each list of calls */
#define ROW(name, id) [id] = VALUE,

const uint8_t call_roles[CALL_IDS] = {
#define VALUE ROLE_KERNEL
    CUPTI_KERNEL_CALLS(ROW)
#undef VALUE
#define VALUE ROLE_GRAPH
        CUPTI_GRAPH_CALLS(ROW)
#undef VALUE
#define VALUE ROLE_WAIT
            CUPTI_COPY_CALLS(ROW) CUPTI_SYNC_CALLS(ROW) CUPTI_MEMORY_CALLS(ROW)
                CUPTI_CODE_CALLS(ROW) CUPTI_MAY_WAIT_CALLS(ROW)
#undef VALUE
#define VALUE ROLE_CAPTURE_BEGIN
                    CUPTI_CAPTURE_BEGIN_CALLS(ROW)
#undef VALUE
#define VALUE ROLE_CAPTURE_END
                        CUPTI_CAPTURE_END_CALLS(ROW)
#undef VALUE
#define VALUE ROLE_INSTANTIATE
                            CUPTI_INSTANTIATE_CALLS(ROW)
#undef VALUE
#define VALUE ROLE_EXEC
                                CUPTI_EXEC_CALLS(ROW)
#undef VALUE
};

const uint8_t call_moments[CALL_IDS] = {
#define VALUE MOMENT_DONE
    CUPTI_DONE_CALLS(ROW)
#undef VALUE
#define VALUE MOMENT_ENDING
        CUPTI_ENDING_CALLS(ROW)
#undef VALUE
};

const bool call_unloads[CALL_IDS] = {
#define VALUE true
    CUPTI_UNLOAD_CALLS(ROW)
#undef VALUE
};

const bool call_loads[CALL_IDS] = {
#define VALUE true
    CUPTI_KERNEL_CALLS(ROW) CUPTI_GRAPH_CALLS(ROW) CUPTI_INSTANTIATE_CALLS(ROW)
        CUPTI_CODE_CALLS(ROW)
#undef VALUE
};
/* clang-format on */
