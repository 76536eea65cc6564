import { StageError } from "../stage.ts";
import type { Client } from "./client.ts";
import type { ServerContext } from "./house.ts";

/** Sends a request to an actor. Ends with the client, and after a time limit, since it blocks its connection. */
export async function requestActor(id: string, data: Uint8Array, client: Client, { stage, clock, limits }: ServerContext): Promise<Uint8Array> {
  const controller = new AbortController();
  const cancelled = Promise.withResolvers<never>();
  const fail = (error: StageError): void => {
    cancelled.reject(error);
    controller.abort(error);
  };
  const onDisconnected = (): void => fail(new StageError("CommunicationError", "The client is gone."));
  const undo = clock.after(limits.requestMs, () =>
    fail(new StageError("Timeout", `The actor did not answer within ${limits.requestMs} ms: it may still, and nobody is told.`)),
  );
  client.disconnected.addEventListener("abort", onDisconnected);
  try {
    if (client.disconnected.aborted) onDisconnected();
    return await Promise.race([stage.request(id, data, controller.signal), cancelled.promise]);
  } finally {
    undo();
    client.disconnected.removeEventListener("abort", onDisconnected);
    cancelled.promise.catch(() => {});
  }
}
