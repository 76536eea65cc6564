// Owns: the forms of the ids of messages that an engine sends. Does not own: the messages.

const ENGINE_PREFIX = "engine.";

/** The id of a message that an engine sends on its own behalf, from hex digits. No id of a door, an actor or a wake has this prefix. */
export const ownId = (digits: string): string => ENGINE_PREFIX + digits;

export const isOwnId = (id: string): boolean => id.startsWith(ENGINE_PREFIX);

/** The id of the message that a wake sends. The engine stamps it when the wake fires; re-execution finds the wake's name in it. */
export const wakeId = (life: string, name: string, at: number): string => `${life}.wake.${name}.${at}`;

/** The name of the wake that sent the message with this id; undefined if it was no wake of this life. */
export function wakeNameIn(id: string, life: string): string | undefined {
  const start = `${life}.wake.`;
  return id.startsWith(start) ? id.slice(start.length, id.lastIndexOf(".")) : undefined;
}
