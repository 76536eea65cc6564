import type { Action, AgenticService, Observe, State } from "../agentic/index.ts";

/** A lamp in some application: an AgenticService of no library, which counts who listens to it. */
export interface Lamp extends AgenticService {
  isOn(): boolean;
  listeners(): number;
}

export function lamp(): Lamp {
  let on = false;
  const heard = new Set<() => void>();
  const observed =
    <T>(value: () => T): Observe<T> =>
    (run) => {
      const tell = (): void => run(value());
      heard.add(tell);
      tell();
      return () => void heard.delete(tell);
    };
  const turn = (to: boolean) => async (): Promise<undefined> => {
    on = to;
    for (const tell of Array.from(heard)) tell();
    return undefined;
  };
  const actions = (): Readonly<Record<string, Action>> =>
    on
      ? { switch_off: { description: "Switch it off.", schema: false, execute: turn(false) } }
      : { switch_on: { description: "Switch it on.", schema: false, execute: turn(true) } };
  const states = (): Readonly<Record<string, State>> => ({ on: { schema: { type: "boolean" }, value: on } });
  return {
    states: observed(states),
    actions: observed(actions),
    async execute(name, input) {
      const action = actions()[name];
      return action === undefined ? `There is no action ${name} now.` : action.execute(input);
    },
    isOn: () => on,
    listeners: () => heard.size,
  };
}
