// jco and Extism, with which guests are compared. Their packages are in bench/peers, so their types are not available here.
import * as z from "zod";
import { installPeers } from "./peers.ts";

export interface Glue {
  init(state: Uint8Array | undefined): unknown;
  send(state: Uint8Array | undefined, data: Uint8Array): unknown;
  request(state: Uint8Array | undefined, data: Uint8Array): unknown;
}

export interface Plugin {
  echo(data: Uint8Array): Promise<unknown>;
  close(): Promise<void>;
}

/** Both compile a component and return a function that makes an instance. */
export interface GuestPeers {
  jco(component: Uint8Array, folder: string, name: string): Promise<() => Glue>;
  extism(): Promise<() => Promise<Plugin>>;
}

const isFunction = (value: unknown): boolean => typeof value === "function";
const shape = z.object({ jco: z.custom<GuestPeers["jco"]>(isFunction), extism: z.custom<GuestPeers["extism"]>(isFunction) });

export const guestPeers = async (): Promise<GuestPeers> => {
  await installPeers();
  const path = "./peers/guests.ts";
  const module: unknown = await import(path);
  return shape.parse({ ...(typeof module === "object" ? module : {}) });
};
