// The common interface of the servers with every feature, for either SDK.
import type { InMemoryTransport } from "@modelcontextprotocol/server";
import type { SdkServer } from "troupe/mount";

export const PIXEL = "iVBORw0KGgo=";
export const CITIES = ["Athens", "Amsterdam", "Berlin"];

export interface Everything {
  readonly server: SdkServer;
  /** Connects to the SDK's own transport. */
  readonly connect: (transport: InMemoryTransport) => Promise<void>;
  /** Logs outside of any call. */
  readonly log: (text: string) => Promise<void>;
  readonly seen: {
    /** Calls of `wait` that were cancelled. */
    aborted: number;
    /** Runs of tools that ask or wait. */
    runs: number;
    readonly subscribed: string[];
  };
}
