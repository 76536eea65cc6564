// What the servers with everything have in common, whichever SDK they are written with.
import type { InMemoryTransport } from "@modelcontextprotocol/server";
import type { SdkServer } from "troupe/mount";

export const PIXEL = "iVBORw0KGgo=";
export const CITIES = ["Athens", "Amsterdam", "Berlin"];

export interface Everything {
  readonly server: SdkServer;
  /** To the SDK's own transport. */
  readonly connect: (transport: InMemoryTransport) => Promise<void>;
  /** Outside of any call. */
  readonly log: (text: string) => Promise<void>;
  readonly seen: {
    /** Calls of `wait` that were cancelled. */
    aborted: number;
    /** Runs of what asks or waits. */
    runs: number;
    readonly subscribed: string[];
  };
}
