import {
  type ActorId,
  type Behaviour,
  type ChainEvent,
  isJsonObject,
  type Json,
  type Message,
  type Reply,
  type Turn,
} from "../contract/index.ts";
import { DEFAULT_POLICY } from "../contract/index.ts";
import { entryOf } from "./entry.ts";
import { extraOf, kindFrom } from "./kind.ts";
import { begin, planTurn, type Base } from "./turn.ts";
import { wakeId } from "./messages.ts";

export interface Counter {
  readonly n: number;
  readonly log: readonly string[];
  readonly askId?: string;
}

/** Counts, logs, sends, asks, replies later, works, and has a secret argument. `more` makes it another program. */
export const counter = (more = 0, version = 1): Behaviour<Counter> => ({
  kind: "counter",
  version,
  policy: DEFAULT_POLICY,
  initial: () => ({ n: 0, log: [] }),
  migrate: (state) => (isJsonObject(state) ? { n: Number(state["n"]) * 10, log: ["migrated"] } : { n: 0, log: [] }),
  receive(state, message): Turn<Counter> | (() => Promise<Turn<Counter>>) {
    const args = isJsonObject(message.args) ? message.args : {};
    const by = Number(args["by"] ?? 1) + more;
    switch (message.action) {
      case "add":
        return {
          state: { ...state, n: state.n + by, log: [...state.log, `${by} at ${message.at}`].slice(-5) },
          reply: { ok: state.n + by },
        };
      case "tell":
        return { send: [{ to: "counter/other", action: "add", args: { by } }], reply: { ok: null } };
      case "later":
        return { state: { ...state, askId: message.id }, reply: "later" };
      case "answer":
        return { answer: state.askId === undefined ? {} : { [state.askId]: { ok: state.n } }, reply: { ok: null } };
      case "login":
        return { state: { ...state, n: state.n + by }, record: { sent: `token=${JSON.stringify(args["password"])};`, n: 1 } };
      case "fetch":
        return () => Promise.resolve({ state: { ...state, n: state.n + 100 }, record: { status: 200 } });
      case "wake":
        return {};
      case "end":
        return { stop: "done" };
      default:
        throw new Error(`no ${message.action}`);
    }
  },
  redact: (message) =>
    isJsonObject(message.args) && "password" in message.args ? { ...message.args, password: "[redacted]" } : message.args,
});

/** Writes a chain like an engine: one turn per message. */
export class Scribe {
  readonly id: ActorId;
  readonly events: ChainEvent[] = [];
  #base: Base | undefined;
  #seq = 0;
  #stopped = false;
  readonly #behaviour: Behaviour;

  constructor(behaviour: Behaviour, id: ActorId = "counter/c") {
    this.#behaviour = behaviour;
    this.id = id;
  }

  async tell(action: string, args: Json = {}, more: Partial<Message> & { readonly full?: boolean } = {}): Promise<Reply | "later"> {
    const { full, ...rest } = more;
    const kind = kindFrom(this.#behaviour);
    const n = this.#seq + 1;
    const message: Message = {
      id: `m${n}`,
      to: this.id,
      action,
      args,
      at: 1_000 * n,
      seed: n.toString(16).padStart(32, "0"),
      ...(action === "wake" ? { id: wakeId(this.#base?.life ?? "", "w", 1_000 * n), from: this.id } : { viewer: { scopes: [] } }),
      ...rest,
    };
    const born = this.#base === undefined || this.#stopped;
    const base = born || this.#base === undefined ? begin(kind, this.id, message, undefined) : this.#base;
    const outcome = this.#behaviour.receive(base.state, message);
    const signal = new AbortController().signal;
    const turn =
      typeof outcome === "function"
        ? await outcome({ signal, call: () => Promise.reject(new Error("none")), progress: () => undefined, log: () => undefined })
        : outcome;
    const wake = action === "wake" ? "w" : undefined;
    const plan = planTurn(base, { message, key: undefined, wake }, turn, {
      id: this.id,
      seq: n,
      born,
      keyMs: 1,
      answersElsewhere: false,
      parentKnows: false,
      whole: false,
    });
    if (plan === undefined) return turn.reply ?? { ok: null };
    const entry = entryOf(
      kind,
      plan,
      { parent: this.events.at(-1)?.id ?? null, full: full ?? born, messageCount: n, lastMessageAt: message.at, consumed: undefined },
      message.at,
    );
    this.events.push(entry.event);
    this.#base = { ...plan, extra: extraOf(kind, entry.row) };
    this.#seq = n;
    this.#stopped = plan.stop !== undefined;
    return plan.reply;
  }
}

/** A chain with every kind of event. */
export async function richChain(): Promise<readonly ChainEvent[]> {
  const scribe = new Scribe(counter());
  await scribe.tell("add", { by: 5 }, { start: null });
  await scribe.tell("add", {}, { cause: "ab".repeat(32) });
  await scribe.tell("tell", { by: 2 });
  await scribe.tell("later", {}, { from: "counter/asker", replyAs: "done" });
  await scribe.tell("fetch");
  await scribe.tell("answer");
  await scribe.tell("add", { by: 3 }, { full: true });
  await scribe.tell("login", { password: "hunter2!" });
  await scribe.tell("add", { by: 4 }, { from: "counter/asker", replyAs: "done" });
  await scribe.tell("wake");
  await scribe.tell("end");
  await scribe.tell("add", { by: 7 }, { start: null });
  await scribe.tell("add", { note: 'quo"ted "},"body":{' });
  return scribe.events;
}
