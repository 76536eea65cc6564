// Owns: the interface of an AgenticService, by its shape alone: serving one needs nothing of `@adobe/data`. Does not own: serving it
// (from-agentic-service.ts).

/** Subscribes to a value; returns the function that unsubscribes. It may notify at once, later, never, or repeatedly with equal values. */
export type Observe<T> = (notify: (value: T) => void) => () => void;

/** A value and the schema it should match. The schema may have non-standard keywords, and functions in them. */
export interface State {
  readonly schema?: unknown;
  readonly value: unknown;
}

/** An action takes either one input with a `schema` (`false`: no input), or a list of `parameters`. */
export interface Action {
  readonly description?: string;
  readonly schema?: unknown;
  readonly parameters?: readonly unknown[];
  execute(...input: readonly unknown[]): unknown;
}

/** States and actions that appear and disappear as a service's state changes, and links to other services. */
export interface AgenticService {
  readonly serviceName?: string;
  readonly states: Observe<{ readonly [key: string]: State }>;
  readonly actions: Observe<{ readonly [key: string]: Action }>;
  execute(action: string, input: unknown): Promise<unknown>;
  readonly links?: Observe<{ readonly [key: string]: AgenticService }>;
}

/** Combines several services into one that links to each under its key. */
export function agenticServices(services: { readonly [key: string]: AgenticService }): AgenticService {
  return {
    states: constant({}),
    actions: constant({}),
    links: constant({ ...services }),
    execute: async (action) => `Action ${JSON.stringify(action)} is not available`,
  };
}

function constant<T>(value: T): Observe<T> {
  return (notify) => {
    notify(value);
    return () => undefined;
  };
}

/** Whether a value has the shape of an AgenticService. It need not come from any library. */
export const isAgenticService = (value: unknown): value is AgenticService =>
  typeof value === "object" &&
  value !== null &&
  "states" in value &&
  typeof value.states === "function" &&
  "actions" in value &&
  typeof value.actions === "function" &&
  "execute" in value &&
  typeof value.execute === "function";
