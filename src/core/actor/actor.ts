import {
  type ActorId,
  type Catalogue,
  DEFAULT_POLICY,
  isBag,
  type Json,
  type Message,
  type Outgoing,
  type Policy,
  REDACTED,
  type Surface,
  TroupeError,
  type Viewer,
} from "../contract/index.ts";
import { markStatic, freezeDeep } from "../contract/internal.ts";
import type { SendOptions } from "./context-types.ts";
import type { Definition, Kind, MessagesOf } from "./definition.ts";
import { checkWords } from "./known-words.ts";
import { misfitOf } from "./misfit.ts";
import { actorId, checkKind, checkMessageName, keyOf } from "./names.ts";
import { compilePrompt, compileResource, compileTool, doesOf } from "./offers.ts";
import { plain } from "./plain.ts";
import { Act } from "./act.ts";
import type { AnyDefinition, AnyMessage } from "./any-definition.ts";
import { seeded } from "./random.ts";
import { receive, view } from "./receive.ts";
import { describeIssues } from "../schema/index.ts";
import { type Check, compileCheck } from "./schema.ts";
import { surfaceOf } from "./surface.ts";

/**
 * A kind of actor, from its definition: compiled once, checked here (`BAD_DEFINITION`, `BAD_NAME`),
 * run by any engine. The turns it makes are pure, their states frozen (laws 1, 3, 4; C3).
 */
export function actor<
  const K extends string,
  S extends object,
  TI,
  TO,
  const RU,
  const RR,
  PI,
  MI,
  MR,
  MN extends string = never,
  MO = unknown,
>(kind: K, definition: Definition<S, TI, TO, RU, RR, PI, MI, MR, MN, MO>): Kind<K, S, MessagesOf<MI, MN>, MO>;
export function actor(kind: string, definition: AnyDefinition): object {
  checkKind(kind);
  checkWords(kind, definition);
  const version = positive(definition.version ?? 1, `${kind}: version`);
  const compiled = {
    tools: Object.entries(definition.tools ?? {}).map(([name, tool]) => compileTool(kind, name, tool)),
    resources: Object.entries(definition.resources ?? {}).map(([name, resource]) => compileResource(kind, name, resource)),
    prompts: Object.entries(definition.prompts ?? {}).map(([name, prompt]) => compilePrompt(kind, name, prompt)),
  };
  const offered = [...compiled.tools, ...compiled.resources, ...compiled.prompts].map((one) => one.act);
  const policy = policyOf(kind, definition);
  const check: Check = definition.state === undefined ? (value) => ({ value }) : compileCheck(definition.state, `${kind}, state`);
  const misfit = misfitOf(check);
  const acts = Object.assign(new Map<string, Act>(offered.map((act) => [act.action, act])), { minEveryMs: policy.minEveryMs, misfit });
  for (const [name, message] of Object.entries(definition.messages ?? {})) acts.set(name, compileMessage(kind, name, message));
  const catalogue: Catalogue = freezeDeep({
    tools: compiled.tools.map((one) => one.offer),
    resources: compiled.resources.map((one) => one.offer),
    prompts: compiled.prompts.map((one) => one.offer),
    // Also none at all is said: only then is what a viewer can meet known without looking at a state.
    links: linkedKinds(kind, definition.links ?? {}),
  });
  const fits = stateCheck(kind, definition, check);
  const { surface, constant } = surfaceOf(catalogue, offered, definition.links, misfit);
  const shown = (state: object, ...by: [viewer: Viewer, onFault?: (error: TroupeError) => void]): Surface => surface(frozen(state), ...by);
  const senders = senderPrototype(Object.keys(definition.messages ?? {}));
  const migrate = definition.migrate?.bind(definition);

  return Object.freeze({
    kind,
    describe: definition.describe,
    ...(definition.title !== undefined && { title: definition.title }),
    version,
    policy,
    per: definition.per ?? "shared",
    ...(definition.begins === true && { begins: true }),
    catalogue,
    initial: (key: string, first: Message) => initialState(definition, fits, key, first),
    ...(migrate !== undefined && { migrate: (state: Json, from: number) => fits(migrate(state, from)) }),
    receive: (state: object, message: Message, life?: string, seq?: number) => receive(acts, state, message, life, seq),
    view: (state, action, args, viewer, self) => view(acts, frozen(state), action, args, viewer, self === undefined ? "" : keyOf(self)),
    surface: constant ? markStatic(shown) : shown,
    // Only where something is secret: of other kinds nothing need be hidden, nor sealed.
    ...([...acts.values()].some((act) => act.secret !== undefined) && {
      redact: (message: Message) => redacted(acts.get(message.action), message),
    }),
    id: (key: string) => actorId(kind, key),
    at: (key: string) => Object.create(senders, { [TO]: { value: actorId(kind, key) } }),
  } satisfies Kind<string, object, Readonly<Record<string, unknown>>>);
}

function compileMessage(kind: string, name: string, message: AnyMessage): Act {
  const where = `${kind}: messages.${name}`;
  checkMessageName(name, where);
  if (message.view !== undefined) throw new TroupeError("BAD_DEFINITION", `${where}: a message is no read: use \`run\` or \`work\`.`);
  if (message.replies === true && message.input !== undefined) {
    throw new TroupeError("BAD_DEFINITION", `${where} brings replies: their arguments are known, leave \`input\` away.`);
  }
  return new Act({
    action: name,
    does: doesOf(message, where),
    input: message.input === undefined ? undefined : compileCheck(message.input, `${where}, input`),
    output: message.output === undefined ? undefined : compileCheck(message.output, `${where}, output`),
    secret: message.secret,
    replies: message.replies,
  });
}

// Of a state somebody read from a store by himself; turns have theirs of an engine. Frozen at its root it is frozen throughout.
function frozen(state: object): object {
  return Object.isFrozen(state) ? state : freezeDeep(state);
}

function initialState(definition: AnyDefinition, fits: (state: unknown) => object, key: string, first: Message): object {
  if (definition.initial === undefined) return fits({});
  const { random, id } = seeded(first.seed);
  return fits(definition.initial({ key, start: first.start, at: first.at, seed: first.seed, viewer: first.viewer, random, id }));
}

/** Holds a state against its schema and freezes it; a definition that can begin with nothing is refused at once. */
function stateCheck(kind: string, definition: AnyDefinition, check: Check): (state: unknown) => object {
  if (definition.state === undefined && definition.initial === undefined) {
    throw new TroupeError("BAD_DEFINITION", `${kind} has no state: give \`state\` (a schema with defaults) or \`initial\`.`);
  }
  const fits = (state: unknown): object => {
    const checked = check(state);
    if (checked.issues !== undefined) {
      throw new TroupeError(
        "BAD_DEFINITION",
        `A state of ${kind} does not fit its schema: ${describeIssues(checked.issues)}. Give defaults, \`initial\` or \`migrate\`.`,
      );
    }
    const { value } = checked;
    if (typeof value === "object" && value !== null) return freezeDeep(value);
    throw new TroupeError("BAD_DEFINITION", `A state of ${kind} must be an object: wrap a single value, as in { count: 0 }.`);
  };
  if (definition.initial === undefined) plain(fits({}), `The first state of ${kind}`, "BAD_DEFINITION");
  return fits;
}

function linkedKinds(kind: string, links: NonNullable<AnyDefinition["links"]>): Record<string, readonly string[]> {
  const named: Record<string, readonly string[]> = {};
  for (const [prefix, link] of Object.entries(links)) {
    if (!/^[A-Za-z0-9_-]{0,64}$/.test(prefix))
      throw new TroupeError("BAD_NAME", `${kind}: ${JSON.stringify(prefix)} is no prefix for a link: use A-Z, a-z, 0-9, _ and -.`);
    named[prefix] = link.kinds.map(checkKind);
  }
  return named;
}

function policyOf(kind: string, given: Partial<Policy>): Policy {
  const { persistence, owner, idleMs, expireMs, workMs, minEveryMs, mailbox, maxStateBytes, restart } = {
    ...DEFAULT_POLICY,
    ...withoutAbsent(given),
  };
  const numbers = {
    idleMs,
    workMs,
    minEveryMs,
    mailbox,
    maxStateBytes,
    ...(expireMs !== undefined && { expireMs }),
    ...(restart !== undefined && { "restart.max": restart.max, "restart.withinMs": restart.withinMs }),
  };
  for (const [name, value] of Object.entries(numbers)) {
    if (!(value > 0)) throw new TroupeError("BAD_DEFINITION", `${kind}: ${name} must be a number above 0.`);
  }
  return Object.freeze({
    persistence,
    owner,
    idleMs,
    workMs,
    minEveryMs,
    mailbox,
    maxStateBytes,
    ...(expireMs !== undefined && { expireMs }),
    ...(restart !== undefined && { restart }),
  });
}

function withoutAbsent(given: Partial<Policy>): Partial<Policy> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function positive(value: number, where: string): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new TroupeError("BAD_DEFINITION", `${where} must be a whole number from 1.`);
}

function redacted(act: Act | undefined, message: Message): Json {
  const { args } = message;
  if (act?.secret === undefined || !isBag(args)) return args;
  const shown: Record<string, Json> = { ...args };
  for (const name of act.secret) if (Object.hasOwn(shown, name)) shown[name] = REDACTED;
  return shown;
}

// A symbol, so that a message may be called anything.
const TO = Symbol("to");

/** One method per message, shared by every address: `at()` makes one small object. */
function senderPrototype(names: readonly string[]): object {
  const prototype: Record<string, unknown> = Object.create(null);
  for (const name of names) {
    prototype[name] = function send(this: { readonly [TO]: ActorId }, args?: unknown, options?: SendOptions): Outgoing {
      return { ...options, to: this[TO], action: name, args: plain(args, `the arguments of ${name}`) };
    };
  }
  return prototype;
}
