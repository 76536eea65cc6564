// Owns: the behaviour that the suites of engines run. Does not own: the tests (engine-suite.ts, turn-suite.ts).
import {
  type ActorId,
  type Behaviour,
  DEFAULT_POLICY,
  isJsonObject,
  type Json,
  type JsonObject,
  type Message,
  type Outgoing,
  type Policy,
  type Turn,
  type Work,
} from "../../core/contract/index.ts";

/** The state of every actor of the suites. */
export interface Tally {
  readonly n: number;
  readonly log: readonly string[];
}

/** How a test observes and delays work. */
export interface Hooks {
  /** Work waits here. */
  readonly gate?: () => Promise<unknown>;
  /** Called when a message is received, and when work starts or is aborted. */
  readonly saw?: (what: string, message: Message) => void;
}

const text = (value: Json | undefined): string => (typeof value === "string" ? value : JSON.stringify(value ?? null));
const isId = (value: string): value is ActorId => value.includes("/");
const bag = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});
const count = (value: Json | undefined): number => (typeof value === "number" ? value : 1);
const idOf = (value: Json | undefined): ActorId => {
  const id = text(value);
  if (!isId(id)) throw new TypeError(`${id} is no id`);
  return id;
};

/**
 * A behaviour with an action for each feature of an engine. `kind` is only its name.
 */
export function tallyKind(
  kind: string,
  policy: Partial<Policy> = {},
  hooks: Hooks = {},
  more: Partial<Behaviour<Tally>> = {},
): Behaviour<Tally> {
  return {
    kind,
    version: 1,
    policy: { ...DEFAULT_POLICY, ...policy },
    initial: (key, first) => {
      if (isJsonObject(first.start) && first.start["explode"] === true) throw new Error("no beginning");
      return { n: isJsonObject(first.start) ? count(first.start["n"] ?? 0) : 0, log: key === "main" ? [] : [`begun ${key}`] };
    },
    receive: (state, message, _life, _seq, uid) => {
      hooks.saw?.("receive", message);
      return message.action === "uid" ? { reply: { ok: uid ?? null } } : act(state, message, hooks);
    },
    redact: ({ args }) => (isJsonObject(args) && "secret" in args ? { ...args, secret: "[redacted]" } : args),
    ...more,
  };
}

const refuse = (code: string, message: string): Turn<Tally> => ({ reply: { refused: { code, message } } });

function act(state: Tally, message: Message, hooks: Hooks): Turn<Tally> | Work<Tally> {
  const args = bag(message.args);
  const logged = (line: string): Tally => ({ ...state, log: [...state.log, line] });
  switch (message.action) {
    case "add":
      return { state: { ...state, n: state.n + count(args["by"]) }, reply: { ok: state.n + count(args["by"]) } };
    case "get":
      return { reply: { ok: state.n } };
    case "troupe/begin":
      return {};
    case "same":
      return { state, reply: { ok: "same" } };
    case "when":
      return { state: logged(`${message.at} ${message.seed}`), reply: { ok: { at: message.at, seed: message.seed } } };
    case "refuse":
      return {
        state: { ...state, n: -1 },
        send: [{ to: idOf("tally/never"), action: "add", args: null, start: null }],
        ...refuse("NO", "No."),
      };
    case "needs":
      return message.answers
        ? { state: logged(text(message.answers["name"])), reply: { ok: message.answers } }
        : { reply: { needs: { name: { method: "elicitation/create", params: {} } } } };
    case "throw":
      throw new Error("secret detail");
    case "not-json":
      return { state: { ...state, log: [NOT_TEXT] } };
    case "grow":
      return { state: { ...state, log: [...state.log, "x".repeat(count(args["bytes"]))] } };
    case "note":
      return { state: logged(text(args["text"])) };
    case "send":
      return { state: logged(`sent ${text(args["action"])}`), send: [outgoing(args)] };
    case "send-many":
      return {
        state: logged("sent"),
        send: Array.from({ length: count(args["times"]) }, (_, index) => ({
          to: idOf(args["to"]),
          action: "note",
          args: { text: `${text(args["text"])}${index}` },
          start: null,
        })),
      };
    case "answered": {
      const { of, to, reply } = args;
      return { state: logged(`answered ${typeof of} ${text(to)} ${text(reply)}`) };
    }
    case "ended":
      return { state: logged(`ended ${text(args["child"])}: ${text(args["reason"])}`) };
    case "failed":
      return { state: logged(`failed ${text(args["child"])}: ${text(args["why"])}`) };
    case "restart":
      return { restart: [idOf(args["child"])], ...(args["next"] === undefined ? {} : { send: [outgoing(bag(args["next"]))] }) };
    case "later":
      return {
        state: logged(`later ${message.id}`),
        reply: "later",
        ...(args["done"] === undefined ? {} : { report: { [message.id]: { done: count(args["done"]) } } }),
      };
    case "answer": {
      const waiting = state.log.filter((line) => line.startsWith("later ")).map((line) => line.slice(6));
      return { state: { ...state, log: [] }, answer: Object.fromEntries(waiting.map((id) => [id, { ok: args["value"] ?? null }])) };
    }
    case "wake":
      return {
        wake: {
          [text(args["name"])]: {
            at: count(args["at"]),
            action: text(args["action"] ?? "tick"),
            ...(args["everyMs"] === undefined ? {} : { everyMs: count(args["everyMs"]) }),
            ...(args["cron"] === undefined ? {} : { cron: text(args["cron"]), timeZone: text(args["timeZone"]) }),
            args: { name: args["name"] ?? null },
          },
        },
      };
    case "cancel":
      return { wake: { [text(args["name"])]: null } };
    case "tick":
      return { state: logged(`tick ${text(args["name"])} ${message.at}`) };
    case "stop":
      return { state: logged("stopping"), stop: text(args["reason"]), reply: { ok: "stopped" } };
    case "emit":
      return { emit: [args["what"] ?? null], ...(args["change"] === true ? { state: logged("emitted") } : {}) };
    case "report": {
      const { of } = args;
      if (typeof of === "string") return { report: { [of]: { done: count(args["done"]) } } };
      const waiting = state.log.filter((line) => line.startsWith("later ")).map((line) => line.slice(6));
      return { report: Object.fromEntries(waiting.map((id) => [id, { done: count(args["done"]), total: 2, text: "so far" }])) };
    }
    case "record":
      return { state: logged("recorded"), record: args["what"] ?? null };
    case "work":
      return async ({ signal, progress, log }) => {
        hooks.saw?.("work", message);
        signal.addEventListener("abort", () => hooks.saw?.("abort", message));
        progress(1, 2, "half", { half: "done" });
        log("info", { at: "work" });
        await hooks.gate?.();
        if (args["fail"] === true) throw new Error("work failed");
        return { state: { ...state, n: state.n + count(args["by"]) }, reply: { ok: state.n + count(args["by"]) } };
      };
    case "record-refused":
      return async () => ({ state: { ...state, n: -1 }, record: args["what"] ?? null, ...refuse("NO", "No.") });
    case "only-record":
      return { record: args["what"] ?? null };
    case "refuse-work":
      return async () => {
        await hooks.gate?.();
        return { state: { ...state, n: -1 }, ...refuse("NO", "No.") };
      };
    case "overrun":
      // Ignores its signal, and uses its context after its time.
      return async (context) => {
        hooks.saw?.("work", message);
        await hooks.gate?.();
        const codes: string[] = [];
        const uses = [
          async () => context.progress(1),
          async () => {
            await context.call({ to: message.to, action: "get", args: null });
          },
        ];
        for (const use of uses) {
          try {
            await use();
          } catch (error) {
            codes.push(error instanceof Error && "code" in error ? String(error.code) : "none");
          }
        }
        hooks.saw?.(`codes ${codes.join(" ")}`, message);
        return { state: { ...state, n: 999 } };
      };
    case "call":
      return async (context) => {
        const reply = await context.call(outgoing(args));
        return { state: logged(`called ${text(args["action"])}`), reply };
      };
    default:
      return refuse("UNKNOWN", `There is no ${message.action}.`);
  }
}

/** A string that JSON cannot represent: a lone surrogate. */
const NOT_TEXT: string = JSON.parse('"\\ud800"');

function outgoing(args: JsonObject): Outgoing {
  const { to, action, with: given, start, replyAs, policy } = args;
  return {
    to: idOf(to),
    action: text(action),
    args: given ?? null,
    ...(start === undefined ? {} : { start }),
    ...(typeof replyAs === "string" ? { replyAs } : {}),
    ...(isJsonObject(policy) && policy["persistence"] === "memory" ? { policy: { persistence: "memory" as const } } : {}),
  };
}
