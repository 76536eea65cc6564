// An AgenticService written by hand: a lamp that is on or off.
import type { AgenticService, Observe } from "troupe/agentic";

function observed<T>(read: () => T, hear: Set<() => void>): Observe<T> {
  return (notify) => {
    const tell = (): void => notify(read());
    tell();
    hear.add(tell);
    return () => void hear.delete(tell);
  };
}

/** `tells`: what its one action says of itself. */
export function lamp(tells: (on: boolean) => string = () => "Turns it on or off."): AgenticService {
  const hear = new Set<() => void>();
  let on = false;
  const turn = (): void => {
    on = !on;
    for (const tell of hear) tell();
  };
  return {
    states: observed(() => ({ on: { schema: { type: "boolean" }, value: on } }), hear),
    actions: observed(() => ({ turn: { description: tells(on), parameters: [], execute: turn } }), hear),
    execute: async (action) => (action === "turn" ? turn() : `There is no ${action}.`),
  };
}
