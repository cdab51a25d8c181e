/* The tiny init of a jail that may start processes (SPEC_INIT): reaps, waits for
 * the tool, forwards its wait status on the status socket, exits. */
#ifndef BRIG_JAIL_INIT_H
#define BRIG_JAIL_INIT_H

/* Forks. In the child (PID 2, the tool-to-be) it returns; in PID 1 it never does. */
void init_split(void);

#endif
