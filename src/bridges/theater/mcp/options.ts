// Owns: options and limits of Theater's MCP server. Does not own: the server (theater-face.ts).
import type { Clock } from "../../../core/contract/index.ts";
import type { Stage } from "../stage.ts";

/** Name and version of Theater's MCP server. */
export const THEATER_INFO = { name: "theater-mcp", version: "0.1.0" } as const;

/** Limits of what a client may send, hold or receive. */
export interface FaceLimits {
  /** Actors in one list, and in the list of resources. Default 1,000. */
  readonly listed: number;
  /** Events in one answer. Default 1,000. */
  readonly events: number;
  /** Length of all events in one answer, in characters of JSON; at least one event is sent. Default 4 Mi. */
  readonly eventsLength: number;
  /** A state in a tool result or a prompt; for a longer one its resource is named. Default 256 KiB. */
  readonly stateBytes: number;
  /** One message to an actor, or an initial state. Default 4 MiB. */
  readonly messageBytes: number;
  /** A component. Default 8 MiB. */
  readonly componentBytes: number;
  /** A manifest's text, in characters. Default 1 Mi. */
  readonly manifestLength: number;
  /** How long a request waits for its response. Default 5 minutes. */
  readonly requestMs: number;
  /** Open channels of one viewer. Default 16. */
  readonly channels: number;
  /** Channels of all viewers. Default 10,000. */
  readonly allChannels: number;
  /** Messages of one channel that wait to be received; beyond that the oldest are dropped. Default 1,000. */
  readonly pendingMessages: number;
  /** The same, in bytes. Default 4 MiB. */
  readonly pendingBytes: number;
  /** A channel ends after this time without a call of its viewer. Default 10 minutes. */
  readonly idleMs: number;
}

/** Default limits of Theater's MCP server. */
export const FACE_LIMITS: FaceLimits = {
  listed: 1_000,
  events: 1_000,
  eventsLength: 4 * 1_048_576,
  stateBytes: 262_144,
  messageBytes: 4 * 1_048_576,
  componentBytes: 8 * 1_048_576,
  manifestLength: 1_048_576,
  requestMs: 5 * 60_000,
  channels: 16,
  allChannels: 10_000,
  pendingMessages: 1_000,
  pendingBytes: 4 * 1_048_576,
  idleMs: 10 * 60_000,
};

/** Room for everything but the arguments with limits: the request's frame, ids, names. */
const OVERHEAD_BYTES = 65_536;

/** The message size in bytes that a gateway and its listeners must accept for calls within these limits. */
export const faceMessageBytes = (limits: Partial<FaceLimits> = {}): number => {
  const { componentBytes, messageBytes, manifestLength } = { ...FACE_LIMITS, ...limits };
  // Components and messages are base64; each line break of a manifest takes two bytes.
  return Math.max(Math.ceil(componentBytes / 3) * 4 + 2 * manifestLength + messageBytes, Math.ceil(messageBytes / 3) * 4) + OVERHEAD_BYTES;
};

/** Options of `theaterFace`. */
export interface FaceOptions {
  /** Not disposed with the source. */
  readonly stage: Stage;
  readonly clock?: Clock;
  /** A viewer without this scope sees nothing. Default: no scope is required. */
  readonly requireScope?: string;
  /** Replaces the default instructions for the client's model. */
  readonly instructions?: string;
  readonly limits?: Partial<FaceLimits>;
}
