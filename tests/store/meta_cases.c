/* meta_cases.c - lists all cases of the suite of the small tables. */
#include "meta_place.h"

/* First the groups in which threads share a store, then those on one thread. ThreadSanitizer, which
 * is slow, has nothing to find in the latter. */
int meta_cases(void)
{
    int failed =
        meta_people_cases() + meta_migrate_cases() + meta_hard_cases() + meta_fleet_sum_cases();
#ifndef __SANITIZE_THREAD__
    failed += meta_session_cases() + meta_list_cases() + meta_fleet_cases() + meta_rollup_cases() +
              meta_alert_cases() + meta_tenant_cases() + meta_state_cases() + meta_quota_cases();
#endif
    return failed;
}
