// Owns: a workload whose chain must be the same text in every engine. Does not own: comparing the chains (tests of engines).
import {
  type Behaviour,
  DEFAULT_POLICY,
  type Engine,
  EngineError,
  type Json,
  type Outgoing,
  type Turn,
} from "../../core/contract/index.ts";

/** A call of the golden workload, and its error code if it must fail. */
export interface GoldenCall {
  readonly outgoing: Outgoing;
  readonly fails?: string;
}

/** The receiver of its messages. Started from outside, so that it has no parent. */
const OTHER = "golden/other";

type Ledger = { readonly [key: string]: Json };

const isLedger = (state: unknown): state is Ledger => typeof state === "object" && state !== null && !Array.isArray(state);

/** A behaviour whose turns cover all that a commit stores, which must be the same in every engine. */
export const golden = (persistence: "disk" | "distributed"): Behaviour => ({
  kind: "golden",
  version: 3,
  policy: { ...DEFAULT_POLICY, persistence, maxStateBytes: 65_536 },
  initial: (key, first) => ({ key, first: first.at, n: 0, list: [], map: {} }),
  receive(state, message) {
    if (!isLedger(state)) throw new TypeError("This is no ledger.");
    const { args } = message;
    const n = Number(state["n"]) + 1;
    const next: Ledger = { ...state, n };
    switch (message.action) {
      case "put":
        return { state: { ...next, map: { ...entries(state["map"]), ...entries(args) } }, reply: { ok: n } };
      case "push":
        return { state: { ...next, list: [...items(state["list"]), args] }, reply: { ok: [n, args] }, record: { pushed: args } };
      case "reverse":
        return { state: Object.fromEntries(Object.entries({ ...next, list: items(state["list"]).toReversed() }).toReversed()) };
      case "fill":
        return { state: { ...next, text: "✓ filled ".repeat(Number(args)) } };
      case "draw":
        return { state: { ...next, drawn: message.seed, at: message.at } };
      case "same":
        return { state: { ...state }, reply: { ok: "nothing new" } };
      case "look":
        return { reply: { ok: state["n"] ?? null } };
      case "refuse":
        return { state: next, reply: { refused: { code: "NO", message: "Not like this.", data: args } } };
      case "ask":
        return message.answers === undefined
          ? { state: next, reply: { needs: { sure: { method: "elicitation/create", params: { message: "Sure?" } } } } }
          : { state: { ...next, answered: message.answers }, reply: { ok: true } };
      case "tell":
        return {
          state: next,
          send: [
            { to: OTHER, action: "push", args: n },
            { to: OTHER, action: "look", args: null },
          ],
        };
      case "crash":
        throw new Error("A bug, on purpose.");
      case "corrupt":
        return { state: { ...next, n: Number.NaN } };
      case "flood":
        return { state: { ...next, text: "x".repeat(70_000) } };
      case "work":
        return async (context): Promise<Turn<unknown>> => {
          await new Promise((resolve) => setTimeout(resolve, 1));
          context.signal.throwIfAborted();
          return { state: { ...next, worked: args }, reply: { ok: { worked: args } }, record: ["outside", { zero: -0 }] };
        };
      case "work-refuse":
        return async () => ({ state: next, reply: { refused: { code: "NO", message: "Work said no." } } });
      case "work-crash":
        return async () => {
          throw new Error("A bug in work, on purpose.");
        };
      case "work-corrupt":
        return async () => ({ state: { ...next, when: new Date(0) } });
      case "end":
        return { state: next, reply: { ok: "over" }, stop: "asked to" };
      default:
        return { reply: { refused: { code: "UNKNOWN", message: `There is no ${message.action}.` } } };
    }
  },
  redact: ({ args }) => (isLedger(args) && "secret" in args ? { ...args, secret: "•" } : args),
});

/** Secrets are not stored in a state. */
const entries = (value: Json | undefined): Ledger =>
  isLedger(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => name !== "secret")) : {};
const items = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

const viewer = { principal: "issuer|somebody", scopes: ["play"], self: "golden/some%20one" } as const;

/** Sequential calls to one actor over two lives: enough for whole states, patches and sealed segments. */
export function goldenCalls(to: `golden/${string}` = "golden/some%20one"): readonly GoldenCall[] {
  const call = (action: string, args: Json = null, more: Partial<Outgoing> = {}): GoldenCall => ({
    outgoing: { to, action, args, ...more },
  });
  const failing = (fails: string, action: string, more: Partial<Outgoing> = {}): GoldenCall => ({ ...call(action, null, more), fails });
  const life: GoldenCall[] = [
    call("refuse", "first of all", { start: null }),
    failing("NO_ACTOR", "look"),
    call(
      "push",
      { deep: [[], {}, ""] },
      { start: { why: "a beginning" }, viewer, policy: { maxStateBytes: 50_000 }, trace: { traceparent: "00-1" } },
    ),
    call("put", { "2": "an index", b: 1, a: 2, "1": 1e21, 'quo"te': "☃\u2028", __proto: 0.1 }, { viewer }),
    call("put", { secret: "hidden", b: null, minus: -0 }),
    call("draw"),
    call("same"),
    call("look"),
    call("refuse", { again: true }),
    call("ask"),
    call("reverse"),
    call("tell", null, { viewer }),
    failing("CRASHED", "crash"),
    failing("STATE_NOT_JSON", "corrupt"),
    failing("STATE_TOO_LARGE", "flood"),
    call("work", { some: "work" }),
    call("work-refuse"),
    failing("CRASHED", "work-crash"),
    failing("STATE_NOT_JSON", "work-corrupt"),
    call("nothing"),
    failing("DEADLINE", "look", { deadline: 1 }),
    call("fill", 200),
    call("fill", 1),
  ];
  const many = Array.from({ length: 40 }, (_, index) =>
    call(index % 3 === 0 ? "push" : "put", { [`key ${index % 7}`]: index, text: "–".repeat(40) }),
  );
  return [
    { outgoing: { to: OTHER, action: "draw", args: null, start: null } },
    failing("NO_ACTOR", "look"),
    ...life,
    ...many,
    call("end"),
    failing("ACTOR_STOPPED", "look"),
    call("push", "another life", { start: null }),
    ...many,
  ];
}

/** Runs the calls in order, and returns the outcome of each: its reply, or the code and message of its error. */
export async function runGolden(engine: Pick<Engine, "call">, calls: readonly GoldenCall[]): Promise<readonly Json[]> {
  const outcomes: Json[] = [];
  for (const { outgoing, fails } of calls) {
    const outcome = await engine.call(outgoing).then(
      (reply): Json => ({ ...reply }),
      (error: unknown): Json => {
        if (error instanceof EngineError) return { fault: error.code, message: error.message };
        throw error;
      },
    );
    if (fails !== undefined && !(isLedger(outcome) && outcome["fault"] === fails))
      throw new Error(`${outgoing.action} should have failed with ${fails}, but ended with ${JSON.stringify(outcome)}.`);
    outcomes.push(outcome);
  }
  return outcomes;
}
