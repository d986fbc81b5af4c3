/* meta_cases.c - all cases of the suite of the small tables. */
#include "meta_place.h"

int meta_cases(void)
{
    return meta_people_cases() + meta_session_cases() + meta_list_cases() + meta_fleet_cases() +
           meta_rollup_cases() + meta_alert_cases() + meta_tenant_cases() + meta_migrate_cases() +
           meta_hard_cases();
}
