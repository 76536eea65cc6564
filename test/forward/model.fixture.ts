// Actors that pass calls on to each other as the calls specify, and a model of each call's outcome.
import * as fc from "fast-check";
import { actor, refuse } from "troupe";
import * as z from "zod";
import type { Forwarded, Value } from "../../src/core/actor/index.ts";
import type { ActorId, Json, Outgoing, Reply } from "../../src/core/contract/index.ts";

/** How many graphs random tests try: `FORWARD_GRAPHS=100` tries a hundred times as many. */
export const GRAPHS = Number(process.env["FORWARD_GRAPHS"] ?? 1);

/** How many nodes there are. Few, so that some calls form cycles. */
export const NODES = 6;

const hop = z.object({
  how: z.enum(["forward", "request", "settle"]),
  to: z.int(),
  /** `work` passes the call on from work. */
  action: z.enum(["go", "work"]),
  /** The reply in place of a refused request's. */
  rescue: z.boolean(),
});
/** `onward`: where the handler of a request's reply passes the call on to, instead of replying. */
const step = hop.extend({ onward: z.array(hop) });
const input = z.object({ call: z.string(), steps: z.array(step), end: z.enum(["ok", "settled", "refuse", "throw"]) });

export type Step = z.infer<typeof step>;
const stepsOf = (hops: Step["onward"]): Step[] => hops.map((one) => ({ ...one, onward: [] }));
export type Input = z.infer<typeof input>;

const counts = z.record(z.string(), z.int()).default({});
type Counts = Record<string, number>;
const add = (to: Counts, call: string): void => void (to[call] = (to[call] ?? 0) + 1);

export const board = actor("board", {
  description: "Counts the notes of each call.",
  per: "link",
  autoStart: true,
  state: z.object({ notes: counts }),
  messages: {
    note: {
      input: z.object({ call: z.string() }),
      run: ({ state, args }) => add(state.notes, args.call),
    },
  },
});

/** The input of a reply's handler. */
const back = z.object({ call: z.string(), rescue: z.boolean(), onward: z.array(step), end: input.shape.end });

interface Passing extends PassingOn {
  readonly state: { readonly seen: Counts };
  readonly args: Input;
  readonly send: (message: Outgoing) => string;
  readonly settled: (value: number) => Forwarded<number>;
}

interface PassingOn {
  readonly forward: (message: Outgoing) => Forwarded<unknown>;
  readonly request: (message: Outgoing, reply: "go" | "settleGo" | "work" | "settleWork", args: z.infer<typeof back>) => Forwarded<unknown>;
}

// The messages are not typed by the kind: it cannot name its own messages while it is inferred.
function pass(ctx: Passing): number | Forwarded<unknown> {
  const { state, args, send, settled } = ctx;
  const [next, ...steps] = args.steps;
  if (next === undefined) {
    if (args.end === "refuse") return refuse("No.", { code: "NO" });
    if (args.end === "throw") throw new Error("It broke.");
    add(state.seen, args.call);
    if (args.end === "ok") return 0;
    for (const at of ["a", "b"]) send(board.at(at).note({ call: args.call }));
    return settled(0);
  }
  add(state.seen, args.call);
  return passOn(next, { ...args, steps }, ctx);
}

function passOn({ how, to, action, rescue, onward }: Step, args: Input, { forward, request }: PassingOn): Forwarded<unknown> {
  const message: Outgoing = { to: `node/${to}`, action, args };
  if (how === "forward") return forward(message);
  const names = { go: ["go", "settleGo"], work: ["work", "settleWork"] } as const;
  return request(message, names[action][how === "request" ? 0 : 1], { call: args.call, rescue, onward: stepsOf(onward), end: args.end });
}

interface Returning {
  readonly state: { readonly back: Counts };
  readonly args: z.infer<typeof back>;
}
function refused({ state, args }: Returning): Value {
  add(state.back, args.call);
  return args.rescue ? 100 : undefined;
}

interface Replied extends Returning, PassingOn, Pick<Passing, "send" | "settled"> {
  readonly reply: unknown;
}

const replied = (action: "go" | "work", settles: boolean) => ({
  of: { kind: "node", action },
  input: back,
  run(ctx: Replied) {
    const { state, reply, send, settled } = ctx;
    const { call, onward, end } = ctx.args;
    add(state.back, call);
    const [next, ...steps] = onward;
    if (next !== undefined) return passOn(next, { call, steps, end }, ctx);
    if (!settles) return Number(reply) + 1;
    send(board.at("a").note({ call }));
    return settled(Number(reply) + 1);
  },
  refused,
});

export const node = actor("node", {
  description: "Passes calls on.",
  per: "link",
  autoStart: true,
  state: z.object({ seen: counts, back: counts }),
  messages: {
    go: { input, run: (ctx) => pass(ctx) },
    work: {
      input,
      async work(ctx) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        return pass(ctx);
      },
    },
  },
  replies: {
    go: replied("go", false),
    work: replied("work", false),
    settleGo: replied("go", true),
    settleWork: replied("work", true),
  },
});

export const KINDS = [node, board];

/** A call of a node. */
export interface Call extends Input {
  readonly at: number;
  readonly action: "go" | "work";
}

export const outgoingOf = ({ at, action, call, steps, end }: Call): Outgoing & { readonly to: ActorId } => ({
  to: `node/${at}`,
  action,
  args: { call, steps, end },
});

/** The outcome of a call. */
export interface Expected {
  readonly reply: string;
  /** How often each actor has counted the call: `node/1 seen`, `node/1 back`, `board/a notes`. */
  readonly counts: ReadonlyMap<string, number>;
  readonly deadLetters: number;
}

export function expectedOf({ at, action, steps, end }: Call): Expected {
  const found = new Map<string, number>();
  const count = (what: string): void => void found.set(what, (found.get(what) ?? 0) + 1);
  let deadLetters = 0;
  const replyAt = (here: string, [next, ...rest]: readonly Step[], before: readonly string[]): number | string => {
    const [id = here] = here.split(" ");
    if (next === undefined) {
      if (end === "refuse") return "NO";
      if (end === "throw") {
        deadLetters += 1;
        return "CRASHED";
      }
      count(`${id} seen`);
      if (end === "settled") for (const key of ["a", "b"]) count(`board/${key} notes`);
      return 0;
    }
    const path = [...before, here];
    if (path.includes(nameOf(next))) return "CYCLE";
    count(`${id} seen`);
    return replyTo(id, next, rest, path);
  };
  /** The reply of an actor that passes a call on. */
  const replyTo = (id: string, next: Step, rest: readonly Step[], path: readonly string[]): number | string => {
    const reply = replyAt(nameOf(next), rest, path);
    if (next.how === "forward") return reply;
    const [onward, ...more] = typeof reply === "string" ? [] : stepsOf(next.onward);
    // The turn is refused, so nothing of it is applied (C3).
    if (onward !== undefined && path.includes(nameOf(onward))) return "CYCLE";
    count(`${id} back`);
    if (typeof reply === "string") return next.rescue ? 100 : reply;
    if (onward !== undefined) return replyTo(id, onward, more, path);
    if (next.how === "settle") count("board/a notes");
    return reply + 1;
  };
  const reply = String(replyAt(`node/${at} ${action}`, steps, []));
  return { reply, counts: found, deadLetters };
}

const nameOf = ({ to, action }: Step): string => `node/${to} ${action}`;

export const short = (reply: Reply): string =>
  "ok" in reply ? JSON.stringify(reply.ok) : "refused" in reply ? reply.refused.code : JSON.stringify(reply);

/** All ids of actors that a call may reach. */
export const IDS: readonly ActorId[] = [
  ...Array.from({ length: NODES }, (_, index): ActorId => `node/${index}`),
  ...["a", "b"].map((key): ActorId => `board/${key}`),
];

/** How often each actor has counted each call, by the call. */
export function countsIn(states: ReadonlyMap<ActorId, Json | undefined>): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const found = new Map<string, Map<string, number>>();
  for (const [id, state] of states)
    for (const [what, calls] of Object.entries(Object(state)))
      for (const [call, count] of Object.entries(Object(calls))) {
        const of = found.get(call) ?? new Map<string, number>();
        found.set(call, of.set(`${id} ${what}`, Number(count)));
      }
  return found;
}

const node$ = fc.nat({ max: NODES - 1 });
const action$ = fc.constantFrom("go" as const, "go" as const, "work" as const);
const hop$ = {
  how: fc.constantFrom("forward" as const, "request" as const, "settle" as const),
  to: node$,
  action: action$,
  rescue: fc.boolean(),
};
const onward$ = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Step["onward"]>([]) },
  fc.array(fc.record(hop$), { minLength: 1, maxLength: 2 }),
);

/** Calls without ids. The first actor does not throw by itself: such a call has no reply, and may be repeated. */
export const calls$ = fc.record({
  at: node$,
  action: action$,
  steps: fc.array(fc.record({ ...hop$, onward: onward$ }), { minLength: 1, maxLength: 5 }),
  end: fc.constantFrom("ok" as const, "ok" as const, "settled" as const, "refuse" as const, "throw" as const),
});

/** A user's tool that makes any call of the model. */
export const caller = actor("caller", {
  description: "Calls nodes.",
  per: "user",
  state: z.object({}),
  tools: {
    call: {
      description: "Call a node.",
      input: input.extend({ at: z.int(), action: z.enum(["go", "work"]) }),
      run: ({ args, forward }) => forward(outgoingOf(args)),
    },
  },
});
