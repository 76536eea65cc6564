import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as z from "zod";
import { installPinned } from "../install-pinned.ts";

/** What a test uses of Theater's own client, whose types are not there where it is not installed. */
export interface NpmActor {
  readonly id: string;
  getStatus(): Promise<unknown>;
  getManifest(): Promise<unknown>;
  getState(): Promise<Uint8Array | null>;
  getEvents(): Promise<readonly unknown[]>;
  getMetrics(): Promise<unknown>;
  restart(): Promise<void>;
  stop(): Promise<void>;
  sendString(text: string): Promise<void>;
  requestString(text: string): Promise<string>;
  openChannel(initial?: Uint8Array): Promise<NpmChannel>;
  subscribe(): Promise<NpmEvents>;
}

interface NpmChannel {
  readonly channelId: string;
  readonly isOpen: boolean;
  onMessage(handler: (message: { readonly senderId: unknown; readonly data: Uint8Array }) => void): () => void;
  onClose(handler: () => void): () => void;
  sendMessage(data: Uint8Array): Promise<void>;
  close(): void;
}

interface NpmEvents {
  readonly subscriptionId: string;
  onEvent(handler: (event: unknown) => void): () => void;
  onClose(handler: () => void): () => void;
  close(): void;
}

interface NpmStart {
  readonly manifest: string;
  readonly initialState?: Uint8Array;
  readonly onEvent?: (event: unknown) => void;
  readonly onError?: (error: unknown) => void;
  readonly onActorResult?: (result: unknown) => void;
}

export interface NpmClient {
  startActor(params: NpmStart): Promise<NpmActor>;
  listActors(): Promise<readonly NpmActor[]>;
  listActorsRaw(): Promise<readonly { readonly id: string; readonly manifest: string }[]>;
  actor(id: string): NpmActor;
  openChannel(participant: unknown, initial?: Uint8Array): Promise<NpmChannel>;
}

type NpmClientClass = new (host: string, port: number, config: { readonly timeout: number }) => NpmClient;

const shape = z.object({
  TheaterClient: z.custom<NpmClientClass>((value) => typeof value === "function"),
  setLogLevel: z.custom<(level: "error") => void>((value) => typeof value === "function"),
});

/** Installs Theater's client where it is not there, and connects it: it opens a connection for each command. */
export async function npmClient(port: number, host = "127.0.0.1"): Promise<NpmClient> {
  await installPinned(import.meta.dirname);
  const path = join(import.meta.dirname, "node_modules/theater-client/dist/index.js");
  const { TheaterClient, setLogLevel } = shape.parse(await import(pathToFileURL(path).href));
  setLogLevel("error");
  return new TheaterClient(host, port, { timeout: 20_000 });
}
