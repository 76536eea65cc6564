import { StageError } from "../stage.ts";
import type { Client } from "./client.ts";
import type { House } from "./house.ts";

/** Sends a request to an actor. Ends with the client, and after a time limit, since it blocks its connection. */
export async function requestOf(id: string, data: Uint8Array, client: Client, { stage, clock, limits }: House): Promise<Uint8Array> {
  const stop = new AbortController();
  const late = Promise.withResolvers<never>();
  const give = (error: StageError): void => {
    late.reject(error);
    stop.abort(error);
  };
  const onGone = (): void => give(new StageError("CommunicationError", "The client is gone."));
  const undo = clock.after(limits.requestMs, () =>
    give(new StageError("Timeout", `The actor did not answer within ${limits.requestMs} ms: it may still, and nobody is told.`)),
  );
  client.gone.addEventListener("abort", onGone);
  try {
    if (client.gone.aborted) onGone();
    return await Promise.race([stage.request(id, data, stop.signal), late.promise]);
  } finally {
    undo();
    client.gone.removeEventListener("abort", onGone);
    late.promise.catch(() => {});
  }
}
