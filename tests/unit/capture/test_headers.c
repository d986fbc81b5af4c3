/* test_headers.c - tests the public headers, in a program of plain C11. The file is only compiled,
 * with every compiler of this machine, and without extensions. */
#include <gpufl/gpufl.h>

#include <gpufl/analysis.h>

#include <gpufl/gpufl.h> /* twice does no harm */

_Static_assert(GPUFL_OK == 0 && GPUFL_E_NOMEM < 0, "0 or negative");
_Static_assert(offsetof(struct gpufl_options, size) == 0, "what any version can read");
_Static_assert(offsetof(struct gpufl_upload_options, size) == 0, "what any version can read");
_Static_assert(offsetof(struct gpufl_report_options, size) == 0, "what any version can read");

int main(void)
{
    struct gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.enabled = false;
    return gpufl_init(&o) == GPUFL_E_STATE ? 0 : 1;
}
