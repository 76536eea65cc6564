import type { Clock } from "../../../core/contract/index.ts";
import type { Stage } from "../stage.ts";

/** How a server of this face names itself. */
export const THEATER_INFO = { name: "theater-mcp", version: "0.1.0" } as const;

/** Bounds of what a client may send, hold or be sent. */
export interface FaceLimits {
  /** Actors in one list, and in the list of resources. Default 1,000. */
  readonly listed: number;
  /** Events in one answer. Default 1,000. */
  readonly events: number;
  /** Of all events in one answer, in characters of their JSON; at least one is given. Default 4 Mi. */
  readonly eventsLength: number;
  /** Of a state that a tool or a prompt carries; longer ones are named by their resource. Default 256 KiB. */
  readonly stateBytes: number;
  /** Of one message to an actor, and of an initial state. Default 4 MiB. */
  readonly messageBytes: number;
  /** Default 8 MiB. */
  readonly componentBytes: number;
  /** Of a manifest's text, in characters. Default 1 Mi. */
  readonly manifestLength: number;
  /** How long a request waits for its response. Default 5 minutes. */
  readonly requestMs: number;
  /** Open channels of one viewer. Default 16. */
  readonly channels: number;
  /** Channels of all viewers. Default 10,000. */
  readonly allChannels: number;
  /** Messages of one channel that wait to be received; the oldest are dropped. Default 1,000. */
  readonly pendingMessages: number;
  /** The same, in bytes. Default 4 MiB. */
  readonly pendingBytes: number;
  /** A channel ends after this long without a call of its viewer. Default 10 minutes. */
  readonly idleMs: number;
}

/** The default bounds of the Theater MCP server. */
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

/** Besides the arguments that are bounded: a request's frame, ids, names. */
const REST_BYTES = 65_536;

/** What a gateway and its listeners have to take at once so that a call may be as long as these limits let it, in bytes. */
export const faceMessageBytes = (limits: Partial<FaceLimits> = {}): number => {
  const { componentBytes, messageBytes, manifestLength } = { ...FACE_LIMITS, ...limits };
  // A component and a message are base64; in a manifest each line's end takes two bytes.
  return Math.max(Math.ceil(componentBytes / 3) * 4 + 2 * manifestLength + messageBytes, Math.ceil(messageBytes / 3) * 4) + REST_BYTES;
};

/** What `theaterFace` takes. */
export interface FaceOptions {
  /** Not disposed with the face. */
  readonly stage: Stage;
  readonly clock?: Clock;
  /** For a viewer without this scope there is nothing here. Default: none is asked for. */
  readonly requireScope?: string;
  /** For the client's model; replaces what the face says of itself. */
  readonly instructions?: string;
  readonly limits?: Partial<FaceLimits>;
}
