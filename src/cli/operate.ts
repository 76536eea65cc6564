import { type ActorId, EngineError, type JsonObject, isJsonObject, type Json, type Snapshot, type Store } from "../core/contract/index.ts";
import { isTexts, kindOf, omitUndefined } from "../core/contract/internal.ts";
import type { LocalEngine } from "../core/engine/index.ts";
import { checkpoint, fork, revert } from "./chain-operations.ts";
import type { ControlHandler } from "./control.ts";
import { noActor, notFound, usage } from "./exit-code.ts";
import { actorId } from "./actor-id.ts";
import { prunedJson, pruningIn } from "./prune-pages.ts";
import { textOr } from "./text-or.ts";
import { inCommandWords } from "./command-words.ts";
import { signingKeyIn } from "./signing-key.ts";

const text = (args: JsonObject, name: string): string => {
  const value = args[name];
  if (typeof value !== "string") throw usage(`${name} must be a text.`);
  return value;
};

/**
 * A key that was mistyped must not start an actor, as the first message to a shared one would. Throws `NO_ACTOR`, `ACTOR_STOPPED`.
 */
export const refuseUnstarted = (id: ActorId, found: Pick<Snapshot, "status"> | undefined): void => {
  if (found === undefined) throw new EngineError("NO_ACTOR", `There is no actor ${id}.`);
  if (found.status === "stopped") throw new EngineError("ACTOR_STOPPED", `${id} has stopped.`);
};

/** The scopes of a caller. */
export const scopesIn = ({ scopes }: JsonObject): readonly string[] => (isTexts(scopes) ? scopes : []);

/** A restart has something to do: an actor that is stored, one that lives in this process only, or one whose beginning failed here. */
const isKnown = async (engine: LocalEngine, store: Store, id: ActorId): Promise<boolean> =>
  (await store.load(id)) !== undefined || engine.health(id)?.failure !== undefined || (await engine.read(id)) !== undefined;

export interface Operating {
  /** The data directory, for messages. */
  readonly directory?: string;
  readonly engine: LocalEngine;
  /** Those that the engine runs. */
  readonly kinds: ReadonlySet<string>;
  readonly store: Store;
  /** Bodies of these actors were erased, or they were removed: what was made of their chains is to follow. */
  readonly erased: (ids: readonly ActorId[]) => void;
}

/** What commands may ask of the process that holds the directory. */
export const operate =
  (operating: Operating): ControlHandler =>
  async (operation, args) => {
    try {
      return await perform(operating, operation, args);
    } catch (error) {
      throw inCommandWords(error, operation, textOr(args["actor"], ""), operating.directory);
    }
  };

/** What needs no code of an actor's kind. */
interface OperatingOnStore extends Omit<Operating, "engine" | "kinds"> {
  readonly engine: Pick<LocalEngine, "append" | "letter">;
}

/** The operations that need no module. */
export const operateOnStore =
  (operating: OperatingOnStore): ControlHandler =>
  async (operation, args) => {
    try {
      return await performOnStore(operating, operation, args);
    } catch (error) {
      throw inCommandWords(error, operation, textOr(args["actor"], ""), operating.directory);
    }
  };

const perform = async (operating: Operating, operation: string, args: JsonObject): Promise<Json> => {
  const { directory, engine, kinds, store, erased } = operating;
  switch (operation) {
    case "call": {
      const id = actorId(text(args, "actor"));
      const principal = typeof args["as"] === "string" ? args["as"] : "local";
      const { start, claims } = args;
      if (start === undefined && kinds.has(kindOf(id))) refuseUnstarted(id, await engine.read(id));
      const reply = await engine.call({
        to: id,
        action: text(args, "action"),
        args: args["args"] ?? {},
        viewer: { principal, self: id, scopes: scopesIn(args), ...(isJsonObject(claims) ? { claims } : {}) },
        ...omitUndefined({ start }),
      });
      return { ...reply };
    }
    case "stop":
      await engine.stop(actorId(text(args, "actor")), text(args, "reason"));
      return null;
    case "restart": {
      const id = actorId(text(args, "actor"));
      if (!(await isKnown(engine, store, id))) throw noActor(id, directory);
      await engine.restart(id);
      return null;
    }
    case "prune": {
      const pruned = await engine.prune(pruningIn(args));
      erased(pruned.ended.map(({ id }) => id));
      return prunedJson(pruned);
    }
    case "index-rebuild":
      return await engine.indexes.rebuild(text(args, "index"));
    case "index-verify": {
      const { index, actors, flawed, flaws } = await engine.indexes.verify(text(args, "index"));
      return { index, actors, flawed, flaws: flaws.map(({ id, flaw }) => ({ id, flaw })) };
    }
    default:
      return await performOnStore(operating, operation, args);
  }
};

const performOnStore = async ({ engine, store, erased }: OperatingOnStore, operation: string, args: JsonObject): Promise<Json> => {
  switch (operation) {
    case "letter": {
      const fate = args["fate"] === "replay" ? "replay" : "drop";
      const id = text(args, "id");
      if (!(await engine.letter(id, fate))) throw notFound(`There is no dead letter ${id}; "troupe letters" lists them.`);
      return null;
    }
    case "fork":
      return await fork(
        store,
        actorId(text(args, "actor")),
        actorId(text(args, "to")),
        typeof args["at"] === "number" ? args["at"] : undefined,
      );
    case "revert":
      return await revert(engine, store, actorId(text(args, "actor")), {
        to: typeof args["to"] === "number" ? args["to"] : 0,
        reason: text(args, "reason"),
        force: args["force"] === true,
      });
    case "checkpoint": {
      const id = actorId(text(args, "actor"));
      const erase = args["erase"] === true;
      const done = await checkpoint(engine, store, id, {
        erase,
        ...(typeof args["keyFile"] === "string" ? { key: await signingKeyIn(args["keyFile"]) } : {}),
      });
      if (erase) erased([id]);
      return done;
    }
    default:
      throw usage(`The server does not know the operation ${operation}: it may be of another version than this command.`);
  }
};
