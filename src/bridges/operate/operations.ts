// Owns: what operators may ask of the process that runs the actors, by name and arguments, as the command line and the console do.
// Does not own: how each is done (chain-operations.ts, core/engine).

import type { KeyObject } from "node:crypto";
import {
  type ActorId,
  type Behaviour,
  type Clock,
  DEFAULT_POLICY,
  type Engine,
  EngineError,
  type Entropy,
  isJsonObject,
  type Json,
  type JsonObject,
  type Outgoing,
  type Reply,
  type Snapshot,
  type Store,
} from "../../core/contract/index.ts";
import { closestMatch, isActorId, isTexts, kindOf, omitUndefined } from "../../core/contract/internal.ts";
import type { IndexOperations } from "../../core/engine/index.ts";
import { type Appender, changeOf, checkpoint, edit, type Editable, fork, revert } from "./chain-operations.ts";
import { badUsage, noActor, notFound, StateMisfitError } from "./operation-error.ts";
import { storeReader } from "./readers.ts";

type Refusal = Extract<Reply, { readonly refused: unknown }>["refused"];

/** Does one operation, and returns its result. Throws `OperationError` and `TroupeError`. */
export type Operate = (operation: string, args: JsonObject) => Promise<Json>;

/** The part of an engine that is used: of `LocalEngine`. */
export interface OperableEngine extends Pick<Engine, "call" | "stop" | "restart" | "read">, Appender {
  letter(messageId: string, fate: "replay" | "drop"): Promise<boolean>;
  health(id: ActorId): { readonly failure?: string } | undefined;
  readonly indexes: Pick<IndexOperations, "rebuild" | "verify">;
}

interface Common {
  /** Reads the private key that signs checkpoints. Absent: none is signed. */
  readonly signingKey?: (file: string) => Promise<KeyObject>;
  /** Called after bodies of these actors were erased, so that copies of their chains can be erased, too. */
  readonly erased?: (ids: readonly ActorId[]) => void;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

export interface OperatingOptions extends Common {
  readonly engine: OperableEngine;
  /** The kinds that the engine runs. */
  readonly kinds: readonly Pick<Behaviour, "kind" | "policy" | "misfits" | "catalogue">[];
  /** The engine's store. Absent: all actors are in memory, and have no chains. */
  readonly store?: Store;
}

export interface StoreOperatingOptions extends Common {
  readonly engine: Appender & Pick<OperableEngine, "letter">;
  readonly store: Store;
}

export function textIn(args: JsonObject, name: string): string {
  const value = args[name];
  if (typeof value !== "string") throw badUsage(`${name} must be a text.`);
  return value;
}

export function actorIn(args: JsonObject, name = "actor"): ActorId {
  const id = textIn(args, name);
  if (isActorId(id)) return id;
  throw badUsage(`An actor is named kind/key, such as counter/main, not "${id}".`);
}

/** The operator that events name. Undefined: unknown. */
export const operatorIn = ({ as }: JsonObject): string | undefined => (typeof as === "string" ? as : undefined);

/** The message that the operation `call` sends. */
export function messageIn(args: JsonObject): Outgoing {
  const id = actorIn(args);
  const { scopes, claims, start } = args;
  return {
    to: id,
    action: textIn(args, "action"),
    args: args["args"] ?? {},
    viewer: {
      principal: operatorIn(args) ?? "local",
      self: id,
      scopes: isTexts(scopes) ? scopes : [],
      ...(isJsonObject(claims) && { claims }),
    },
    ...omitUndefined({ start }),
  };
}

/**
 * A key that was mistyped must not start an actor, as the first message to a shared one would. Throws `NO_ACTOR`, `ACTOR_STOPPED`.
 */
export function refuseUnstarted(id: ActorId, found: Pick<Snapshot, "status"> | undefined): void {
  if (found === undefined) throw new EngineError("NO_ACTOR", `There is no actor ${id}.`);
  if (found.status === "stopped") throw new EngineError("ACTOR_STOPPED", `${id} has stopped.`);
}

/** Whether there is an actor to restart: a stored one, one in memory, or one whose start failed in this process. */
async function isKnown({ engine, store }: OperatingOptions, id: ActorId): Promise<boolean> {
  return (await store?.load(id)) !== undefined || engine.health(id)?.failure !== undefined || (await engine.read(id)) !== undefined;
}

/** The operations of a running engine. */
export const engineOperations =
  (options: OperatingOptions): Operate =>
  async (operation, args) => {
    const { engine, store, kinds } = options;
    switch (operation) {
      case "call": {
        const message = messageIn(args);
        const { to: id, action } = message;
        const kind = kinds.find((one) => one.kind === kindOf(id));
        if (message.start === undefined && kind !== undefined) refuseUnstarted(id, await engine.read(id));
        const reply = await engine.call(message);
        return { ...("refused" in reply && reply.refused.code === "UNKNOWN" ? suggesting(reply.refused, action, kind) : reply) };
      }
      case "stop":
        await engine.stop(actorIn(args), textIn(args, "reason"), operatorIn(args));
        return null;
      case "restart": {
        const id = actorIn(args);
        if (!(await isKnown(options, id))) throw noActor(id);
        await engine.restart(id);
        return null;
      }
      case "index-rebuild":
        return await engine.indexes.rebuild(textIn(args, "index"));
      case "index-verify": {
        const { index, actors, flawed, flaws } = await engine.indexes.verify(textIn(args, "index"));
        return { index, actors, flawed, flaws: flaws.map(({ id, flaw }) => ({ id, flaw })) };
      }
      case "edit": {
        const id = actorIn(args);
        refuseInMemory(id, await engine.read(id));
        const kind = kinds.find((one) => one.kind === kindOf(id));
        return await editState(engine, (of) => engine.read(of), id, args, kind, options);
      }
      case "letter":
        return await settleLetter(engine, args);
      default: {
        if (store === undefined) throw badUsage(`Actors are in memory only here, so there is no chain for "${operation}".`);
        if (args["actor"] !== undefined) refuseInMemory(actorIn(args), await engine.read(actorIn(args)));
        return await storeOperations({ ...options, store })(operation, args);
      }
    }
  };

const TOOLS = "tools/";

/** The refusal of an action that does not exist, with the tool that was probably meant: operators may know all of them. */
function suggesting(refusal: Refusal, action: string, kind: Pick<Behaviour, "catalogue"> | undefined): { readonly refused: Refusal } {
  const names = (kind?.catalogue?.tools ?? []).map(({ name }) => name);
  const given = action.startsWith(TOOLS) ? action.slice(TOOLS.length) : action;
  const meant = action === TOOLS + given && names.includes(given) ? undefined : closestMatch(given, names);
  return { refused: meant === undefined ? refusal : { ...refusal, message: `${refusal.message} Did you mean ${TOOLS}${meant}?` } };
}

/** The operations that do not need the code of the actor's kind. */
export const storeOperations =
  (options: StoreOperatingOptions): Operate =>
  async (operation, args) => {
    const { engine, store, signingKey, erased, ...stamping } = options;
    const operator = omitUndefined({ principal: operatorIn(args) });
    switch (operation) {
      case "letter":
        return await settleLetter(engine, args);
      case "fork":
        return await fork(store, actorIn(args), actorIn(args, "to"), typeof args["at"] === "number" ? args["at"] : undefined, {
          ...operator,
          ...stamping,
        });
      case "revert":
        return await revert(engine, store, actorIn(args), {
          to: typeof args["to"] === "number" ? args["to"] : 0,
          reason: textIn(args, "reason"),
          force: args["force"] === true,
          ...operator,
          ...stamping,
        });
      case "checkpoint": {
        const id = actorIn(args);
        const erase = args["erase"] === true;
        const { keyFile } = args;
        if (typeof keyFile === "string" && signingKey === undefined) throw badUsage("No key can be read here: leave it away.");
        const key = typeof keyFile === "string" ? await signingKey?.(keyFile) : undefined;
        const done = await checkpoint(engine, store, id, { erase, ...omitUndefined({ key }), ...operator, ...stamping });
        if (erase) erased?.([id]);
        return done;
      }
      case "edit":
        return await editState(engine, (of) => storeReader(store).state(of), actorIn(args), args, undefined, options);
      default:
        throw badUsage(`The server does not know the operation ${operation}: it may be of another version than this command.`);
    }
  };

export async function settleLetter(engine: Pick<OperableEngine, "letter">, args: JsonObject): Promise<null> {
  const id = textIn(args, "id");
  if (!(await engine.letter(id, args["fate"] === "replay" ? "replay" : "drop"))) throw notFound(`There is no dead letter ${id}.`);
  return null;
}

function refuseInMemory(id: ActorId, found: Pick<Snapshot, "persistence"> | undefined): void {
  if (found?.persistence === "memory") throw badUsage(`${id} is in memory only, so it has no chain: give its kind the persistence "disk".`);
}

const MAX_REASON = 1_000;

async function editState(
  engine: Appender,
  read: (id: ActorId) => Promise<Editable | undefined>,
  id: ActorId,
  args: JsonObject,
  kind: Pick<Behaviour, "policy" | "misfits"> | undefined,
  { clock, entropy }: Common,
): Promise<Json> {
  const reason = textIn(args, "reason").trim();
  if (reason === "" || reason.length > MAX_REASON)
    throw badUsage(`Say why in "reason", in at most ${MAX_REASON} characters: the chain records it.`);
  const { head } = args;
  const changed = changeOf(args);
  const force = args["force"] === true;
  const change = (before: Json): Json => {
    const state = changed(before);
    const misfits = force ? [] : (kind?.misfits?.(state) ?? []);
    if (misfits.length > 0) throw new StateMisfitError(id, misfits);
    return state;
  };
  const written = await edit(engine, read, id, {
    change,
    reason,
    principal: operatorIn(args) ?? "operator",
    force,
    maxBytes: (kind?.policy ?? DEFAULT_POLICY).maxStateBytes,
    ...omitUndefined({ head: typeof head === "string" ? head : undefined, clock, entropy }),
  });
  return { ...written, checked: !force && kind?.misfits !== undefined };
}
