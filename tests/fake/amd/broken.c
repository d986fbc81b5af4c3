/* broken.c - a file by the name of AMD SMI that lacks almost everything, as one that is too old or
 * half installed. */
int amdsmi_init(unsigned long long flags);

__attribute__((visibility("default"))) int amdsmi_init(unsigned long long flags)
{
    (void)flags;
    return 0;
}
