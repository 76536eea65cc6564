import { type JsonObject, type Clock, type Json, type Outgoing, type Reply, TroupeError, type Viewer } from "../../core/contract/index.ts";
import { forRecord, inRecord } from "./in-record.ts";
import { fromInner } from "./inner-error.ts";
import { PacketError } from "./packet-error.ts";
import type { PacketContext } from "./packet.ts";

import type { Running } from "./running.ts";

/** Another capability, as a packet of the actor's own user: throws `PacketError`. */
export type Request = (capabilityId: string, payload: JsonObject, options?: { readonly actor_id?: string }) => Promise<Json>;

/** The work that asks. */
export interface Asker {
  /** Whose its actor is; of everybody's, who asks. */
  readonly viewer: Viewer;
  readonly context: PacketContext;
  readonly signal: AbortSignal;
  readonly record: (what: unknown) => void;
  /** The engine's, by which it knows who waits for whom. */
  readonly call: (message: Outgoing) => Promise<Reply>;
}

/** How the handlers of one capability ask others: by the flow that runs it, which is made after it. */
export class Asks {
  readonly #id: string;
  readonly #clock: Clock;
  #run: Running["run"] | undefined;

  constructor(id: string, clock: Clock) {
    this.#id = id;
    this.#clock = clock;
  }

  bind(run: Running["run"]): void {
    this.#run = run;
  }

  of({ viewer, context, signal, record, call }: Asker): Request {
    return async (capabilityId, payload, { actor_id } = {}) => {
      const run = this.#run;
      if (run === undefined)
        throw new TroupeError(
          "BAD_DEFINITION",
          `${this.#id} asks for ${capabilityId}, and no flow runs it: start the engine with the \`kinds\` of the Capabilities that PacketFlow is given.`,
        );
      if (signal.aborted) throw new PacketError("cancelled", `This work of ${this.#id} is over: await what it asks for.`);
      const { user_id: _another, ...rest } = context;
      const how = {
        viewer,
        context: { ...rest, ...(viewer.principal !== undefined && { user_id: viewer.principal }) },
        signal,
        through: call,
        ...(actor_id !== undefined && { actor_id }),
      };
      return await inRecord(
        { clock: this.#clock, record },
        "request",
        { capability_id: capabilityId, ...(actor_id !== undefined && { actor_id }), payload: forRecord(payload) },
        () => fromInner(capabilityId, async () => (await run(capabilityId, payload, how)).result),
        (result) => result,
      );
    };
  }
}
