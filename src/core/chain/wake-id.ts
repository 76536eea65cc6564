/** Id of the message a wake is: the engine that rings it stamps it, re-execution finds the wake's name in it. */
export const wakeId = (life: string, name: string, at: number): string => `${life}.wake.${name}.${at}`;

/** Undefined: that message is no wake of this life. */
export function wakeNameIn(id: string, life: string): string | undefined {
  const start = `${life}.wake.`;
  return id.startsWith(start) ? id.slice(start.length, id.lastIndexOf(".")) : undefined;
}
