/* report_first.c - asks for a report before there is a session. */
#include <gpufl/gpufl.h>

int main(void)
{
    return gpufl_generate_report("report.txt") == GPUFL_E_STATE ? 0 : 1;
}
