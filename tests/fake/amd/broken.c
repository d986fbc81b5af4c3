/* broken.c - is a library with the name of AMD SMI that lacks almost all functions, like one that
 * is too old or incompletely installed. */
int amdsmi_init(unsigned long long flags);

__attribute__((visibility("default"))) int amdsmi_init(unsigned long long flags)
{
    (void)flags;
    return 0;
}
