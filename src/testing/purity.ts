// Owns: running each live turn twice, to find turns that are not pure (law 4). Does not own: running a stored chain again (core/chain/reexecute.ts).
import { isDeepStrictEqual } from "node:util";
import { type Behaviour, EngineError, type Message } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";

/**
 * The same behaviour, with each pure turn run twice and compared (law 4), as `troupe dev` does. The second run gets another clock and
 * another `Math.random`. Throws `IMPURE`, naming the first path that differs. Work runs once, since it may differ.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { LocalEngine } from "troupe/engine";
 * import { memoryStore } from "troupe/store";
 * import { twice } from "troupe/testing";
 * import * as z from "zod";
 *
 * const door = actor("door", {
 *   description: "A door.",
 *   state: z.object({ open: z.boolean().default(false) }),
 *   tools: {
 *     open: {
 *       description: "Open it.",
 *       enabled: ({ state }) => !state.open || "It is already open.",
 *       run({ state }) {
 *         state.open = true;
 *         return "It creaks open.";
 *       },
 *     },
 *   },
 * });
 * await using engine = await LocalEngine.start({ kinds: [twice(door)], store: memoryStore() });
 * ```
 */
export function twice<S>(behaviour: Behaviour<S>): Behaviour<S> {
  const { kind, version, policy, per, autoStart, catalogue } = behaviour;
  const migrate = behaviour.migrate?.bind(behaviour);
  const view = behaviour.view?.bind(behaviour);
  const surface = behaviour.surface?.bind(behaviour);
  // Listed one by one: a behaviour may be an instance of a class, whose methods a spread would not copy.
  const needed = {
    kind,
    version,
    policy,
    initial: (key: string, first: Message) => compared(`${kind}: initial`, first, (message) => behaviour.initial(key, message)),
    receive: (state: S, message: Message, life?: string, seq?: number, uid?: string) =>
      compared(`${kind}: the turn of ${message.action}`, { state, message }, (read) =>
        behaviour.receive(read.state, read.message, life, seq, uid),
      ),
  };
  // All of them, so that the compiler reports one that is missing.
  const others: { readonly [N in Exclude<keyof Behaviour<S>, keyof typeof needed>]-?: Behaviour<S>[N] | undefined } = {
    per,
    autoStart,
    catalogue,
    migrate: migrate && ((state, from) => compared(`${kind}: migrate`, state, (read) => migrate(read, from))),
    view:
      view &&
      ((state, action, args, viewer, self, now) =>
        compared(`${kind}: the view ${action}`, { state, args }, (read) => view(read.state, action, read.args, viewer, self, now))),
    surface: surface && ((state, viewer, onFault) => compared(`${kind}: its surface`, state, (read) => surface(read, viewer, onFault))),
    offBy: behaviour.offBy?.bind(behaviour),
    rolesFor: behaviour.rolesFor?.bind(behaviour),
    misfits: behaviour.misfits?.bind(behaviour),
    roles: behaviour.roles?.bind(behaviour),
    lapses: behaviour.lapses?.bind(behaviour),
    redact: behaviour.redact?.bind(behaviour),
  };
  return { ...needed, ...omitUndefined(others) };
}

type Outcome<T> = { readonly value: T } | { readonly thrown: unknown };

function compared<R, T>(what: string, given: R, run: (read: R) => T): T {
  const before = structuredClone(given);
  const first = outcome(() => run(given));
  // A write to frozen data throws without naming the path. Repeated on a mutable copy, it can be located.
  const read = "thrown" in first && first.thrown instanceof TypeError ? structuredClone(given) : given;
  if (read !== given) outcome(() => run(read));
  const after = difference(before, read, "");
  if (after !== undefined)
    throw impure(what, `it changed what it was given, at ${after.path || "its root"}. Write to a copy, or to the draft`);
  const second = elsewhere(() => outcome(() => run(given)));
  if ("value" in first && typeof first.value === "function") return first.value;
  const apart = difference(comparable(first), comparable(second), "");
  if (apart !== undefined) {
    throw impure(
      what,
      `run twice it differs at ${apart.path || "its root"} (${apart.values}). Use the context's now, random() and id(), or \`work\``,
    );
  }
  if ("thrown" in first) throw first.thrown;
  return first.value;
}

function outcome<T>(run: () => T): Outcome<T> {
  try {
    return { value: run() };
  } catch (thrown) {
    return { thrown };
  }
}

// Errors are compared by their messages: stacks and identities always differ.
function comparable(given: Outcome<unknown>): unknown {
  if ("value" in given) return typeof given.value === "function" ? "work" : given.value;
  return { thrown: given.thrown instanceof Error ? given.thrown.message : given.thrown };
}

function impure(what: string, why: string): EngineError {
  return new EngineError("IMPURE", `${what} is not pure: ${why}.`);
}

const SHIFT_MS = 86_400_000 + 1;

/** Runs with a clock that is a day ahead: two reads of the real clock within one millisecond would be equal. */
function elsewhere<T>(run: () => T): T {
  const RealDate = globalThis.Date;
  const ahead = (): number => RealDate.now() + SHIFT_MS;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given: unknown[], self) =>
      Reflect.construct(target, given.length === 0 ? [ahead()] : given, self === globalThis.Date ? target : self),
    apply: () => new RealDate(ahead()).toString(),
    get: (target, name) => (name === "now" ? ahead : Reflect.get(target, name)),
  });
  try {
    return run();
  } finally {
    globalThis.Date = RealDate;
  }
}

interface Difference {
  readonly path: string;
  readonly values: string;
}

function difference(one: unknown, other: unknown, path: string): Difference | undefined {
  if (isDeepStrictEqual(one, other)) return undefined;
  // New at each run, and no state: the engine refuses them by their place (`STATE_NOT_JSON`), which says what is wrong.
  if (typeof one === typeof other && (typeof one === "function" || typeof one === "symbol")) return undefined;
  if (isObject(one) && isObject(other) && Array.isArray(one) === Array.isArray(other)) {
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const found = difference(Reflect.get(one, key), Reflect.get(other, key), `${path}/${key}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return { path, values: `${brief(one)} and ${brief(other)}` };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function brief(value: unknown): string {
  const text = isObject(value) ? JSON.stringify(value) : String(value);
  return text.length > 30 ? `${text.slice(0, 30)}…` : text;
}
