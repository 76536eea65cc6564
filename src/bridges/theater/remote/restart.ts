import { StageError, type StageActor, type StageCode } from "../stage.ts";
import type { CommandClient } from "./calls.ts";
import type { Settings } from "./options.ts";
import type { ActorList } from "./roster.ts";

/** Codes that servers without a restart use, among other errors. */
const UNSUPPORTED_CODES: ReadonlySet<StageCode> = new Set(["RuntimeError", "InternalError", "ActorError"]);

/** Servers of April 2025 start a new actor from the manifest alone and report the old id; later ones refuse. */
export async function restartActor(settings: Settings, calls: CommandClient, actors: ActorList, idOrName: string): Promise<StageActor> {
  const { id, name } = await actors.find(idOrName);
  const before = new Set((await actors.all()).map((actor) => actor.id));
  try {
    await calls.once({ is: "RestartActor", id });
  } catch (error) {
    if (!(error instanceof StageError) || !UNSUPPORTED_CODES.has(error.code)) throw error;
    const sentence = `${error.message} Instead, read the actor's state if it is worth keeping, stop the actor, and start another with that state.`;
    throw new StageError("ActorError", sentence, { cause: error });
  }
  const after = await actors.all();
  if (after.some((actor) => actor.id === id)) return { id, name, status: "RUNNING" };
  const [replacement, ...others] = after.filter((actor) => !before.has(actor.id));
  const identity = replacement !== undefined && others.length === 0 ? `as ${replacement.id}` : "under another id: list the actors to find it";
  const sentence = `${settings.server} stopped the actor and started it again ${identity}, without its state. That state is lost: start actors with an initial state instead of restarting them here.`;
  throw new StageError("ActorError", sentence);
}
