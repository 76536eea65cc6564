/**
 * What an AgenticService is, by its shape alone: nothing of `@adobe/data` is needed to serve one. Calls back at once,
 * never, or many times with equal values; returns its undo.
 */
export type Observe<T> = (notify: (value: T) => void) => () => void;

/** A value and the schema it should fit. The schema may have keywords of its own, and functions in them. */
export interface State {
  readonly schema?: unknown;
  readonly value: unknown;
}

/** Both shapes in use: one input of a `schema` (`false`: none), or a list of `parameters`. */
export interface Action {
  readonly description?: string;
  readonly schema?: unknown;
  readonly parameters?: readonly unknown[];
  execute(...input: readonly unknown[]): unknown;
}

/** States and actions that come and go with the state of a service, and links to other services. */
export interface AgenticService {
  readonly serviceName?: string;
  readonly states: Observe<{ readonly [key: string]: State }>;
  readonly actions: Observe<{ readonly [key: string]: Action }>;
  execute(action: string, input: unknown): Promise<unknown>;
  readonly links?: Observe<{ readonly [key: string]: AgenticService }>;
}

/** Several services as one, each a link under its key. */
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

/** By its shape: the interface is structural, and a service need not come from any library. */
export const isAgenticService = (value: unknown): value is AgenticService =>
  typeof value === "object" &&
  value !== null &&
  "states" in value &&
  typeof value.states === "function" &&
  "actions" in value &&
  typeof value.actions === "function" &&
  "execute" in value &&
  typeof value.execute === "function";
